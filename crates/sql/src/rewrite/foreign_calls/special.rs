//! Calls whose arguments decide on the expression.

use datafusion::sql::sqlparser::ast::{
    Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, OrderByExpr, Spanned,
    Value,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::{Rewrite, arguments, indexed_elements, template, text};
use crate::dialect::error_at;
use crate::syntax::call;

/// Whether a function may be replaced here.
pub(super) fn is_known(name: &str) -> bool {
    let is_of_list = name.strip_prefix("list_").is_some_and(|aggregate| LIST_AGGREGATES.contains(&aggregate));
    is_of_list
        || matches!(
            name,
            "struct_pack"
                | "list_value"
                | "list_pack"
                | "array_value"
                | "quantile"
                | "quantile_disc"
                | "quantile_cont"
                | "percentile_disc"
                | "like_escape"
                | "ilike_escape"
                | "list_aggregate"
                | "list_aggr"
                | "array_aggregate"
                | "regexp_extract"
                | "list_where"
                | "array_where"
                | "list_select"
                | "array_select"
                | "list_grade_up"
                | "array_grade_up"
                | "map_from_entries"
                | "list_concat"
                | "list_cat"
                | "array_concat"
                | "array_cat"
        )
}

/// The expression of a call; `None` if it stays.
pub(super) fn replacement(name: &str, function: &Function, rewrite: Rewrite) -> Result<Option<Expr>, ParserError> {
    let place = function.name.span().start;
    match name {
        "struct_pack" => struct_pack(function).map(Some),
        "list_value" | "list_pack" | "array_value" => again(renamed(function, "make_array"), rewrite),
        // A null is no list to add.
        "list_concat" | "list_cat" | "array_concat" | "array_cat" => {
            let arguments = arguments(function).unwrap_or_default();
            let lists: Vec<Expr> = arguments.iter().copied().filter(|list| !is_null(list)).cloned().collect();
            Ok((!lists.is_empty() && lists.len() < arguments.len()).then(|| call("array_concat", lists)))
        }
        "regexp_extract" => match arguments(function).as_deref() {
            Some([value, pattern, Expr::Array(names), rest @ ..]) => {
                named_groups(value, pattern, names, rest).map(Some)
            }
            _ => Ok(None),
        },
        "quantile" => again(renamed(function, "quantile_disc"), rewrite),
        "percentile_disc" => percentile(function, rewrite),
        "quantile_disc" | "quantile_cont" => quantiles(name, function, rewrite),
        "like_escape" | "ilike_escape" => match arguments(function).as_deref() {
            Some([value, pattern, escape]) => like(name == "ilike_escape", value, pattern, escape).map(Some),
            _ => Err(error_at(&format!("{name} takes a text, a pattern and an escape character"), place)),
        },
        "list_aggregate" | "list_aggr" | "array_aggregate" => match arguments(function).as_deref() {
            Some([list, name, rest @ ..]) if text(name).is_some() => {
                let name = text(name).unwrap_or_default();
                list_aggregate(name, list, rest, rewrite).map(Some)
            }
            _ => Err(error_at(&format!("{name} takes a list and the name of an aggregate in quotes"), place)),
        },
        "list_where" | "array_where" | "list_select" | "array_select" | "list_grade_up" | "array_grade_up"
        | "map_from_entries" => indexed_elements::element_expression(name, function, rewrite),
        _ if indexed_elements::has_number(name, function) => indexed_elements::replacement(name, function, rewrite),
        _ => match name.strip_prefix("list_") {
            Some(aggregate) if LIST_AGGREGATES.contains(&aggregate) => match arguments(function).as_deref() {
                Some([list, rest @ ..]) => list_aggregate(aggregate, list, rest, rewrite).map(Some),
                _ => Ok(None),
            },
            _ => Ok(None),
        },
    }
}

/// Aggregates that DataFusion has no function over lists for.
const LIST_AGGREGATES: [&str; 17] = [
    "median",
    "mode",
    "string_agg",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "var_pop",
    "var_samp",
    "variance",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "approx_count_distinct",
    "histogram",
    "entropy",
];

/// An aggregate over the elements of a list.
fn list_aggregate(name: &str, list: &Expr, rest: &[&Expr], rewrite: Rewrite) -> Result<Expr, ParserError> {
    match (name, rest) {
        ("sum" | "avg" | "min" | "max" | "product" | "count" | "first" | "last" | "any_value", []) => {
            let function = match name {
                "min" => "array_min",
                "max" => "array_max",
                "any_value" => "list_any_value",
                "count" => return template::filled("cardinality(array_compact($1))", &[list], rewrite),
                "first" => return template::filled("array_element($1, 1)", &[list], rewrite),
                "last" => return template::filled("array_element($1, -1)", &[list], rewrite),
                "avg" => "list_avg",
                "product" => "list_product",
                _ => "list_sum",
            };
            Ok(call(function, vec![list.clone()]))
        }
        ("string_agg" | "group_concat" | "listagg", []) => joined(list, &literal(","), rewrite),
        ("string_agg" | "group_concat" | "listagg", [separator]) => joined(list, separator, rewrite),
        (_, []) if name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_') => {
            template::filled(
                &format!("(SELECT {name}(element) FROM unnest($1) AS elements(element))"),
                &[list],
                rewrite,
            )
        }
        _ => Err(error_at(
            "this aggregate of a list takes no other arguments; write a subquery over unnest(list)",
            list.span().start,
        )),
    }
}

