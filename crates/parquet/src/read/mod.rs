//! Reading rows: what is wanted, planned, decoded by one thread or several, as an iterator of record batches.

mod batches;
mod builder;
mod leaf_places;
mod leaf_stream;
mod plan;
mod planned_leaf;
mod scheduler;
mod selection;

pub use batches::Batches;
pub use builder::ReadBuilder;
pub(crate) use leaf_places::LeafPlaces;
pub(crate) use planned_leaf::PlannedLeaf;
pub(crate) use selection::{RowGroupRows, split as split_rows};

#[cfg(test)]
mod tests;
