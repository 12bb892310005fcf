//! Which modules of a crate depend on each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The circles in which modules below `folder` depend on each other, one line each: of the modules in the folder itself, and of those in
/// each folder below it. `path` is how the folder's module is named from within the crate, such as `crate`.
///
/// What a module names is found in its text, by `crate::` and `super::`; tests do not count.
///
/// # Panics
/// If the folder cannot be read.
pub fn circles_of_modules(folder: &Path, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut modules, mut folders) = (BTreeMap::new(), Vec::new());
    let root =
        ["lib.rs", "main.rs", "mod.rs"].map(|name| fs::read_to_string(folder.join(name)).unwrap_or_default()).concat();
    for entry in fs::read_dir(folder).expect("a folder of source code") {
        let file = entry.expect("an entry of a folder").path();
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let is_test = root.contains(&format!("#[cfg(test)]\nmod {name};"));
        if is_test || matches!(name.as_str(), "lib" | "main" | "mod" | "tests" | "bin") {
            continue;
        }
        let mut uses = BTreeSet::new();
        if file.is_dir() {
            folders.push((file.clone(), format!("{path}::{name}")));
            add_names_in_folder(&file, path, 2, &mut uses);
        } else if file.extension().is_some_and(|extension| extension == "rs") {
            add_names(&file, path, 1, &mut uses);
        }
        modules.entry(name).or_insert_with(BTreeSet::new).extend(uses);
    }
    let names: BTreeSet<String> = modules.keys().cloned().collect();
    for (name, uses) in &mut modules {
        uses.retain(|other| other != name && names.contains(other));
    }
    // What depends on nothing that is left, and what nothing that is left depends on, is in no circle.
    loop {
        let needed: BTreeSet<String> = modules.values().flatten().cloned().collect();
        let free: BTreeSet<String> = modules
            .iter()
            .filter(|(name, uses)| uses.is_empty() || !needed.contains(*name))
            .map(|(name, _)| name.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        modules.retain(|name, _| !free.contains(name));
        modules.values_mut().for_each(|uses| uses.retain(|name| !free.contains(name)));
    }
    if !modules.is_empty() {
        found.push(format!("{path}: {modules:?}"));
    }
    for (folder, path) in folders {
        found.extend(circles_of_modules(&folder, &path));
    }
    found
}

fn add_names_in_folder(folder: &Path, path: &str, depth: usize, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of source code") {
        let file = entry.expect("an entry of a folder").path();
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        match name {
            "tests" => {}
            // The folder's own module stands a level above the others.
            "mod" => add_names(&file, path, depth - 1, names),
            _ if file.is_dir() => add_names_in_folder(&file, path, depth + 1, names),
            _ => add_names(&file, path, depth, names),
        }
    }
}

/// Adds the modules beside the one at `path` that a file names, from `depth` levels below that.
fn add_names(file: &Path, path: &str, depth: usize, names: &mut BTreeSet<String>) {
    let text = fs::read_to_string(file).expect("source code");
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let above = "super::".repeat(depth);
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for prefix in [format!("{path}::"), above.clone()] {
            for (at, _) in line.match_indices(&prefix) {
                // `super::super::` has `super::` within it.
                let before = line[..at].chars().next_back();
                if before.is_some_and(|c| c == ':' || c.is_alphanumeric() || c == '_') {
                    continue;
                }
                let rest = &line[at + prefix.len()..];
                names.insert(rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect());
            }
        }
    }
}
