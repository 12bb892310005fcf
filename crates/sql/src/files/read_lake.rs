//! `delta('events/', version => 3)` and `iceberg('orders/', timestamp => '2026-11-28 12:00')`: a table of Delta Lake or Iceberg at a version.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::planner::{RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, TableFactor, Value, ValueWithSpan};
use lath_lake::{At, LakeOptions};
use lath_parquet::{DatasetOptions, FolderFormat, Runtime};

use super::lake_table::LakeTable;
use super::read_parquet::{column, text};
use super::table::FileColumns;
use super::table_function;
use crate::error::external;

/// The functions, and the format of the tables that each reads.
const FUNCTIONS: [(&str, FolderFormat); 2] = [("delta", FolderFormat::DeltaLake), ("iceberg", FolderFormat::Iceberg)];

/// Plans calls of the functions.
#[derive(Debug)]
pub(crate) struct ReadLake {
    pub(crate) runtime: Runtime,
}

/// The arguments of a call.
#[derive(Debug)]
struct Arguments {
    function: &'static str,
    format: FolderFormat,
    location: String,
    at: Option<At>,
    file_columns: FileColumns,
}

impl RelationPlanner for ReadLake {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let Some((name, format, arguments)) = table_function::called(&relation, &FUNCTIONS) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let arguments = Arguments::parse(name, format, arguments, context)?;
        table_function::plan(name, relation, || arguments.open(&self.runtime))
    }
}

impl Arguments {
    fn parse(
        function: &'static str,
        format: FolderFormat,
        arguments: &[FunctionArg],
        context: &dyn RelationPlannerContext,
    ) -> Result<Self> {
        let (mut location, mut at, mut file_columns) = (None, None, FileColumns::default());
        for argument in arguments {
            let (name, value) = table_function::named(function, argument, context)?;
            let chosen = match (name.as_deref(), format) {
                (None, _) => {
                    let Some(text) = text(value).filter(|_| location.is_none()) else {
                        return plan_err!("{function}: name the folder or URL of one table");
                    };
                    location = Some(text.to_owned());
                    continue;
                }
                (Some("file_name"), _) => {
                    file_columns.file_name = column(function, "file_name", value)?;
                    continue;
                }
                (Some("row_number"), _) => {
                    file_columns.row_number = column(function, "row_number", value)?;
                    continue;
                }
                (Some("version"), FolderFormat::DeltaLake) | (Some("snapshot"), FolderFormat::Iceberg) => number(value),
                (Some("timestamp"), _) => {
                    text(value).and_then(|text| text.parse().ok()).filter(|at| matches!(at, At::Time(_)))
                }
                (Some("branch" | "tag"), FolderFormat::Iceberg) => text(value).map(|text| At::Name(text.to_owned())),
                (Some(other), _) => {
                    let own = if format == FolderFormat::Iceberg {
                        "snapshot, timestamp, branch, tag"
                    } else {
                        "version, timestamp"
                    };
                    return plan_err!(
                        "{function}: unknown argument {other}; the arguments are {own}, file_name and row_number"
                    );
                }
            };
            let Some(chosen) = chosen else {
                return plan_err!("{function}: {value} is not a {}", name.unwrap_or_default());
            };
            if at.replace(chosen).is_some() {
                return plan_err!("{function}: the version of the table is given twice");
            }
        }
        let Some(location) = location else { return plan_err!("{function}: name the folder or URL of a table") };
        Ok(Self { function, format, location, at, file_columns })
    }

    fn open(self, runtime: &Runtime) -> Result<Arc<dyn TableProvider>> {
        let options = LakeOptions::new().dataset(DatasetOptions::new().runtime(runtime));
        let options = self.at.into_iter().fold(options, LakeOptions::at);
        let (function, location) = (self.function, &self.location);
        let version = lath_lake::open_version(location, &options).map_err(external)?;
        if version.format() != self.format {
            return plan_err!("{function}: {location} is {}, not {}", version.format(), self.format);
        }
        Ok(Arc::new(LakeTable::new(version, location, runtime, self.file_columns)?))
    }
}

/// The version that a number is.
fn number(expr: &Expr) -> Option<At> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.parse().ok().map(At::Version),
        _ => None,
    }
}
