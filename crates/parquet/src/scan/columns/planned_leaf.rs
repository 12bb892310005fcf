use std::sync::Arc;

use arrow_schema::DataType;

use crate::decode::LeafReader;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::options::Limits;
use crate::page::{PageOptions, PageReader};
use crate::schema::{Leaf, Node, NodeKind};

/// A leaf that the plan reads.
#[derive(Debug, Clone)]
pub(in crate::scan) struct PlannedLeaf {
    pub(in crate::scan) leaf: Leaf,
    pub(in crate::scan) data_type: DataType,
    pub(in crate::scan) slot_def_level: u8,
    /// Whether a struct or list above the leaf needs its levels.
    pub(in crate::scan) keep_levels: bool,
}

impl PlannedLeaf {
    /// The leaves below `node`, in file order.
    pub(in crate::scan) fn collect(node: &Node, keep_levels: bool, out: &mut Vec<Self>) {
        match &node.kind {
            NodeKind::Leaf(leaf) => out.push(Self {
                leaf: leaf.clone(),
                data_type: node.field.data_type().clone(),
                slot_def_level: node.ancestor_def_level,
                keep_levels,
            }),
            NodeKind::Struct(children) => {
                let keep_levels = keep_levels || node.def_level > node.ancestor_def_level;
                for child in children {
                    Self::collect(child, keep_levels, out);
                }
            }
            NodeKind::List { element, .. } => Self::collect(element, true, out),
        }
    }

    /// Opens the leaf's column chunk in `row_group` of `file`.
    pub(in crate::scan) fn open(&self, file: &ParquetFile, row_group: usize, verify_crc: bool) -> Result<LeafReader> {
        let spec = file.chunk_spec(row_group, self.leaf.column)?;
        let options = PageOptions { verify_crc, limits: file.limits().clone() };
        self.reader(PageReader::new(Arc::clone(file.source()), spec, options)?, file.limits())
    }

    /// A reader of the leaf, whose pages are these.
    pub(in crate::scan) fn reader(&self, pages: PageReader, limits: &Limits) -> Result<LeafReader> {
        let max_slots = usize::try_from(limits.batch_elements).unwrap_or(usize::MAX);
        LeafReader::new(pages, &self.leaf, &self.data_type, self.slot_def_level, self.keep_levels, max_slots)
    }
}
