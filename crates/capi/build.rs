//! Gives the shared library the name by which programs find it: with the number that changes when they have to be compiled anew.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // With every minor version before 1.0.0.
    let abi = format!("{}.{}", env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/liblath.{abi}.dylib"),
        Ok("linux") => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblath.so.{abi}"),
        _ => {}
    }
}
