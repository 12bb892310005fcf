//! The portable loops, compiled for 256-bit registers. A 64-bit minimum is a comparison and a blend.

use super::floats::{self, FloatRange};
use super::{integers, strings};
use crate::byte_strings::with_source;
use crate::tier::avx2;
use crate::{ByteStrings, KernelError};

integers::functions!(avx2);

avx2! {
    pub(super) fn positions(
        strings: ByteStrings<'_>,
        sign: u64,
    ) -> Result<Option<(usize, usize)>, KernelError> {
        with_source!(strings, |source| strings::positions(source, sign))
    }
}
