//! Columns whose values SQL gives: the keys of their metadata, and the check that nothing else puts rows with other values.

use crate::error::{Error, Result};
use crate::row::{GENERATED_KEY, TableSchema};
use crate::write::Transaction;

/// The metadata key of a column whose values are numbers of a sequence. Exports leave it out.
pub const IDENTITY_KEY: &str = "lath:identity";

impl Transaction {
    /// Tells the transaction that the rows which are put have values of generated columns ([`GENERATED_KEY`]), which no other caller can
    /// compute.
    pub fn computes_generated_columns(&mut self) {
        self.computes_generated = true;
    }

    /// Returns an error if the table has generated columns and the caller does not compute them.
    pub(crate) fn check_generated(&self, schema: &TableSchema) -> Result<()> {
        if self.computes_generated {
            return Ok(());
        }
        let fields = schema.arrow().fields();
        match fields.iter().find_map(|field| Some((field.name(), field.metadata().get(GENERATED_KEY)?))) {
            None => Ok(()),
            Some((column, expression)) => {
                Err(Error::Generated { column: column.clone(), expression: expression.clone() })
            }
        }
    }
}
