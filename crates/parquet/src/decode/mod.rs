//! Decodes the pages of a column chunk to Arrow arrays with the levels for nesting.

mod aligned;
mod batch;
mod big_endian;
mod bitmap;
mod boolean;
mod byte_array;
mod chunk_dictionary;
mod chunk_values;
mod codes;
mod convert;
mod fixed;
mod leaf;
mod levels;
mod page_values;
mod predicate_leaf;
mod prefix_stream;
mod strings;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use batch::LeafBatch;
pub(crate) use big_endian::int_from_big_endian;
pub(crate) use codes::Codes;
pub(crate) use convert::FixedLayout;
pub(crate) use leaf::LeafReader;
pub(crate) use page_values::SearchablePage;
pub(crate) use predicate_leaf::predicate_leaf;
pub(crate) use strings::detach_views;
pub(crate) use values::dictionary_values;
