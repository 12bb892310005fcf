//! The version of the library, and the SIMD tier it uses.

use std::ffi::{CStr, c_char};

use lath_kernels::Tier;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The version of the library, as in "0.1.0", as a constant text ended by a zero byte.
#[unsafe(no_mangle)]
pub extern "C" fn lath_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The tier of the kernels ("scalar", "sse41", "avx2", "avx512" or "neon"), as a constant text ended by a zero byte.
/// The environment variable `LATH_SIMD` lowers it, if it is set before the first call.
#[unsafe(no_mangle)]
pub extern "C" fn lath_simd_tier() -> *const c_char {
    let name = match Tier::current() {
        Tier::Scalar => c"scalar",
        Tier::Sse41 => c"sse41",
        Tier::Avx2 => c"avx2",
        Tier::Avx512 => c"avx512",
        Tier::Neon => c"neon",
    };
    name.as_ptr()
}
