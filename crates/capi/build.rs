//! Sets the soname of the shared library, which contains the number that changes when programs have to be recompiled.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Before 1.0.0, every minor version has a new one.
    let abi = format!("{}.{}", env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/liblath.{abi}.dylib"),
        Ok("linux") => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblath.so.{abi}"),
        _ => {}
    }
}
