//! Optimistic transactions: which of them conflict, and that the others are as if they had run one after the other.

mod conflicts;
mod isolation;
#[cfg(unix)]
mod kill;
mod locked_trees;
mod model;
mod operation;
mod read;
mod reported;
mod speed;
mod threads;
mod validation;
