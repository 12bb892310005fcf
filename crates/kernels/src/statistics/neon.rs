//! The portable loops, compiled for Advanced SIMD.

use super::floats::{self, FloatRange};
use super::integers;
use crate::tier::neon;

integers::functions!(neon);
