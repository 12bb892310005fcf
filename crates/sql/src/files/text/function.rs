//! `read_csv('trips.csv', delim = ';')` and `read_json('trips.jsonl')`: files of text as a table, with the options of DuckDB.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, Schema};
use datafusion::common::{DFSchema, Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::ExprSchemable;
use datafusion::logical_expr::planner::{RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::{
    Array, DictionaryField, Expr, FunctionArg, TableFactor, UnaryOperator, Value, ValueWithSpan,
};
use lath_parquet::DatasetOptions;
use lath_text::{TextFormat, is_uuid};

use super::super::read_parquet::{boolean, locations, text};
use super::super::table_function;
use super::options::FileOptions;
use super::table::{ReadColumns, TextTable};
use crate::grammar::parse_type;

const FUNCTIONS: [(&str, TextFormat); 6] = [
    ("read_csv", TextFormat::Csv),
    ("read_csv_auto", TextFormat::Csv),
    ("read_json", TextFormat::JsonLines),
    ("read_json_auto", TextFormat::JsonLines),
    ("read_ndjson", TextFormat::JsonLines),
    ("read_ndjson_auto", TextFormat::JsonLines),
];

/// Functions of DuckDB about files, and what there is instead.
const OTHERS: [(&str, &str); 4] = [
    ("parquet_kv_metadata", "run lath meta FILE"),
    ("sniff_csv", "DESCRIBE 'FILE.csv'"),
    ("read_text", "text files without columns are not read"),
    ("read_blob", "files without columns are not read"),
];

/// Plans calls of the functions.
#[derive(Debug)]
pub(crate) struct ReadText;

impl RelationPlanner for ReadText {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if let Some((name, advice, _)) = table_function::called(&relation, &OTHERS) {
            return plan_err!("{name} is not supported: {advice}");
        }
        let Some((name, format, arguments)) = table_function::called(&relation, &FUNCTIONS) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let Arguments { locations, options, nulls, partitions, file_name, columns } =
            Arguments::parse(name, arguments, context)?;
        let mut options = FileOptions::parse(format, &options)?;
        options.text.nulls.extend(nulls);
        // As in DuckDB, the texts that are given as nulls are the only ones.
        options.text.empty_is_null = options.text.nulls.is_empty() || options.text.nulls.iter().any(String::is_empty);
        table_function::plan(name, relation, move || {
            let partitions = DatasetOptions::new().partitions(partitions);
            Ok(Arc::new(TextTable::read(locations, format, options, partitions, file_name, columns)?))
        })
    }
}

struct Arguments {
    locations: Vec<String>,
    options: HashMap<String, String>,
    /// Texts that are null.
    nulls: Vec<String>,
    partitions: bool,
    /// The name of a column with the file of each row.
    file_name: Option<String>,
    columns: ReadColumns,
}

impl Arguments {
    fn parse(function: &str, arguments: &[FunctionArg], context: &mut dyn RelationPlannerContext) -> Result<Self> {
        let mut parsed = Self {
            locations: Vec::new(),
            options: HashMap::new(),
            nulls: Vec::new(),
            partitions: true,
            file_name: None,
            columns: ReadColumns::Inferred,
        };
        for argument in arguments {
            let (name, value) = table_function::named(function, argument, context)?;
            let Some(name) = name else {
                parsed.locations.extend(locations(function, value)?);
                continue;
            };
            match name.as_str() {
                "hive_partitioning" | "partitions" => parsed.partitions = is_on(function, &name, value)?,
                "all_varchar" => {
                    if is_on(function, &name, value)? {
                        parsed.columns = ReadColumns::Texts;
                    }
                }
                "columns" => {
                    parsed.columns = ReadColumns::Declared(Arc::new(Schema::new(fields(function, value, context)?)));
                }
                "types" | "dtypes" | "column_types" => {
                    parsed.columns = ReadColumns::Some(fields(function, value, context)?);
                }
                "union_by_name" | "auto_detect" => {
                    // Files are united by the names of their columns, and options that are not given are detected.
                    if !is_on(function, &name, value)? {
                        return plan_err!("{function}: {name} cannot be turned off; leave it out");
                    }
                }
                "filename" | "file_name" => {
                    parsed.file_name = match (boolean(value), text(value)) {
                        (Some(true), _) => Some("filename".to_owned()),
                        (Some(false), _) => None,
                        (None, Some(name)) => Some(name.to_owned()),
                        (None, None) => {
                            return plan_err!(
                                "{function}: {name} has to be true, false or the name of a column, and not {value}"
                            );
                        }
                    };
                }
                "nullstr" | "null" | "null_value" if matches!(value, Expr::Array(_)) => {
                    let Expr::Array(Array { elem, .. }) = value else { continue };
                    for element in elem {
                        let Some(null) = literal(element) else {
                            return plan_err!("{function}: {name} has to be texts, and not {element}");
                        };
                        parsed.nulls.push(null);
                    }
                }
                "ignore_errors" | "null_padding" | "normalize_names" => {
                    if is_on(function, &name, value)? {
                        return plan_err!("{function}: {name} is not supported; leave it out");
                    }
                }
                "sample_size" => {
                    let rows = literal(value).filter(|rows| rows != "-1").unwrap_or_else(|| "all".to_owned());
                    parsed.options.insert("infer_rows".to_owned(), rows);
                }
                "format" => {
                    let format = literal(value).unwrap_or_default();
                    if !matches!(format.as_str(), "auto" | "newline_delimited" | "nd" | "ndjson") {
                        return plan_err!("{function}: JSON is read as one object per line, and not as {format}");
                    }
                }
                _ => {
                    let known = [
                        ("dateformat", "date_format"),
                        ("timestampformat", "timestamp_format"),
                        ("decimal_separator", "decimal"),
                    ];
                    let own = known.iter().find(|(foreign, _)| *foreign == name).map_or(name.as_str(), |(_, own)| own);
                    let Some(value) = literal(value) else {
                        return plan_err!(
                            "{function}: {name} has to be a text, a number, true or false, and not {value}"
                        );
                    };
                    parsed.options.insert(own.to_owned(), value);
                }
            }
        }
        if parsed.locations.is_empty() {
            return plan_err!("{function}: name a file, a folder, a glob or a URL, or several: ['a.csv', 'b.csv']");
        }
        Ok(parsed)
    }
}

fn is_on(function: &str, name: &str, value: &Expr) -> Result<bool> {
    boolean(value).map_or_else(|| plan_err!("{function}: {name} has to be true or false, not {value}"), Ok)
}

/// The text of a literal.
fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => Some(number.clone()),
        Expr::Value(ValueWithSpan { value: Value::Boolean(is_on), .. }) => Some(is_on.to_string()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => literal(expr).map(|number| format!("-{number}")),
        other => text(other).map(str::to_owned),
    }
}

/// The columns of `{'name': 'TYPE'}`.
fn fields(function: &str, value: &Expr, context: &mut dyn RelationPlannerContext) -> Result<Vec<Field>> {
    let Expr::Dictionary(fields) = value else {
        return plan_err!(
            "{function}: columns and their types are written as {{'name': 'BIGINT'}}, and not as {value}"
        );
    };
    let field = |DictionaryField { key, value }: &DictionaryField| {
        let Some(name) = text(value) else {
            return plan_err!("{function}: {value} is not the name of a type in quotes");
        };
        let null = context.sql_to_expr(parse_type(name)?, &DFSchema::empty())?;
        let field = null.to_field(&DFSchema::empty())?.1;
        if field.data_type() == &DataType::Null {
            return Err(plan_datafusion_err!("{function}: {name} is not a type"));
        }
        let own = Field::new(key.value.clone(), field.data_type().clone(), true);
        Ok(if is_uuid(&field) { own.with_extension_type(Uuid) } else { own })
    };
    fields.iter().map(field).collect()
}
