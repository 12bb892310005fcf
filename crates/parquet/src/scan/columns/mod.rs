//! The columns to read from the files of one schema, and the parts of a predicate over them.

mod conjuncts;
mod file_plan;
mod key_list;
mod leaf_places;
mod page_search;
mod planned_leaf;
mod target;

pub(in crate::scan) use conjuncts::{Conjunct, ConjunctStats, split_conjuncts};
pub(in crate::scan) use file_plan::{Conditions, FilePlan, Operand};
pub(in crate::scan) use leaf_places::LeafPlaces;
pub(in crate::scan) use page_search::PageSearch;
pub(in crate::scan) use planned_leaf::PlannedLeaf;
pub(in crate::scan) use target::{FileTarget, Target, VirtualColumns};
