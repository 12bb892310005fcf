use std::fs;

use super::circles_of_modules;

/// The circles of a crate whose `lib.rs`, `a.rs`, `b/mod.rs` and `b/c.rs` have these texts, with a `b/d.rs` that names
/// `c`.
fn circles(name: &str, [root, a, b, c]: [&str; 4]) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("lath-circles-{}-{name}", std::process::id()));
    fs::create_dir_all(folder.join("b")).expect("a folder");
    for (file, text) in [("lib.rs", root), ("a.rs", a), ("b/mod.rs", b), ("b/c.rs", c), ("b/d.rs", "use super::c::C;")]
    {
        fs::write(folder.join(file), text).expect("a file");
    }
    let circles = circles_of_modules(&folder);
    fs::remove_dir_all(folder).expect("the folder");
    circles
}

#[test]
fn every_way_to_name_a_module_closes_a_circle() {
    let uses_a = "use crate::a::A;";
    for (name, text) in [
        ("path", "fn f() { super::b::g() }"),
        ("group", "use super::{\n    b::g,\n    other,\n};"),
        ("nested", "use crate::{other, b::{self, c::{D, E}}};"),
        ("outer-group", "use {std::fs, crate::b::g};"),
        ("item", "use super::G;"),
        ("item-in-group", "use crate::{A, Renamed};"),
        ("inline", "mod inside { use super::super::b::g; }"),
        ("literal-before", "const Q: char = '\"'; const R: &str = r#\"\"\"#; use crate::b::g;"),
    ] {
        let root = "mod a;\nmod b;\npub use b::{G, g as Renamed};\npub use a::A;";
        let found = circles(name, [root, text, "mod c;", uses_a]);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(found[0].starts_with("{\"a\", \"b\"}"), "{name}: {found:?}");
    }
}

#[test]
fn a_circle_within_a_folder_is_found() {
    let found = circles("within", ["mod b;", "", "mod c;\nmod d;", "use super::{d::D, Own};"]);
    assert_eq!(found, [r#"{"c", "d"}: b::c → b::d::D, b::d → b::c::C"#]);
    let found = circles("parent", ["mod b;", "", "mod c;\nmod d;\nstruct Own;", "use super::Own;"]);
    assert_eq!(found, Vec::<String>::new(), "a module may name what its parent has");
}

#[test]
fn comments_literals_and_tests_name_no_module() {
    let text = r##"
        // use crate::b::g;
        /* crate::b::g /* crate::b::g */ crate::b::g */
        const TEXT: &str = "crate::b::g \" crate::b::g";
        const RAW: &str = r#"crate::b::g"#;
        const QUOTE: char = '\'';
        #[cfg(test)]
        use crate::b::{g, h};
        #[cfg(test)]
        #[allow(unused)]
        mod tests { fn f() { crate::b::g() } }
        fn live<'a>(x: &'a str) -> &'a str { x }
        pub(in crate::b) fn seen() {}
    "##;
    let found = circles("silent", ["mod a;\nmod b;", text, "mod c;", "use crate::a::A;"]);
    assert_eq!(found, Vec::<String>::new());
}
