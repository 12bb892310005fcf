//! What the modules of Lath for Python share.
//!
//! Long work runs without the GIL and stops for Ctrl-C ([`work`]); Arrow data cross by the `PyCapsule` interface ([`capsule`]), so that no
//! Arrow library of Python is needed; errors become exceptions of `lath._errors` ([`error`]); what a forked process may not use is refused
//! ([`fork`]).
//!
//! Each module of Python that links this has a copy of its own, with its own state. It has no classes that users see, for they would
//! be different ones in each.

pub mod batches;
pub mod capsule;
pub mod error;
pub mod fork;
pub mod opening;
pub mod progress;
pub mod rows;
pub mod work;
