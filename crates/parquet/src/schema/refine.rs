//! Refines a file's whole schema to the requested one: drops fields, chooses leaf types.

use arrow_schema::{DataType, FieldRef, Fields};
use lath_format::schema::SchemaDescriptor;

use super::storage::{LeafTypes, leaf_field, with_type, without_extension};
use super::{Node, NodeKind};
use crate::error::{Error, Result};

/// The selected leaves, and their layout.
pub(super) struct Refinement<'a> {
    pub(super) descr: &'a SchemaDescriptor,
    /// For each leaf, whether it is kept; `None` keeps all.
    pub(super) selected: Option<Vec<bool>>,
    /// For each leaf, whether it is read as a dictionary.
    pub(super) dictionaries: Vec<bool>,
    pub(super) leaf_types: LeafTypes,
}

impl Refinement<'_> {
    /// The node with the remaining nodes below it; `None` if there are none.
    pub(super) fn apply(&self, node: &Node) -> Result<Option<Node>> {
        if self.keeps_any(node) { self.keep(node.clone(), false).map(Some) } else { Ok(None) }
    }

    /// `whole` keeps everything below, regardless of the selection.
    fn keep(&self, node: Node, whole: bool) -> Result<Node> {
        let Node { field, kind, .. } = node;
        let (field, kind) = match kind {
            NodeKind::Leaf(leaf) => {
                let descr = &self.descr.columns()[leaf.column];
                let as_dictionary = self.dictionaries.get(leaf.column).copied().unwrap_or(false);
                let refined = leaf_field(&field, descr, self.leaf_types, as_dictionary).ok_or_else(|| {
                    Error::invalid(format!(
                        "column '{}' of type {} cannot be read as a dictionary",
                        descr.path().string(),
                        field.data_type()
                    ))
                })?;
                (refined, NodeKind::Leaf(leaf))
            }
            NodeKind::Struct(children) => {
                let count = children.len();
                let mut kept = Vec::with_capacity(count);
                for child in children {
                    if whole || self.keeps_any(&child) {
                        kept.push(self.keep(child, whole)?);
                    }
                }
                let fields: Fields = kept.iter().map(|child| FieldRef::clone(&child.field)).collect();
                // An extension type of a struct needs all of its fields.
                let field = if kept.len() < count { without_extension(&field) } else { field };
                (with_type(&field, DataType::Struct(fields)), NodeKind::Struct(kept))
            }
            NodeKind::List { element_def_level, element } => {
                let element = match field.data_type() {
                    DataType::Map(_, _) => self.keep_entries(*element, whole)?,
                    _ => self.keep(*element, whole)?,
                };
                let data_type = with_element(field.data_type(), FieldRef::clone(&element.field));
                (with_type(&field, data_type), NodeKind::List { element_def_level, element: Box::new(element) })
            }
        };
        Ok(Node { field, kind, ..node })
    }

    /// The entries of a map: its whole keys, and the selected parts of its values, or all if none is selected.
    fn keep_entries(&self, entries: Node, whole: bool) -> Result<Node> {
        let Node { field, kind, .. } = entries;
        let kind = match kind {
            NodeKind::Struct(children) => {
                let mut kept = Vec::with_capacity(children.len());
                for (index, child) in children.into_iter().enumerate() {
                    let is_whole = whole || index == 0 || !self.keeps_any(&child);
                    kept.push(self.keep(child, is_whole)?);
                }
                NodeKind::Struct(kept)
            }
            other => other,
        };
        let field = match &kind {
            NodeKind::Struct(children) => {
                let fields: Fields = children.iter().map(|child| FieldRef::clone(&child.field)).collect();
                with_type(&field, DataType::Struct(fields))
            }
            _ => field,
        };
        Ok(Node { field, kind, ..entries })
    }

    fn keeps_any(&self, node: &Node) -> bool {
        let Some(selected) = &self.selected else { return true };
        match &node.kind {
            NodeKind::Leaf(leaf) => selected[leaf.column],
            NodeKind::Struct(children) => children.iter().any(|child| self.keeps_any(child)),
            NodeKind::List { element, .. } => self.keeps_any(element),
        }
    }
}

/// The list type `like`, with another element.
pub(super) fn with_element(like: &DataType, element: FieldRef) -> DataType {
    match like {
        DataType::LargeList(_) => DataType::LargeList(element),
        DataType::FixedSizeList(_, len) if *len >= 0 => DataType::FixedSizeList(element, *len),
        DataType::ListView(_) => DataType::ListView(element),
        DataType::LargeListView(_) => DataType::LargeListView(element),
        DataType::Map(_, is_sorted) => DataType::Map(element, *is_sorted),
        _ => DataType::List(element),
    }
}
