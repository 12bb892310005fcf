//! The C interface of Lath, which `crates/capi/install` makes `liblath` and `lath.h` of.
//!
//! `docs/c.md` is its manual. With `--no-default-features` there are the kernels
//! alone, for engines that embed them.
//!
//! | module | what it has |
//! | --- | --- |
//! | `call` | runs a function of the interface: a panic becomes an error, the last error's text is kept |
//! | `status` | codes of errors, and failures that have one |
//! | `pointers` | checks of the pointers that C gives, and the slices and references made of them |
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
