//! The C interface of Lath, which `crates/capi/install` makes `liblath` and `lath.h` of.
//!
//! `docs/c.md` is its manual. With `--no-default-features` there are the kernels
//! alone, for engines that embed them.
//!
//! | module | what it has |
//! | --- | --- |
//! | `status` | codes of errors, their text, and the border that no panic crosses |
//! | `pointers` | checks of the pointers that C gives, and the slices and references made of them |
//! | `kernels` | Bloom filters, hashes, and the encodings of pages |
//! | `files` | Parquet files as Arrow streams |
//! | `store` | the ordered store |
#![expect(unsafe_code, reason = "C gives pointers, and calls functions by names that are not mangled")]

#[cfg(feature = "files")]
mod files;
mod kernels;
mod pointers;
mod status;
#[cfg(feature = "store")]
mod store;
mod version;

#[cfg(feature = "files")]
pub use files::*;
pub use kernels::*;
pub use pointers::{Buffer, Bytes, lath_buffer_free};
pub use status::{Status, lath_last_error_message, lath_status_name};
#[cfg(feature = "store")]
pub use store::*;
pub use version::{lath_simd_tier, lath_version};
