//! Finds modules of a crate that depend on each other in a circle.

mod paths;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use paths::{ModulePath, named_paths, names_from_children};
use tokens::tokens;

/// Finds the circles of dependencies among modules of a crate, one line each: among the modules at the top of `folder`,
/// which has the crate's `lib.rs` or `main.rs`, and among the modules of each folder below it. A line names one
/// occurrence of each dependency.
///
/// A module depends on another if its text, or the text of a module below it, names a path through it:
/// `crate::other::Item`, `use super::{other::Item, …}`, or an item that their parent takes from it (`use other::Item;`
/// there, `super::Item` here). Code that only tests compile does not count. A path through a glob of the parent (`use
/// other::*`) is not found.
///
/// # Panics
/// If the folder cannot be read.
pub fn circles_of_modules(folder: &Path) -> Vec<String> {
    let root = ["lib.rs", "main.rs"].iter().map(|name| folder.join(name)).find(|file| file.exists());
    let root = root.expect("a lib.rs or main.rs");
    let mut circles = Vec::new();
    Module::read(&root, folder, Vec::new()).add_circles(&mut circles);
    circles
}

struct Module {
    path: ModulePath,
    /// The paths that the module's own file names.
    named: Vec<ModulePath>,
    children: BTreeMap<String, Module>,
    /// Names that the module takes from its children, each with the child.
    from_children: BTreeMap<String, String>,
}

impl Module {
    /// Reads the module in `file`, whose child modules are in `folder`.
    fn read(file: &Path, folder: &Path, path: ModulePath) -> Self {
        let text = fs::read_to_string(file).expect("source code");
        let tokens = tokens(&text);
        let mut children = BTreeMap::new();
        for window in tokens.windows(3) {
            let [word, name, end] = window else { continue };
            if word != "mod" || end != ";" {
                continue;
            }
            let (flat, nested) = (folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs"));
            if let Some(file) = [flat, nested].into_iter().find(|file| file.exists()) {
                let path = path.iter().chain([name]).cloned().collect();
                children.insert(name.clone(), Self::read(&file, &folder.join(name), path));
            }
        }
        let names: Vec<String> = children.keys().cloned().collect();
        let from_children = names_from_children(&tokens, &names).into_iter().collect();
        Self { named: named_paths(&tokens, &path), path, children, from_children }
    }

    /// Every path that the module or one below it names, with the module that names it.
    fn all_named(&self) -> Vec<(&[String], &[String])> {
        let own = self.named.iter().map(|named| (self.path.as_slice(), named.as_slice()));
        own.chain(self.children.values().flat_map(Self::all_named)).collect()
    }

    /// The child that a path leads through, if any.
    fn child_on(&self, path: &[String]) -> Option<&str> {
        let next = path.strip_prefix(self.path.as_slice())?.first()?;
        let child = self.children.get_key_value(next).map(|(name, _)| name);
        child.or_else(|| self.from_children.get(next)).map(String::as_str)
    }

    fn add_circles(&self, circles: &mut Vec<String>) {
        let mut uses: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
        for (name, child) in &self.children {
            for (user, named) in child.all_named() {
                if let Some(used) = self.child_on(named).filter(|used| used != name) {
                    let place = || format!("{} → {}", user.join("::"), named.join("::"));
                    uses.entry(name).or_default().entry(used).or_insert_with(place);
                }
            }
        }
        let reachable: BTreeMap<&str, BTreeSet<&str>> =
            self.children.keys().map(|name| (name.as_str(), reachable(name, &uses))).collect();
        let mut told = BTreeSet::new();
        for (name, others) in &reachable {
            if !others.contains(name) || told.contains(name) {
                continue;
            }
            let circle: BTreeSet<&str> =
                others.iter().copied().filter(|other| reachable[other].contains(name)).collect();
            let places = circle.iter().flat_map(|from| &uses[from]).filter(|(to, _)| circle.contains(*to));
            let places: Vec<&str> = places.map(|(_, place)| place.as_str()).collect();
            circles.push(format!("{circle:?}: {}", places.join(", ")));
            told.extend(circle);
        }
        for child in self.children.values() {
            child.add_circles(circles);
        }
    }
}

fn reachable<'a>(from: &str, uses: &BTreeMap<&'a str, BTreeMap<&'a str, String>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(name) = open.pop() {
        for next in uses.get(name).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*next) {
                open.push(next);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
