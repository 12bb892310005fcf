//! Rewrites aggregate functions, windows and the order of rows.

mod compensated_sum;
pub(crate) mod empty_frames;
mod extremes;
mod frames;
mod grouping_sets;
mod list_aggregates;
mod mode;
mod offsets;
mod quantile;
mod running_extremes;
mod selected;
mod subquery_order;
pub(crate) mod text_aggregates;
pub(crate) mod windows;

pub(crate) use self::compensated_sum::compensated_sum_function;
pub(crate) use self::extremes::NestedExtremes;
pub(crate) use self::frames::PeerFrames;
pub(crate) use self::grouping_sets::GroupingSets;
pub(crate) use self::list_aggregates::DistinctLists;
pub(crate) use self::mode::count_functions;
pub(crate) use self::offsets::SortedOffsets;
pub(crate) use self::quantile::quantile_function;
pub(crate) use self::running_extremes::RunningExtremes;
pub(crate) use self::selected::nulls_beside_selected;
pub(crate) use self::subquery_order::SubqueryOrder;
#[cfg(feature = "remote")]
pub(crate) use self::{
    extremes::nested_extremes,
    grouping_sets::{grouping_sets, with_grouping_sets},
    list_aggregates::ordered_list_function,
};
