//! `DEFAULT` of columns: a value for existing rows, and an expression for rows that are inserted without the column.

use arrow_array::{Array, ArrayRef};
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::physical_plan::collect;
use datafusion::sql::sqlparser::ast::{ColumnDef, ColumnOption, DataType as SqlType};

use super::Definitions;
use crate::computed::{calls_sequence, named_sequences};
use crate::rewrite::UUID;
use crate::syntax::call;

/// The text of a column's default.
pub(super) fn default_text(def: &ColumnDef) -> Option<String> {
    def.options.iter().find_map(|option| match &option.option {
        ColumnOption::Default(expr) => Some(expr.to_string()),
        _ => None,
    })
}

/// Reads the default of a UUID column as a UUID.
pub(super) fn read_uuid_default(def: &mut ColumnDef) {
    if def.data_type != SqlType::Uuid {
        return;
    }
    for option in &mut def.options {
        if let ColumnOption::Default(expr) = &mut option.option {
            *expr = call(UUID, vec![expr.clone()]);
        }
    }
}

impl Definitions<'_> {
    /// Checks a default of a new table's column, whose value a sequence may give.
    pub(super) async fn check_default(&self, expr: Expr, field: &Field) -> Result<()> {
        for name in named_sequences(&expr)? {
            if !self.tables.transaction().sequences(&self.database()?)?.contains_key(&name) {
                return plan_err!(
                    "the default of column {:?} names the sequence {name:?}, which does not exist; CREATE SEQUENCE makes it",
                    field.name()
                );
            }
        }
        match calls_sequence(&expr)? {
            // Evaluated, it would take a number.
            true if field.data_type().is_integer() => Ok(()),
            true => plan_err!(
                "the default of column {:?} is a number of a sequence, and the column is {}; write BIGINT",
                field.name(),
                field.data_type()
            ),
            false => self.default_value(expr, field).await.map(drop),
        }
    }

    /// Evaluates a default. The column's type must represent the value exactly. Returns `None` for null.
    pub(super) async fn default_value(&self, expr: Expr, field: &Field) -> Result<Option<ArrayRef>> {
        let name = field.name();
        let query = LogicalPlanBuilder::empty(true).project([expr.alias("default")])?.build()?;
        let plan = self.state.create_physical_plan(&query).await?;
        let rows = collect(plan, self.state.task_ctx()).await?;
        let Some(value) = rows.iter().find(|batch| batch.num_rows() == 1).map(|batch| batch.column(0)) else {
            return plan_err!("the default of column {name:?} is not a single value");
        };
        if value.is_null(0) || value.data_type() == &DataType::Null {
            return Ok(None);
        }
        let misfit = || {
            let value = array_value_to_string(value, 0).unwrap_or_default();
            plan_datafusion_err!(
                "the default {value} of column {name:?} is not exactly representable as {}; choose another value",
                field.data_type()
            )
        };
        let options = CastOptions { safe: true, ..CastOptions::default() };
        let typed = cast_with_options(value, field.data_type(), &options).map_err(|_| misfit())?;
        // Only floats may be rounded, because their literals always are.
        let is_rounded =
            value.data_type().is_numeric() && field.data_type().is_numeric() && !field.data_type().is_floating();
        let is_exact =
            !is_rounded || cast_with_options(&typed, value.data_type(), &options)?.to_data() == value.to_data();
        if typed.is_null(0) || !is_exact {
            return Err(misfit());
        }
        Ok(Some(typed))
    }
}
