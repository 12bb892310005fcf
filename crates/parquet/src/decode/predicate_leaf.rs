use arrow_schema::DataType;
use lath_predicate::Leaf;

use super::FixedLayout;
use crate::schema::{Node, NodeKind};

/// The leaf with the values of a column or of its elements; `None` if that is not a single leaf. `path` is the index of the
/// column among `nodes`, followed by the indices of the fields within structs.
pub(crate) fn predicate_leaf(nodes: &[Node], path: &[usize]) -> Option<Leaf> {
    let (&root, fields) = path.split_first()?;
    let node = fields.iter().try_fold(nodes.get(root)?, |node, &field| match &node.kind {
        NodeKind::Struct(children) => children.get(field),
        _ => None,
    })?;
    let (values, is_list) = match &node.kind {
        NodeKind::List { element, .. } => (element.as_ref(), true),
        _ => (node, false),
    };
    let NodeKind::Leaf(leaf) = &values.kind else { return None };
    let data_type = match values.field.data_type() {
        DataType::Dictionary(_, value) => value,
        other => other,
    };
    let layout = FixedLayout::new(leaf.physical_type, leaf.type_length, data_type);
    Some(Leaf {
        index: leaf.column,
        repeated: is_list || leaf.max_rep_level > 0,
        may_overflow: layout.is_some_and(|layout| layout.can_fail()),
    })
}
