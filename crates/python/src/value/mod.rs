//! Converts Python values to literals and keys, and values of Lath to Python objects.

mod key;
mod literal;
mod moment;
mod scalar;

pub(crate) use key::KeyFields;
pub(crate) use literal::{literal, literals};
pub(crate) use scalar::value;
