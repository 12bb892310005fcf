//! The schema tree against the `parquet` crate's conversion and the specification's rules for nested types.

mod corpus;
mod hints;
mod malformed;
mod nesting;
mod projection;
mod random;
mod types;

use std::fmt::Write;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::{Node, NodeKind, SchemaOptions, build, without_stored_type};
use crate::options::Strings;

fn parse(message: &str) -> SchemaDescriptor {
    SchemaDescriptor::new(Arc::new(parse_message_type(message).unwrap()))
}

fn offsets() -> SchemaOptions {
    SchemaOptions { strings: Strings::Offsets, ..SchemaOptions::default() }
}

fn build_offsets(message: &str) -> (SchemaRef, Vec<Node>) {
    build(&parse(message), None, &offsets(), None).unwrap()
}

/// The schema of the `parquet` crate, whose fields have no stored Parquet types.
fn as_of_crate(schema: &Schema) -> Schema {
    let fields: Vec<_> = schema.fields().iter().map(without_stored_type).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// Nodes as text: `name:def/rep/ancestor`, then `#column` for a leaf, `{…}` for a struct, `[element_def_level …]` for a list.
fn render(nodes: &[Node]) -> String {
    let mut text = String::new();
    for (index, node) in nodes.iter().enumerate() {
        let separator = if index > 0 { " " } else { "" };
        let Node { field, def_level, rep_level, ancestor_def_level, kind } = node;
        write!(text, "{separator}{}:{def_level}/{rep_level}/{ancestor_def_level}", field.name()).unwrap();
        match kind {
            NodeKind::Leaf(leaf) => write!(text, "#{}", leaf.column).unwrap(),
            NodeKind::Struct(children) => write!(text, "{{{}}}", render(children)).unwrap(),
            NodeKind::List { element_def_level, element } => {
                write!(text, "[{element_def_level} {}]", render(std::slice::from_ref(element))).unwrap();
            }
        }
    }
    text
}

/// The leaves of a tree, in order.
fn leaves(nodes: &[Node]) -> Vec<&Node> {
    let mut found = Vec::new();
    for node in nodes {
        match &node.kind {
            NodeKind::Leaf(_) => found.push(node),
            NodeKind::Struct(children) => found.extend(leaves(children)),
            NodeKind::List { element, .. } => found.extend(leaves(std::slice::from_ref(element))),
        }
    }
    found
}
