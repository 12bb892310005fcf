//! `read_parquet('trips/', union => true, file_name => true)`: files as a table, with options; `read_catalog('lake.catalog')`: the files of
//! a catalog.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::planner::{RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, TableFactor, UnaryOperator, Value, ValueWithSpan};
use lath_parquet::DatasetOptions;

use super::catalog_table::{CatalogTable, open_locations};
use super::table::FileColumns;
use super::table_function;
use crate::table_opening::TableOpening;

const READ_PARQUET: &str = "read_parquet";
/// The other name of the function in DuckDB.
const PARQUET_SCAN: &str = "parquet_scan";
const READ_CATALOG: &str = "read_catalog";

/// Plans calls of the functions.
#[derive(Debug)]
pub(crate) struct ReadParquet {
    pub(crate) opening: TableOpening,
}

/// The arguments of a call.
#[derive(Debug, Default, PartialEq)]
struct Arguments {
    function: &'static str,
    locations: Vec<String>,
    union: bool,
    partitions: bool,
    plain_files: bool,
    file_name: Option<String>,
    row_number: Option<String>,
}

impl RelationPlanner for ReadParquet {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let Some((name, (), arguments)) =
            table_function::called(&relation, &[(READ_PARQUET, ()), (PARQUET_SCAN, ()), (READ_CATALOG, ())])
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let arguments = Arguments::parse(name, arguments, context)?;
        table_function::plan(name, relation, || arguments.open(&self.opening))
    }
}

impl Arguments {
    fn parse(function: &'static str, arguments: &[FunctionArg], context: &dyn RelationPlannerContext) -> Result<Self> {
        let mut parsed = Self { function, partitions: true, ..Self::default() };
        for argument in arguments {
            let (name, value) = table_function::named(function, argument, context)?;
            match name.as_deref() {
                None => parsed.locations.extend(locations(function, value)?),
                Some("union" | "union_by_name") => parsed.union = switch(function, "union", value)?,
                Some("partitions" | "hive_partitioning") => parsed.partitions = switch(function, "partitions", value)?,
                Some("plain_files") => parsed.plain_files = switch(function, "plain_files", value)?,
                // The column has the name of the argument.
                Some(name @ ("file_name" | "filename")) => parsed.file_name = column(function, name, value)?,
                Some(name @ ("row_number" | "file_row_number")) => parsed.row_number = column(function, name, value)?,
                Some(other) => {
                    return plan_err!(
                        "{function}: unknown argument {other}; the arguments are union, partitions, plain_files, file_name and row_number"
                    );
                }
            }
        }
        if function == READ_CATALOG && parsed.locations.len() != 1 {
            return plan_err!("{READ_CATALOG}: name the file of one catalog");
        }
        if parsed.locations.is_empty() {
            return plan_err!(
                "{READ_PARQUET}: name a file, a folder, a glob or a URL, or several: ['a.parquet', 'b/']"
            );
        }
        Ok(parsed)
    }

    fn open(&self, opening: &TableOpening) -> Result<Arc<dyn TableProvider>> {
        let options =
            DatasetOptions::new().union_schemas(self.union).partitions(self.partitions).plain_files(self.plain_files);
        let (file_name, row_number) = (self.file_name.clone(), self.row_number.clone());
        match self.locations.as_slice() {
            [path] if self.function == READ_CATALOG => {
                let table = CatalogTable::open(path, options, &opening.runtime)?;
                Ok(Arc::new(table.with_file_columns(file_name, row_number)?))
            }
            locations => open_locations(locations, options, opening, FileColumns { file_name, row_number }),
        }
    }
}

pub(super) fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text),
        _ => None,
    }
}

pub(super) fn locations(function: &str, expr: &Expr) -> Result<Vec<String>> {
    let all = match expr {
        Expr::Array(array) => array.elem.iter().map(text).collect(),
        one => text(one).map(|text| vec![text]),
    };
    let all: Option<Vec<&str>> = all;
    let Some(all) = all else { return plan_err!("{function}: {expr} is not the name of a file") };
    Ok(all.into_iter().map(str::to_owned).collect())
}

pub(super) fn boolean(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Boolean(is_on), .. }) => Some(*is_on),
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) if number == "1" => Some(true),
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) if number == "0" => Some(false),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => boolean(expr).map(|is_on| !is_on),
        _ => None,
    }
}

fn switch(function: &str, name: &str, expr: &Expr) -> Result<bool> {
    boolean(expr).map_or_else(|| plan_err!("{function}: {name} has to be true or false, not {expr}"), Ok)
}

/// Parses an argument that adds a column: true, false or the column's name.
pub(super) fn column(function: &str, name: &str, expr: &Expr) -> Result<Option<String>> {
    match (boolean(expr), text(expr)) {
        (Some(is_wanted), _) => Ok(is_wanted.then(|| name.to_owned())),
        (_, Some(text)) => Ok(Some(text.to_owned())),
        _ => plan_err!("{function}: {name} has to be true, false or the name of the column, not {expr}"),
    }
}
