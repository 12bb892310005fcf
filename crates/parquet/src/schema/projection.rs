//! Selects columns and nested fields by dotted path.

use std::collections::HashMap;

use lath_format::schema::{SchemaDescriptor, begins_with, quoted_names, spelled, write_path};

use super::{Node, NodeKind};
use crate::error::{Error, Result};

/// Columns and nested fields selected by path; a path includes everything below it.
///
/// A path consists of the names from the root down, joined by dots: either the names of the Parquet schema (`l.list.element.x`)
/// or the names of the Arrow schema (`l.element.x`). A root column whose name is the whole path wins over nested fields, so that
/// columns with dots in their names can be selected. Names in double quotes are taken literally: if there is also a column `a.b`,
/// `a."b"` is the field. A path that matches several lists of names is an error. If names repeat, a path selects all matches.
///
/// Fields come in the order of the file, regardless of the order of the paths. A map always keeps its whole keys, and its values
/// whole unless something below them is selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projection {
    paths: Vec<String>,
    names: Vec<Vec<String>>,
    leaves: Vec<usize>,
}

impl Projection {
    /// Selects everything at or below each of `paths`; no paths select no columns.
    pub fn from_paths<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self { paths: paths.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Selects everything at or below each list of names from the root down; names may contain any characters.
    pub fn from_names(names: impl IntoIterator<Item = Vec<String>>) -> Self {
        Self { names: names.into_iter().collect(), ..Self::default() }
    }

    /// Selects leaves by number, counted from 0 in the order of the Parquet schema; this tells columns with the same path apart.
    pub fn from_leaves(leaves: impl IntoIterator<Item = usize>) -> Self {
        Self { leaves: leaves.into_iter().collect(), ..Self::default() }
    }

    /// For each of the `leaf_count` leaves of a schema, whether it is selected. `paths` are the leaves by path.
    pub(super) fn select<'a>(&self, leaf_count: usize, paths: impl FnOnce() -> Paths<'a>) -> Result<Vec<bool>> {
        let mut selected = vec![false; leaf_count];
        if !self.paths.is_empty() || !self.names.is_empty() {
            let paths = paths();
            selected = paths.select(&self.paths)?;
            for names in &self.names {
                let columns = paths.columns_below(names);
                if columns.is_empty() {
                    return Err(paths.unknown(&write_path(names)));
                }
                columns.into_iter().for_each(|column| selected[column] = true);
            }
        }
        for &leaf in &self.leaves {
            let count = selected.len();
            let chosen = selected.get_mut(leaf);
            *chosen.ok_or_else(|| Error::invalid(format!("no leaf {leaf} in a schema of {count}")))? = true;
        }
        Ok(selected)
    }
}

/// The leaves of a schema by path.
pub(super) struct Paths<'a> {
    leaves: Vec<LeafPath<'a>>,
    /// Positions in `leaves` by name of the root column.
    roots: HashMap<&'a str, Vec<usize>>,
    column_count: usize,
}

/// The Parquet and Arrow paths of a leaf.
struct LeafPath<'a> {
    column: usize,
    /// Empty in a mapped file.
    parquet: &'a [String],
    arrow: Vec<&'a str>,
}

impl LeafPath<'_> {
    /// The name of the column with the leaf.
    fn root(&self) -> &str {
        self.parquet.first().map_or(self.arrow[0], String::as_str)
    }
}

impl<'a> Paths<'a> {
    /// The leaves of `nodes`. If these are mapped, their names are not the file's, and only they select columns.
    pub(super) fn new(nodes: &'a [Node], descr: &'a SchemaDescriptor, is_mapped: bool) -> Self {
        let mut paths = Self { leaves: Vec::new(), roots: HashMap::new(), column_count: descr.num_columns() };
        let stored = |column: usize| match is_mapped {
            true => &[][..],
            false => descr.columns()[column].path().parts(),
        };
        for root in nodes {
            let start = paths.leaves.len();
            collect(root, &mut Vec::new(), &stored, &mut paths.leaves);
            paths.roots.entry(root.field.name()).or_default().extend(start..paths.leaves.len());
        }
        paths
    }

    /// For each leaf of the schema, whether any of `chosen` names it or a group above it.
    pub(super) fn select(&self, chosen: &[String]) -> Result<Vec<bool>> {
        let mut selected = vec![false; self.column_count];
        for path in chosen {
            for column in self.columns_at(path)? {
                selected[column] = true;
            }
        }
        Ok(selected)
    }