/// The texts of a list in one; null if it has none.
fn joined(list: &Expr, separator: &Expr, rewrite: Rewrite) -> Result<Expr, ParserError> {
    let text = "CASE WHEN cardinality(array_compact($1)) > 0 THEN array_to_string($1, $2) END";
    template::filled(text, &[list, separator], rewrite)
}

/// `struct_pack(a := 1)` as `named_struct('a', 1)`.
fn struct_pack(function: &Function) -> Result<Expr, ParserError> {
    let FunctionArguments::List(list) = &function.args else { return Ok(Expr::Function(function.clone())) };
    let mut fields = Vec::new();
    for argument in &list.args {
        match argument {
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                fields.extend([literal(&name.value), value.clone()]);
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(column))) => {
                fields.extend([literal(&column.value), Expr::Identifier(column.clone())]);
            }
            other => {
                let message = format!("struct_pack takes named values, as struct_pack(a := 1), and not {other}");
                return Err(error_at(&message, function.name.span().start));
            }
        }
    }
    Ok(call("named_struct", fields))
}

/// `regexp_extract(text, pattern, ['a', 'b'])` as a struct of the groups.
fn named_groups(value: &Expr, pattern: &Expr, names: &Array, rest: &[&Expr]) -> Result<Expr, ParserError> {
    let mut fields = Vec::new();
    for (at, name) in names.elem.iter().enumerate() {
        let group = Expr::value(Value::Number((at + 1).to_string(), false));
        let arguments = [value, pattern, &group].into_iter().chain(rest.iter().copied()).cloned().collect();
        fields.extend([name.clone(), call("regexp_extract", arguments)]);
    }
    Ok(call("named_struct", fields))
}

/// `percentile_disc(0.5) WITHIN GROUP (ORDER BY x)` as `quantile_disc(x, 0.5)`.
fn percentile(function: &Function, rewrite: Rewrite) -> Result<Option<Expr>, ParserError> {
    let arguments = arguments(function);
    let (Some([quantile]), [OrderByExpr { expr, options, .. }]) =
        (arguments.as_deref(), function.within_group.as_slice())
    else {
        return Err(error_at("write percentile_disc(0.5) WITHIN GROUP (ORDER BY x)", function.name.span().start));
    };
    let quantile = match options.asc {
        Some(false) => {
            return Err(error_at(
                "percentile_disc is in ascending order here; leave out DESC, and subtract the fraction from 1",
                expr.span().start,
            ));
        }
        _ => (*quantile).clone(),
    };
    let mut renamed = renamed(function, "quantile_disc");
    renamed.within_group.clear();
    if let FunctionArguments::List(list) = &mut renamed.args {
        list.args = [expr.clone(), quantile].map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))).to_vec();
    }
    again(renamed, rewrite)
}

/// Quantiles of several fractions are a list.
fn quantiles(name: &str, function: &Function, rewrite: Rewrite) -> Result<Option<Expr>, ParserError> {
    let arguments = arguments(function);
    let Some([value, fraction]) = arguments.as_deref() else { return Ok(None) };
    let fractions = match fraction {
        Expr::Array(Array { elem, .. }) => elem.as_slice(),
        other => std::slice::from_ref(*other),
    };
    if let Some(wrong) = fractions.iter().find(|fraction| fraction.to_string().starts_with('-')) {
        return Err(error_at("the fraction of a quantile is between 0 and 1", wrong.span().start));
    }
    if !matches!(fraction, Expr::Array(_)) {
        return Ok(None);
    }
    let single = |fraction: &Expr| {
        let mut single = renamed(function, name);
        if let FunctionArguments::List(FunctionArgumentList { args, .. }) = &mut single.args {
            args[1] = FunctionArg::Unnamed(FunctionArgExpr::Expr(fraction.clone()));
        }
        again(single, rewrite).map(|single| single.unwrap_or_else(|| (*fraction).clone()))
    };
    let all = fractions.iter().map(single).collect::<Result<Vec<Expr>, ParserError>>()?;
    let list = call("make_array", all);
    let mut count = renamed(function, "count");
    if let FunctionArguments::List(FunctionArgumentList { args, .. }) = &mut count.args {
        args[0] = FunctionArg::Unnamed(FunctionArgExpr::Expr((*value).clone()));
        args.truncate(1);
    }
    template::filled("CASE WHEN $1 > 0 THEN $2 END", &[&Expr::Function(count), &list], rewrite).map(Some)
}

/// Rewrites a call as if the statement had it.
fn again(function: Function, rewrite: Rewrite) -> Result<Option<Expr>, ParserError> {
    let mut expr = Expr::Function(function);
    super::rewrite(&mut expr, rewrite)?;
    Ok(Some(expr))
}

fn renamed(function: &Function, name: &str) -> Function {
    let mut renamed = function.clone();
    let span = function.name.span();
    renamed.name = vec![datafusion::sql::sqlparser::ast::Ident::with_span(span, name)].into();
    renamed
}

fn like(is_insensitive: bool, value: &Expr, pattern: &Expr, escape: &Expr) -> Result<Expr, ParserError> {
    let Some(character) = text(escape) else {
        return Err(error_at("the escape character has to be a literal", escape.span().start));
    };
    let (negated, any) = (false, false);
    let (expr, pattern) = (Box::new(value.clone()), Box::new(pattern.clone()));
    let escape_char = Some(Value::SingleQuotedString(character.to_owned()).into());
    let mut like = match is_insensitive {
        true => Expr::ILike { negated, any, expr, pattern, escape_char },
        false => Expr::Like { negated, any, expr, pattern, escape_char },
    };
    crate::rewrite::values::patterns::rewrite(&mut like)?;
    Ok(like)
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

fn literal(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}
