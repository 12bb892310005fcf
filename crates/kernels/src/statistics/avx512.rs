//! The portable loops, compiled for 512-bit registers, which have minima and maxima of 64 bits.

use super::floats::{self, FloatRange};
use super::integers;
use crate::tier::avx512;

integers::functions!(avx512);
