//! Scripts load C modules (`require "cjson"`), which take LuaJIT's functions from the program itself, as they do in wrk.

fn main() {
    println!("cargo:rustc-link-arg-bin=truepace=-rdynamic");
    println!("cargo:rerun-if-changed=build.rs");
}
