//! Columns of `excluded`, the row that was to be inserted, which the INSERT does not name: they have their defaults.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::str::FromStr;

use arrow_schema::DataType;
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::sql::sqlparser::ast::{DoUpdate, Expr, Insert, Query, Visit, Visitor};

use super::quoted;
use crate::change::derived::select_from;
use crate::computed::Computation;
use crate::dialect::normal;
use crate::keyed::KeyedTable;

const EXCLUDED: &str = "excluded";

/// Columns of the rows to insert with their defaults.
pub(super) struct Defaults {
    /// Quoted names of columns that the INSERT names.
    given: Vec<String>,
    /// Quoted names of other columns, and expressions for them.
    others: Vec<(String, String)>,
    /// Generated columns, with their expressions.
    generated: Vec<(String, String)>,
}

impl Defaults {
    /// The columns that the update reads or that conflict, and the INSERT does not name.
    pub(super) fn new(insert: &Insert, update: &DoUpdate, unique: &[String], table: &KeyedTable) -> Self {
        let named: Vec<String> = insert
            .columns
            .iter()
            .filter_map(|name| name.0.last().and_then(|part| part.as_ident()).map(normal))
            .collect();
        let mut read = ExcludedColumns(unique.iter().cloned().collect());
        let _ = update.assignments.visit(&mut read);
        let _ = update.selection.visit(&mut read);
        let schema = table.schema();
        let is_generated =
            |name: &String| table.computed().iter().any(|column| column.name == *name && column.is_generated());
        let generated = table.computed().iter().filter(|column| read.0.contains(&column.name));
        let generated: Vec<(String, String)> = generated
            .filter_map(|column| match &column.computation {
                Computation::Generated(text) => {
                    let field = schema.field_with_name(&column.name).ok()?;
                    Some((quoted(&column.name), typed(&format!("({text})"), field.data_type())))
                }
                Computation::Identity { .. } => None,
            })
            .collect();
        if !generated.is_empty() {
            // Their expressions may read any other column.
            read.0.extend(schema.fields().iter().map(|field| field.name().clone()));
        }
        read.0.retain(|name| !is_generated(name));
        let others = read.0.into_iter().filter(|column| !named.is_empty() && !named.contains(column));
        let others = others.filter_map(|column| {
            let field = schema.field_with_name(&column).ok()?;
            let value = typed(table.default_text(&column).unwrap_or("NULL"), field.data_type());
            Some((quoted(&column), value))
        });
        Self { given: named.iter().map(|name| quoted(name)).collect(), others: others.collect(), generated }
    }

    /// The names of the columns that are not given.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.others.iter().map(|(name, _)| name.clone())
    }

    /// The names of the generated columns that the update reads or that conflict.
    pub(super) fn generated_names(&self) -> impl Iterator<Item = String> {
        self.generated.iter().map(|(name, _)| name.clone())
    }

    /// Adds the columns to a query for the given ones, and then generated columns, which are computed from all of these.
    pub(super) fn add_to(&self, source: Box<Query>) -> Result<Box<Query>> {
        let mut names = self.given.clone();
        let source = with_columns(source, &names, &self.others)?;
        names.extend(self.names());
        with_columns(source, &names, &self.generated)
    }
}

/// Adds columns to a query whose columns have the names `given`.
fn with_columns(source: Box<Query>, given: &[String], columns: &[(String, String)]) -> Result<Box<Query>> {
    if columns.is_empty() {
        return Ok(source);
    }
    let values = columns.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ");
    select_from(&format!("*, {values}"), source, EXCLUDED, given)
}

/// An expression as one of a type, if the type has a name that can be written.
pub(super) fn typed(value: &str, data_type: &DataType) -> String {
    let name = data_type.to_string();
    match DataType::from_str(&name) {
        Ok(parsed) if parsed == *data_type => format!("arrow_cast({value}, '{}')", name.replace('\'', "''")),
        _ => value.to_owned(),
    }
}

/// The columns of `excluded` that expressions read.
struct ExcludedColumns(BTreeSet<String>);

impl Visitor for ExcludedColumns {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [row, column] = parts.as_slice()
            && normal(row) == EXCLUDED
        {
            self.0.insert(normal(column));
        }
        ControlFlow::Continue(())
    }
}
