//! The columns that `COLUMNS(…)` stands for.

use arrow_array::cast::AsArray;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, LambdaFunction, ObjectName, Value, ValueWithSpan,
};
use regex::Regex;

use super::FromColumn;
use super::star_options::StarOptions;
use crate::dialect::normal;

/// The name of the function.
pub(super) const COLUMNS: &str = "columns";

/// A column, its value, and what `\0` to `\9` stand for in its new name.
#[derive(Debug, Clone)]
pub(super) struct ColumnChoice {
    pub(super) column: FromColumn,
    pub(super) value: Expr,
    pub(super) groups: Vec<String>,
}

/// Chooses the columns of a call.
pub(super) async fn choose(state: &SessionState, call: &Function, columns: &[FromColumn]) -> Result<Vec<ColumnChoice>> {
    let whole = |column: &FromColumn| ColumnChoice {
        column: column.clone(),
        value: column.expr(),
        groups: vec![column.name.clone()],
    };
    let FunctionArguments::List(list) = &call.args else {
        return plan_err!("COLUMNS takes a pattern, as COLUMNS('^a')");
    };
    let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else {
        return plan_err!("COLUMNS takes one argument: a pattern, names in brackets, * or a function of the name");
    };
    let chosen: Vec<ColumnChoice> = match argument {
        FunctionArgExpr::Wildcard => columns.iter().map(whole).collect(),
        FunctionArgExpr::WildcardWithOptions(options) => {
            let options = StarOptions::new(options, columns)?;
            let chosen = columns.iter().filter(|column| !options.excludes(column));
            chosen.map(|column| ColumnChoice { value: options.value(column), ..whole(column) }).collect()
        }
        FunctionArgExpr::QualifiedWildcard(table) => {
            let table = last_name(table);
            columns.iter().filter(|column| column.table.as_deref() == Some(table.as_str())).map(whole).collect()
        }
        FunctionArgExpr::Expr(Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(pattern), .. })) => {
            let regex = Regex::new(pattern)
                .map_err(|error| plan_datafusion_err!("COLUMNS: the pattern {pattern} is wrong: {error}"))?;
            let group = |column: &FromColumn| {
                let captured = regex.captures(&column.name)?;
                let groups = captured
                    .iter()
                    .map(|group| group.map_or(String::new(), |group| group.as_str().to_owned()))
                    .collect();
                Some(ColumnChoice { groups, ..whole(column) })
            };
            columns.iter().filter_map(group).collect()
        }
        FunctionArgExpr::Expr(Expr::Array(names)) => {
            let mut chosen = Vec::new();
            for name in &names.elem {
                let name = match name {
                    Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(name), .. }) => name.clone(),
                    Expr::Identifier(name) => normal(name),
                    other => return plan_err!("COLUMNS: {other} is not the name of a column in quotes"),
                };
                match columns.iter().find(|column| column.name == name) {
                    Some(column) => chosen.push(whole(column)),
                    None => return plan_err!("COLUMNS: there is no column {name:?}"),
                }
            }
            chosen
        }
        FunctionArgExpr::Expr(Expr::Lambda(lambda)) => {
            let mut chosen = Vec::new();
            for (column, is_chosen) in columns.iter().zip(test_names(state, lambda, columns).await?) {
                if is_chosen {
                    chosen.push(whole(column));
                }
            }
            chosen
        }
        FunctionArgExpr::Expr(other) => {
            return plan_err!(
                "COLUMNS takes a pattern, names in brackets, * or a function of the name, and not {other}"
            );
        }
    };
    if chosen.is_empty() {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        return plan_err!("{call} stands for no column; there are {}", names.join(", "));
    }
    Ok(chosen)
}

/// Evaluates a function for the names of the columns.
async fn test_names(state: &SessionState, lambda: &LambdaFunction, columns: &[FromColumn]) -> Result<Vec<bool>> {
    let params: Vec<String> = lambda.params.iter().map(ToString::to_string).collect();
    let [parameter] = params.as_slice() else { return plan_err!("COLUMNS takes a function of one name") };
    let rows: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| format!("({at}, '{}')", column.name.replace('\'', "''")))
        .collect();
    let text = format!(
        "SELECT coalesce({}, false) FROM (VALUES {}) AS names(at, {parameter}) ORDER BY at",
        lambda.body,
        rows.join(", ")
    );
    let Some(statement) = crate::grammar::parse(&text)?.pop_front() else { return Ok(Vec::new()) };
    let plan = state.statement_to_plan(statement).await?;
    let batches = DataFrame::new(state.clone(), plan).collect().await?;
    let mut answers = Vec::new();
    for batch in &batches {
        let Some(values) = batch.column(0).as_boolean_opt() else {
            return plan_err!("COLUMNS takes a function that is true or false, and not {}", lambda.body);
        };
        answers.extend(values.iter().map(|value| value == Some(true)));
    }
    Ok(answers)
}

pub(super) fn last_name(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(normal).unwrap_or_default()
}
