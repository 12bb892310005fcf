//! From the pages of a column chunk to Arrow arrays with the levels that nest them.

mod aligned;
mod bitmap;
mod boolean;
mod byte_array;
mod chunk_dictionary;
mod contiguous;
mod convert;
mod dictionary;
mod fixed;
mod leaf;
mod levels;
mod strings;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use leaf::{LeafBatch, LeafReader};
pub(crate) use values::dictionary_values;
