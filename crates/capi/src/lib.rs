//! The C interface of Lath, from which `crates/capi/install` builds `liblath` and `lath.h`.
//!
//! `docs/c.md` is its manual. With `--no-default-features` it contains only the kernels, for engines that embed them.
//!
//! | module | contents |
//! | --- | --- |
//! | `call` | runs a function of the interface: turns a panic into an error, and keeps the last error's text |
//! | `status` | codes of errors, and failures with such a code |
//! | `pointers` | checks of the pointers from C, and the slices and references made from them |
//! | `kernels` | Bloom filters, hashes, and the encodings of pages |
//! | `files` | Parquet files as Arrow streams |
//! | `store` | the ordered store |
#![expect(unsafe_code, reason = "C gives pointers, and calls functions by names that are not mangled")]

#[cfg(feature = "files")]
mod call;
mod files;
mod kernels;
mod pointers;
mod status;
#[cfg(feature = "store")]
mod store;
mod version;

pub use call::lath_last_error_message;
#[cfg(feature = "files")]
pub use files::*;
pub use kernels::*;
pub use pointers::{Buffer, Bytes, lath_buffer_free};
pub use status::{Status, lath_status_name};
#[cfg(feature = "store")]
pub use store::*;
pub use version::{lath_simd_tier, lath_version};
