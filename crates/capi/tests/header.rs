//! Tests that `include/lath.h` is the output of cbindgen for the sources. `LATH_WRITE_HEADER=1 cargo test -p lath-capi
//! --test header` rewrites it.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use cbindgen::{Builder, Config, DocumentationStyle, Language, ParseConfig, RenameRule, Style};

/// The types of the Arrow C data and stream interfaces, for programs in which no other header declares them.
const ARROW: &str = include_str!("arrow_abi.h");

/// Functions that are compiled into programs.
const BLOOM: &str = include_str!("bloom_inline.h");

const START: &str = "\
/* The C interface of Lath. docs/c.md is its manual.
 *
 * Generated from the sources in crates/capi/src and the headers in crates/capi/tests: change those, and run
 * LATH_WRITE_HEADER=1 cargo test -p lath-capi --test header
 *
 * For a library built with --no-default-features, which has only the kernels, define LATH_KERNELS_ONLY.
 */
#ifndef LATH_H
#define LATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
";

/// Types of C by their names in Rust.
const NAMES: [(&str, &str); 14] = [
    ("Status", "lath_status"),
    ("Bytes", "lath_bytes"),
    ("Buffer", "lath_buffer"),
    ("DeltaI32", "lath_delta_i32"),
    ("DeltaI64", "lath_delta_i64"),
    ("Rle", "lath_rle"),
    ("Dataset", "lath_dataset"),
    ("ScanOptions", "lath_scan_options"),
    ("Store", "lath_store"),
    ("Snapshot", "lath_snapshot"),
    ("Transaction", "lath_transaction"),
    ("Cursor", "lath_cursor"),
    ("FFI_ArrowSchema", "struct ArrowSchema"),
    ("FFI_ArrowArrayStream", "struct ArrowArrayStream"),
];

/// The declarations of some source files.
fn declarations(sources: &[&str]) -> String {
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        cpp_compat: true,
        no_includes: true,
        documentation_style: DocumentationStyle::C,
        parse: ParseConfig::default(),
        usize_is_size_t: true,
        ..Config::default()
    };
    config.line_length = 110;
    config.enumeration.rename_variants = RenameRule::ScreamingSnakeCase;
    config.enumeration.prefix_with_name = true;
    config.export.rename = NAMES.map(|(rust, c)| (rust.to_owned(), c.to_owned())).into();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut builder = Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(folder.join(source));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

fn header() -> String {
    let kernels = declarations(&[
        "call.rs",
        "status.rs",
        "pointers.rs",
        "version.rs",
        "kernels/bloom.rs",
        "kernels/hash.rs",
        "kernels/delta.rs",
        "kernels/bits.rs",
        "kernels/rle.rs",
        "kernels/split.rs",
        "kernels/bytes.rs",
    ]);
    let engine = declarations(&["files/mod.rs", "store/mod.rs", "store/transaction.rs", "store/cursor.rs"]);
    format!(
        "{START}\n{kernels}\n{BLOOM}\n#ifndef LATH_KERNELS_ONLY\n\n{ARROW}\n{engine}\n#endif /* LATH_KERNELS_ONLY */\n\n#endif /* LATH_H */\n"
    )
}

fn checked_in() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include/lath.h")
}

#[test]
fn the_header_is_what_the_sources_say() {
    let made = header();
    if env::var_os("LATH_WRITE_HEADER").is_some() {
        fs::write(checked_in(), &made).unwrap();
    }
    let there = fs::read_to_string(checked_in()).unwrap_or_default();
    assert!(
        there == made,
        "include/lath.h is not what the sources say: LATH_WRITE_HEADER=1 cargo test -p lath-capi --test header"
    );
}

/// In C99 and in C++11, with everything and with the kernels alone.
#[test]
fn the_header_compiles_without_warnings() {
    let header = checked_in();
    for (compiler, language, standard) in [("cc", "c", "c99"), ("c++", "c++", "c++11")] {
        for define in ["-DLATH_NOTHING", "-DLATH_KERNELS_ONLY"] {
            let output = Command::new(compiler)
                .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic", define, "-x", language])
                .arg(format!("-std={standard}"))
                .arg(&header)
                .output();
            let Ok(output) = output else {
                println!("NOT RUN: there is no {compiler}");
                continue;
            };
            let text = String::from_utf8_lossy(&output.stderr);
            // gcc warns about `#pragma once` in a header that is compiled by itself.
            assert!(output.status.success(), "{compiler} {standard} {define}: {text}");
        }
    }
}
