use lath_predicate::Leaf;

use super::{Node, NodeKind};

/// The leaf that holds the values of a column, or those of its elements; `None` if that is not one leaf. `path` has the index
/// of the column among `nodes`, then those of the fields within structs.
pub(crate) fn predicate_leaf(nodes: &[Node], path: &[usize]) -> Option<Leaf> {
    let (&root, fields) = path.split_first()?;
    let node = fields.iter().try_fold(nodes.get(root)?, |node, &field| match &node.kind {
        NodeKind::Struct(children) => children.get(field),
        _ => None,
    })?;
    match &node.kind {
        NodeKind::Leaf(leaf) => Some(Leaf { index: leaf.column, repeated: leaf.max_rep_level > 0 }),
        NodeKind::List { element, .. } => match &element.kind {
            NodeKind::Leaf(leaf) => Some(Leaf { index: leaf.column, repeated: true }),
            _ => None,
        },
        NodeKind::Struct(_) => None,
    }
}
