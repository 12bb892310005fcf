//! From the pages of a column chunk to Arrow arrays with the levels that nest them.

mod aligned;
mod batch;
mod bitmap;
mod boolean;
mod byte_array;
mod chunk_dictionary;
mod codes;
mod contiguous;
mod convert;
mod dictionary;
mod fixed;
mod leaf;
mod levels;
mod prefix_stream;
mod strings;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use batch::LeafBatch;
pub(crate) use codes::Codes;
pub(crate) use convert::FixedLayout;
pub(crate) use leaf::LeafReader;
pub(crate) use strings::detach_views;
pub(crate) use values::{Untouched, dictionary_values};
