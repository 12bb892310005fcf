//! Choosing columns and nested fields by dotted path.

use std::collections::HashMap;

use lath_format::schema::SchemaDescriptor;

use super::{Node, NodeKind};
use crate::error::{Error, Result};

/// Columns and nested fields chosen by path; what lies below a path comes with it.
///
/// A path is the names from the root down, joined by dots: either those of the Parquet schema (`l.list.element.x`) or those of
/// the Arrow schema (`l.element.x`). A root column whose name is the whole path wins over nested fields, so that columns with
/// dots in their names can be chosen. Where names repeat, a path chooses all that it fits.
///
/// Fields come out in the order of the file, whatever the order of the paths. A map keeps its keys, whole, whatever is
/// chosen below it, and its values whole unless something below them is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projection {
    paths: Vec<String>,
    leaves: Vec<usize>,
}

impl Projection {
    /// Chooses what lies at or below each of `paths`; no paths choose no columns.
    pub fn from_paths<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self { paths: paths.into_iter().map(Into::into).collect(), leaves: Vec::new() }
    }

    /// Chooses leaves by their numbers, counted from 0 in the order of the Parquet schema: the way to tell apart columns that have
    /// the same path.
    pub fn from_leaves(leaves: impl IntoIterator<Item = usize>) -> Self {
        Self { paths: Vec::new(), leaves: leaves.into_iter().collect() }
    }

    /// For each leaf of the schema, whether it is chosen.
    pub(super) fn select(&self, nodes: &[Node], descr: &SchemaDescriptor) -> Result<Vec<bool>> {
        let mut selected = match self.paths.as_slice() {
            [] => vec![false; descr.num_columns()],
            paths => Paths::new(nodes, descr).select(paths)?,
        };
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

/// The two paths that lead to a leaf.
struct LeafPath<'a> {
    column: usize,
    parquet: &'a [String],
    arrow: Vec<&'a str>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(nodes: &'a [Node], descr: &'a SchemaDescriptor) -> Self {
        let mut paths = Self { leaves: Vec::new(), roots: HashMap::new(), column_count: descr.num_columns() };
        for root in nodes {
            let start = paths.leaves.len();
            collect(root, &mut Vec::new(), descr, &mut paths.leaves);
            paths.roots.entry(root.field.name()).or_default().extend(start..paths.leaves.len());
        }
        paths
    }

    /// For each leaf of the schema, whether any of `chosen` leads to it or above it.
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
        let dots = path.bytes().enumerate().filter(|&(_, byte)| byte == b'.').map(|(at, _)| at);
        let columns: Vec<usize> = dots
            .filter_map(|dot| self.roots.get(&path[..dot]))
            .flatten()
            .map(|&leaf| &self.leaves[leaf])
            .filter(|leaf| leads_to(path, leaf.parquet) || leads_to(path, &leaf.arrow))
            .map(|leaf| leaf.column)
            .collect();
        if columns.is_empty() { Err(self.unknown(path)) } else { Ok(columns) }
    }

    fn unknown(&self, path: &str) -> Error {
        const SHOWN: usize = 12;
        let mut names: Vec<String> = Vec::new();
        for leaf in &self.leaves {
            for name in [&leaf.parquet[0], &leaf.parquet.join("."), &leaf.arrow.join(".")] {
                if names.last() != Some(name) && (names.len() < 1000) && !names.contains(name) {
                    names.push(name.clone());
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
                if roots.last() != Some(&quote(&leaf.parquet[0])) {
                    roots.push(quote(&leaf.parquet[0]));
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

fn collect<'a>(node: &'a Node, arrow: &mut Vec<&'a str>, descr: &'a SchemaDescriptor, leaves: &mut Vec<LeafPath<'a>>) {
    arrow.push(node.field.name());
    match &node.kind {
        NodeKind::Leaf(leaf) => leaves.push(LeafPath {
            column: leaf.column,
            parquet: descr.columns()[leaf.column].path().parts(),
            arrow: arrow.clone(),
        }),
        NodeKind::Struct(children) => {
            for child in children {
                collect(child, arrow, descr, leaves);
            }
        }
        NodeKind::List { element, .. } => collect(element, arrow, descr, leaves),
    }
    arrow.pop();
}

/// Whether `path` is the first one, two, … of `names`, joined by dots. Names may hold dots themselves.
fn leads_to<S: AsRef<str>>(path: &str, names: &[S]) -> bool {
    let mut rest = path;
    for name in names {
        let Some(after) = rest.strip_prefix(name.as_ref()) else { return false };
        if after.is_empty() {
            return true;
        }
        let Some(below) = after.strip_prefix('.') else { return false };
        rest = below;
    }
    false
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
