//! Upkeep: flushes, compaction, removal of files, background work, checks.

mod background;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod expire;
mod file_check;
mod float_values;
pub(crate) mod flush;
mod old_files;
mod unpublishable;
pub(crate) mod vacuum;

pub(crate) use self::background::Background;
pub(crate) use self::check::check_locked;
pub use self::check::{CheckReport, Problem};
pub use self::compact::CompactReport;
pub(crate) use self::compact::rewrite_unverified;
pub(crate) use self::float_values::use_float_values;
pub use self::flush::FlushReport;
pub(crate) use self::old_files::move_old_files;
pub(crate) use self::unpublishable::make_publishable;
pub(crate) use self::vacuum::{Activity, remove_orphans, remove_unnamed};
