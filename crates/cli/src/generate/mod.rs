//! Generated data: the tables of TPC-H, and spans of traces.

pub(crate) mod distribution;
pub(crate) mod events;
pub(crate) mod tpch;
