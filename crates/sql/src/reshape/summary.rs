//! `SUMMARIZE`: a row for each column, with its least and greatest value, its average, quartiles, and how many values it has.

use arrow_schema::{DataType, Field};
use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement as SqlStatement};
use lath_text::is_uuid;

use super::source::Source;
use crate::functions::type_name;
use crate::grammar::parse;

/// The columns of the summary, and their expressions. `$1` is the column.
const STATISTICS: [(&str, &str); 10] = [
    ("min", "CAST(min($1) AS VARCHAR)"),
    ("max", "CAST(max($1) AS VARCHAR)"),
    ("approx_unique", "CAST(approx_distinct($1) AS BIGINT)"),
    ("avg", "CAST(avg(CAST($1 AS DOUBLE)) AS VARCHAR)"),
    ("std", "CAST(stddev(CAST($1 AS DOUBLE)) AS VARCHAR)"),
    ("q25", "CAST(quantile_cont(CAST($1 AS DOUBLE), 0.25e0) AS VARCHAR)"),
    ("q50", "CAST(quantile_cont(CAST($1 AS DOUBLE), 0.5e0) AS VARCHAR)"),
    ("q75", "CAST(quantile_cont(CAST($1 AS DOUBLE), 0.75e0) AS VARCHAR)"),
    ("count", "count(*)"),
    ("null_percentage", "CAST(100.0 * count(CASE WHEN $1 IS NULL THEN 1 END) / nullif(count(*), 0) AS DECIMAL(9, 2))"),
];

/// The query of a summary.
pub(super) async fn query(source: &Source<'_>) -> Result<Query> {
    let columns = source.columns().await?;
    if columns.is_empty() {
        return plan_err!("SUMMARIZE takes a table with columns");
    }
    let mut aggregates = Vec::new();
    let mut lists: Vec<Vec<String>> = vec![Vec::new(); STATISTICS.len()];
    for column in &columns {
        let name = format!("\"{}\"", column.name().replace('"', "\"\""));
        for (at, (statistic, text)) in STATISTICS.iter().enumerate() {
            if !has(statistic, column) {
                lists[at].push("NULL".to_owned());
                continue;
            }
            let alias = format!("\"{statistic} {}\"", aggregates.len());
            // DataFusion 55 counts distinct values of few types.
            let is_counted = column.data_type().is_integer() || column.data_type().is_string();
            let value = match *statistic == "approx_unique" && !is_counted {
                true => format!("CAST({name} AS VARCHAR)"),
                false => name.clone(),
            };
            aggregates.push(format!("{} AS {alias}", text.replace("$1", &value)));
            lists[at].push(alias);
        }
    }
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let names: Vec<String> = columns.iter().map(|column| literal(column.name())).collect();
    let types: Vec<String> = columns.iter().map(|column| literal(&type_name(column))).collect();
    let mut items = vec![
        format!("unnest([{}]) AS column_name", names.join(", ")),
        format!("unnest([{}]) AS column_type", types.join(", ")),
    ];
    for ((statistic, _), values) in STATISTICS.iter().zip(&lists) {
        let data_type = match *statistic {
            "approx_unique" | "count" => "BIGINT",
            "null_percentage" => "DECIMAL(9, 2)",
            _ => "VARCHAR",
        };
        let values: Vec<String> = values.iter().map(|value| format!("CAST({value} AS {data_type})")).collect();
        items.push(format!("unnest([{}]) AS \"{statistic}\"", values.join(", ")));
    }
    let text = format!("SELECT {} FROM (SELECT {} FROM the_table)", items.join(", "), aggregates.join(", "));
    let Some(Statement::Statement(statement)) = parse(&text)?.pop_front() else { return plan_err!("{text}") };
    let SqlStatement::Query(mut query) = *statement else { return plan_err!("{text}") };
    let inner = match query.body.as_mut() {
        SetExpr::Select(select) => select.from.first_mut().map(|from| &mut from.relation),
        _ => None,
    };
    if let Some(datafusion::sql::sqlparser::ast::TableFactor::Derived { subquery, .. }) = inner
        && let SetExpr::Select(select) = subquery.body.as_mut()
        && let Some(from) = select.from.first_mut()
    {
        from.relation = source.table();
    }
    Ok(*query)
}

/// Whether a column has a statistic.
fn has(statistic: &str, column: &Field) -> bool {
    match statistic {
        "avg" | "std" | "q25" | "q50" | "q75" => column.data_type().is_numeric(),
        "min" | "max" => has_text(column) && (is_uuid(column) || !column.data_type().is_binary()),
        "approx_unique" => has_text(column),
        _ => true,
    }
}

/// Whether values of a column can be cast to text.
fn has_text(column: &Field) -> bool {
    match column.data_type() {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            has_text(item) && (is_uuid(item) || !item.data_type().is_binary())
        }
        other => !other.is_nested() && *other != DataType::Null,
    }
}
