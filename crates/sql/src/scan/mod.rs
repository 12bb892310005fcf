//! Scans of Lath as plans of DataFusion: conditions, columns, statistics, counters.

mod boxed;
mod declared_order;
mod field_projection;
mod literal;
mod metrics;
mod narrow;
mod pushdown;
mod running_filters;
mod selectivity;
mod source;
pub(crate) mod statistics;
mod stream;
mod translate;
mod value_lists;

pub(crate) use self::boxed::{Made, Planned, changes_refused_by, create_by, insert_by, scan_by};
pub(crate) use self::declared_order::VerifiedOrder;
pub(crate) use self::metrics::add_planning;
pub(crate) use self::pushdown::{Pushed, physical, support, test, with_columns_of, with_rest};
pub(crate) use self::running_filters::{MovedFilters, RunningFilters};
pub(crate) use self::selectivity::{number, selectivity};
pub(crate) use self::source::LathSource;
pub(crate) use self::value_lists::Simplified;
