//! The modules of the crate depend on each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The lines of a file, or of all files of a folder, without comments and tests.
fn code_lines(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| code_lines(&entry.unwrap().path(), found));
    } else if !path.ends_with("tests.rs") {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        found.extend(code.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned));
    }
}

/// The modules that each top-level module names by `crate::`.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut lines = BTreeMap::<String, Vec<String>>::new();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        // The crate's root, and a test that looks at everything.
        if name == "lib" || name == "format_document" {
            continue;
        }
        code_lines(&path, lines.entry(name).or_default());
    }
    let named = |line: &String| -> Vec<String> {
        let after = line.split("crate::").skip(1);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        after.map(|rest| rest.chars().take_while(|c| is_name(*c)).collect()).collect()
    };
    let of_module = |(name, code): (&String, &Vec<String>)| {
        let names = code.iter().flat_map(named).filter(|other| other != name && lines.contains_key(other));
        (name.clone(), names.collect())
    };
    lines.iter().map(of_module).collect()
}

#[test]
fn no_modules_depend_on_each_other_in_a_circle() {
    let mut left = dependencies();
    assert!(left.len() > 20 && left["store"].contains("engine"), "modules are not found: {left:?}");
    loop {
        let leaves: BTreeSet<String> =
            left.iter().filter(|(_, needed)| needed.is_empty()).map(|(name, _)| name.clone()).collect();
        if leaves.is_empty() {
            break;
        }
        left.retain(|name, _| !leaves.contains(name));
        left.values_mut().for_each(|needed| needed.retain(|name| !leaves.contains(name)));
    }
    assert!(left.is_empty(), "each of these depends on one of the others: {left:#?}");
}