    /// The columns at or below a path; at least one.
    pub(super) fn columns_at(&self, path: &str) -> Result<Vec<usize>> {
        if let Some(leaves) = self.roots.get(path) {
            return Ok(leaves.iter().map(|&leaf| self.leaves[leaf].column).collect());
        }
        if let Some(names) = quoted_names(path) {
            let columns = self.columns_below(&names);
            return if columns.is_empty() { Err(self.unknown(path)) } else { Ok(columns) };
        }
        let dots = path.bytes().enumerate().filter(|&(_, byte)| byte == b'.').map(|(at, _)| at);
        let mut meant: Vec<Vec<&str>> = Vec::new();
        let mut columns = Vec::new();
        for &leaf in dots.filter_map(|dot| self.roots.get(&path[..dot])).flatten() {
            let leaf = &self.leaves[leaf];
            let arrow = spelled(path, &leaf.arrow).map(|count| leaf.arrow[..count].to_vec());
            let parquet = || {
                let count = spelled(path, leaf.parquet)?;
                Some(leaf.parquet[..count].iter().map(String::as_str).collect())
            };
            let Some(names) = arrow.or_else(parquet) else { continue };
            columns.push(leaf.column);
            if !meant.contains(&names) {
                meant.push(names);
            }
        }
        match meant.as_slice() {
            [] => Err(self.unknown(path)),
            [_] => Ok(columns),
            several => {
                let written: Vec<String> = several.iter().map(|names| format!("'{}'", write_path(names))).collect();
                Err(Error::invalid(format!("'{path}' is ambiguous: {}; write one of them", written.join(" or "))))
            }
        }
    }

    /// The columns at or below names.
    fn columns_below(&self, names: &[String]) -> Vec<usize> {
        let Some(leaves) = names.first().and_then(|root| self.roots.get(root.as_str())) else { return Vec::new() };
        let leaves = leaves.iter().map(|&leaf| &self.leaves[leaf]);
        let below = leaves.filter(|leaf| begins_with(&leaf.arrow, names) || begins_with(leaf.parquet, names));
        below.map(|leaf| leaf.column).collect()
    }

    fn unknown(&self, path: &str) -> Error {
        const SHOWN: usize = 12;
        let mut names: Vec<String> = Vec::new();
        for leaf in &self.leaves {
            for name in [leaf.root().to_owned(), leaf.parquet.join("."), leaf.arrow.join(".")] {
                if !name.is_empty() && names.last() != Some(&name) && names.len() < 1000 && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let mut near: Vec<(usize, &String)> =
            names.iter().map(|name| (distance(path, name), name)).filter(|(d, _)| *d <= 1 + path.len() / 4).collect();
        near.sort_by_key(|(distance, _)| *distance);
        let quote = |name: &str| format!("'{name}'");
        let listed = if near.is_empty() {
            let mut roots: Vec<String> = Vec::new();
            for leaf in &self.leaves {
                if roots.last() != Some(&quote(leaf.root())) {
                    roots.push(quote(leaf.root()));
                }
            }
            let more = roots.len().saturating_sub(SHOWN);
            roots.truncate(SHOWN);
            let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
            if roots.is_empty() {
                "the file has no columns".to_owned()
            } else {
                format!("the file has {}{tail}", roots.join(", "))
            }
        } else {
            let names: Vec<String> = near.iter().take(3).map(|(_, name)| quote(name)).collect();
            format!("did you mean {}?", names.join(" or "))
        };
        Error::invalid(format!("no column '{path}'; {listed}"))
    }
}

fn collect<'a>(
    node: &'a Node,
    arrow: &mut Vec<&'a str>,
    stored: &impl Fn(usize) -> &'a [String],
    leaves: &mut Vec<LeafPath<'a>>,
) {
    arrow.push(node.field.name());
    match &node.kind {
        NodeKind::Leaf(leaf) => {
            leaves.push(LeafPath { column: leaf.column, parquet: stored(leaf.column), arrow: arrow.clone() });
        }
        NodeKind::Struct(children) => {
            for child in children {
                collect(child, arrow, stored, leaves);
            }
        }
        NodeKind::List { element, .. } => collect(element, arrow, stored, leaves),
    }
    arrow.pop();
}

/// Number of characters to insert, remove or replace to make one name of the other, ignoring case; Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
