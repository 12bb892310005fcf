//! Positions and mistakes in the text of statements.

mod caret;
mod lines;
mod mistake;

pub(crate) use self::lines::Lines;
pub use self::mistake::Mistake;
pub(crate) use self::mistake::{located, only_occurrence, token_len};
