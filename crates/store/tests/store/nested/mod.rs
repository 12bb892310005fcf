//! Trees nested in other trees.

mod copies;
mod crash;
mod histories;
mod model;
mod operations;
mod reports;
