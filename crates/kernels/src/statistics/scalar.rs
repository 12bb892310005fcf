//! Portable: the loops as they are, vectorised as far as the target's baseline allows.

use super::floats::{self, FloatRange};
use super::{integers, strings};
use crate::byte_strings::with_source;
use crate::{ByteStrings, KernelError};

macro_rules! plain {
    ($($item:item)*) => { $($item)* };
}

integers::functions!(plain);

pub(super) fn positions(strings: ByteStrings<'_>, sign: u64) -> Result<Option<(usize, usize)>, KernelError> {
    with_source!(strings, |source| strings::positions(source, sign))
}
