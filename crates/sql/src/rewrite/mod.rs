//! What makes DataFusion answer as SQL says, each with the version of DataFusion that needs it.

mod date_arithmetic;

pub(crate) use date_arithmetic::DateArithmetic;
