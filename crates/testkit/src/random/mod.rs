//! Random Parquet files: schema, values and writer properties from one stream of random numbers, written by the
//! `parquet` crate.

mod column;
mod file;
mod keys;
mod properties;
mod schema;
mod text;

pub use column::{array, record_batch};
pub use file::{FileShape, RandomFile, until_written};
pub use properties::{leaf_columns, writer_properties};
pub use schema::{SchemaShape, leaf_type, schema};

/// One of `choices`, all equally likely.
fn pick<T: Copy>(random: &mut fastrand::Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}
