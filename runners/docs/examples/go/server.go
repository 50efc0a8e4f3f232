// Go's net/http.
package main

import (
	"log"
	"net/http"
	_ "net/http/pprof" // its own profile, which `pprof` in target.yaml names
	"os"
)

func main() {
	http.HandleFunc("/health", func(response http.ResponseWriter, _ *http.Request) {
		response.WriteHeader(http.StatusNoContent)
	})
	http.HandleFunc("/", func(response http.ResponseWriter, _ *http.Request) {
		response.Write([]byte("hello\n"))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
