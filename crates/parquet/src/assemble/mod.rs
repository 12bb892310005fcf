//! Assembles leaves and their levels to nested Arrow arrays.
//!
//! Every entry of a leaf has a definition level (how deep it is defined) and a repetition level (at which depth it repeats). A
//! node has a *slot* where an entry's repetition level is at most the node's own and its definition level reaches the element of
//! the nearest repeated ancestor; it is not null where the definition level reaches the node's. Slots, non-null slots and
//! elements of lists are bitmaps over the entries, each computed by a comparison, and structs and lists follow from them by
//! counting bits. (<https://github.com/apache/parquet-format#nested-encoding>)

mod list;

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::DataType;
use lath_kernels::levels;

use crate::decode::LeafBatch;
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::schema::{Node, NodeKind};

/// An assembled node, with the levels of one of its leaves, from which its parent is assembled.
struct AssembledNode {
    array: ArrayRef,
    def_levels: Vec<u8>,
    rep_levels: Vec<u8>,
}

/// Builds the array of a root `node` from the batches of its leaves, taken from `leaves` in file order.
///
/// `row_count` is the number of rows requested from every leaf.
pub(crate) fn assemble(
    node: &Node,
    leaves: &mut impl Iterator<Item = LeafBatch>,
    row_count: usize,
    limits: &Limits,
) -> Result<ArrayRef> {
    let assembled = visit(node, leaves, limits)?;
    if assembled.array.len() != row_count {
        return Err(mismatch(node, row_count, assembled.array.len()));
    }
    Ok(assembled.array)
}

fn visit(node: &Node, leaves: &mut impl Iterator<Item = LeafBatch>, limits: &Limits) -> Result<AssembledNode> {
    match &node.kind {
        NodeKind::Leaf(_) => {
            let LeafBatch { array, def_levels, rep_levels } =
                leaves.next().ok_or_else(|| Error::internal("a leaf of the schema was not read"))?;
            Ok(AssembledNode { array, def_levels, rep_levels })
        }
        NodeKind::Struct(children) => {
            let mut arrays = Vec::with_capacity(children.len());
            let mut levels = None;
            for child in children {
                let AssembledNode { array, def_levels, rep_levels } = visit(child, leaves, limits)?;
                arrays.push(array);
                levels.get_or_insert((def_levels, rep_levels));
            }
            let (def_levels, rep_levels) = levels.ok_or_else(|| Error::unsupported("a group without fields"))?;
            let array = struct_array(node, arrays, &def_levels, &rep_levels)?;
            Ok(AssembledNode { array, def_levels, rep_levels })
        }
        NodeKind::List { element_def_level, element } => {
            let child = visit(element, leaves, limits)?;
            let AssembledNode { array, def_levels, rep_levels } = child;
            let array = list::assemble(node, *element_def_level, array, &def_levels, &rep_levels, limits)?;
            Ok(AssembledNode { array, def_levels, rep_levels })
        }
    }
}

fn struct_array(node: &Node, arrays: Vec<ArrayRef>, def_levels: &[u8], rep_levels: &[u8]) -> Result<ArrayRef> {
    let len = arrays.first().map_or(0, |array| array.len());
    if let Some(other) = arrays.iter().find(|array| array.len() != len) {
        return Err(mismatch(node, len, other.len()));
    }
    let nulls = if node.def_level > node.ancestor_def_level {
        let slots = Slots::new(node, def_levels, rep_levels)?;
        if slots.count != len {
            return Err(mismatch(node, slots.count, len));
        }
        slots.nulls(node, def_levels)?
    } else {
        None
    };
    let fields = match node.field.data_type() {
        DataType::Struct(fields) => fields.clone(),
        other => return Err(Error::unsupported(format!("a group read as {other}"))),
    };
    let array = StructArray::try_new(fields, arrays, nulls).map_err(|error| corrupt(node, error))?;
    Ok(Arc::new(array))
}

/// The entries where a node has a slot.
struct Slots {
    mask: Vec<u64>,
    count: usize,
}

impl Slots {
    fn new(node: &Node, def_levels: &[u8], rep_levels: &[u8]) -> Result<Self> {
        let mut mask = vec![0; def_levels.len().div_ceil(64)];
        levels::ge_mask(def_levels, node.ancestor_def_level, &mut mask)?;
        if !rep_levels.is_empty() {
            let mut own = vec![0; mask.len()];
            levels::le_mask(rep_levels, node.rep_level, &mut own)?;
            levels::and(&mut mask, &own)?;
        }
        let count = levels::count(&mask);
        Ok(Self { mask, count })
    }

    /// The node's null bitmap over its slots.
    fn nulls(&self, node: &Node, def_levels: &[u8]) -> Result<Option<NullBuffer>> {
        let mut valid = vec![0; self.mask.len()];
        levels::ge_mask(def_levels, node.def_level, &mut valid)?;
        let mut bits = vec![0; self.count.div_ceil(8)];
        levels::extract(&valid, &self.mask, &mut bits, 0)?;
        let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, self.count));
        Ok(Some(nulls).filter(|nulls| nulls.null_count() > 0))
    }
}

fn mismatch(node: &Node, expected: usize, actual: usize) -> Error {
    Error::corrupt(format!("columns of {} disagree: {expected} entries in one, {actual} in another", node.field.name()))
}

fn corrupt(node: &Node, error: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("{}: {error}", node.field.name()))
}
