//! Values of Python as literals and keys, and values of Lath as objects of Python.

mod key;
mod literal;
mod moment;
mod scalar;

pub(crate) use key::KeyFields;
pub(crate) use literal::{literal, literals};
pub(crate) use scalar::value;
