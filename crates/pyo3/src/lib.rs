//! Code that the Python modules of Lath share.
//!
//! Long operations run without the GIL and stop at Ctrl-C ([`work`]); Arrow data is exchanged by the `PyCapsule`
//! interface ([`capsule`]), so no Python library for Arrow is needed; errors become exceptions of `lath._errors`
//! ([`error`]); a forked process may not use objects of its parent ([`fork`]).
//!
//! Each Python module that links this crate has its own copy, with its own state. So the crate defines no classes that
//! users see: each module would have a different one.

pub mod batches;
pub mod capsule;
pub mod encryption;
pub mod error;
pub mod fork;
pub mod location;
pub mod opening;
pub mod progress;
mod python_error;
pub mod rows;
pub mod storage;
pub mod work;
