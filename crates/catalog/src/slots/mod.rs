//! Arrays with a value for each file: sets, bounds, partitions, Bloom filters.

mod bitmap;
mod block_buffer;
pub(crate) mod bounds;
pub(crate) mod made_filter;
pub(crate) mod partitions;
mod segment;
mod segment_buffer;

pub(crate) use self::bitmap::Bitmap;
pub(crate) use self::block_buffer::BlockBuffer;
pub(crate) use self::bounds::{BOUNDS_LEN, Bounds, BoundsTest, rank};
pub(crate) use self::made_filter::{KeyHash, MAX_KEY_COLUMNS, combine};
pub(crate) use self::partitions::CatalogPartition;
pub(crate) use self::segment::{Class, Place, Segment};
pub(crate) use self::segment_buffer::SegmentBuffer;
