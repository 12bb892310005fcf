//! BYTE_ARRAY value streams: converts lengths and bytes of a page to Arrow's string views or to contiguous values, and
//! back.
//!
//! | encoding | to views | to contiguous values |
//! | --- | --- | --- |
//! | PLAIN | [`plain_views`] | [`plain_lengths`], then [`copy_plain`] |
//! | DELTA_LENGTH_BYTE_ARRAY | [`length_views`] | contiguous in the page |
//! | DELTA_BYTE_ARRAY | [`length_views`] over the joined values | [`prefix_join_len`], then [`prefix_join`] |
//!
//! | encoding | from [`ByteStrings`](crate::ByteStrings) |
//! | --- | --- |
//! | PLAIN | [`encode_plain`] |
//! | DELTA_LENGTH_BYTE_ARRAY | [`lengths`], to be delta-encoded, then [`concat()`] |
//! | DELTA_BYTE_ARRAY | [`prefix_split`], its lengths to be delta-encoded |
//!
//! A view is 16 bytes, here a `u128`. It contains a value of up to twelve bytes, and points to a longer one:
//!
//! ```text
//! bits    0        31 32                                                        127
//! short   │  length  │ up to twelve bytes, then zeros                             │
//! long    │  length  │ first four bytes │ index of the buffer │ offset in the buffer │
//! ```
//!
//! [Encodings](https://parquet.apache.org/docs/file-format/data-pages/encodings/),
//! [views](https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout).

mod join;
mod lengths;
mod pack;
mod plain;
mod split;
mod view;
mod views;

pub use join::{PrefixJoin, prefix_join, prefix_join_len};
pub use pack::{concat, encode_plain, lengths};
pub use plain::{PlainScan, copy_plain, plain_lengths, plain_views};
pub use split::prefix_split;
pub use views::length_views;

pub(crate) use plain::value_at;
