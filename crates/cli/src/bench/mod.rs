//! Measurements that people can repeat on their machines.

pub(crate) mod bloom;
pub(crate) mod chart;
pub(crate) mod filter;
pub(crate) mod memory;
pub(crate) mod timing;
