// Node's own HTTP server.
const http = require("node:http");

const server = http.createServer((request, response) => {
  request.resume();
  request.on("end", () => response.end("hello\n"));
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log("listening"));
