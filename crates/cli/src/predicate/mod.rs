//! SQL's WHERE over record batches.
//!
//! An expression goes three steps: `parse` reads the text, `bind` settles columns and types against a file's schema, so
//! that nothing can go wrong with a row, and `eval` runs kernels over batches. Literals are placed exactly among the
//! values of the column's type: `small_integer < 1e9` and `decimal = 1.005` neither overflow nor round.

mod bind;
mod column;
mod eval;
mod moment;
mod number;
mod parse;
mod place;
mod syntax;
#[cfg(test)]
mod tests;

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::Schema;
use arrow_select::filter::prep_null_mask_filter;

use bind::Test;
use column::Column;
use syntax::{ColumnName, Condition, Operand};

use crate::failure::{Failure, Result};

/// An expression that holds for a row, or does not.
#[derive(Debug)]
pub(crate) struct Predicate(Condition);

/// A predicate for batches of one schema.
#[derive(Debug)]
pub(crate) struct BoundPredicate(Test);

impl Predicate {
    /// Reads an SQL expression.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(Self).map_err(usage)
    }

    /// The paths of the columns that the expression needs.
    pub(crate) fn columns(&self, schema: &Schema) -> Result<Vec<String>> {
        let mut names = Vec::new();
        collect(&self.0, &mut names);
        let mut paths: Vec<String> = names
            .into_iter()
            .map(|name| Column::resolve(name, schema).map(|column| column.path))
            .collect::<Result<_, _>>()
            .map_err(usage)?;
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }

    /// Settles columns and types.
    pub(crate) fn bind(&self, schema: &Schema) -> Result<BoundPredicate> {
        bind::bind(&self.0, schema).map(BoundPredicate).map_err(usage)
    }
}

impl BoundPredicate {
    /// The rows for which the expression is true, which excludes those for which it is null.
    pub(crate) fn rows(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let result = self.0.evaluate(batch).map_err(|error| usage(error.to_string()))?;
        Ok(if result.null_count() > 0 { prep_null_mask_filter(&result) } else { result })
    }
}

fn usage(message: String) -> Failure {
    Failure::Usage(format!("--where: {message}"))
}

fn collect<'a>(condition: &'a Condition, names: &mut Vec<&'a ColumnName>) {
    let mut operand = |operand: &'a Operand| {
        if let Operand::Column(name) = operand {
            names.push(name);
        }
    };
    match condition {
        Condition::And(conditions) | Condition::Or(conditions) => {
            for condition in conditions {
                collect(condition, names);
            }
        }
        Condition::Not(condition) | Condition::Is(condition, _) => collect(condition, names),
        Condition::Compare { left, right, .. } => {
            operand(left);
            operand(right);
        }
        Condition::Like { operand: value, .. } | Condition::IsNull(value) | Condition::Truth(value) => operand(value),
    }
}
