//! Lath's scans as DataFusion plans: pushdown, projection, statistics, metrics.

mod boxed;
mod declared_order;
mod field_projection;
mod filter_pushdown;
mod implied;
mod literal;
mod metrics;
mod pushdown;
mod selectivity;
mod source;
pub(crate) mod statistics;
mod stream;
mod translate;
mod value_lists;

pub(crate) use self::boxed::{PlanFuture, TableFuture, changes_refused_by, create_by, insert_by, scan_by};
pub(crate) use self::declared_order::VerifiedOrder;
#[cfg(feature = "remote")]
pub(crate) use self::field_projection::FieldProjection;
pub(crate) use self::field_projection::with_schema;
pub(crate) use self::filter_pushdown::{DynamicFilterPushdown, StaticFilterPushdown};
pub(crate) use self::implied::{can_rule_out, implied_predicate};
pub(crate) use self::metrics::add_planning;
pub(crate) use self::pushdown::{Pushdown, physical, support, test, with_condition_columns, with_rest};
pub(crate) use self::selectivity::{number, selectivity};
pub(crate) use self::source::LathSource;
pub(crate) use self::value_lists::SimplifyKeepingLists;
