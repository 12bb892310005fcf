//! The state, bounds, filters and schema that a catalog stores for one file.

mod entry;
pub(crate) mod facts;
mod state;

pub(crate) use self::entry::{Entry, KeptFilter, ReadEntry, StoredAt};
pub(crate) use self::facts::{ColumnFilters, ContentOptions, Facts, Filter, ReadFacts};
pub(crate) use self::state::State;
