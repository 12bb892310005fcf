//! Functions of DuckDB that are expressions of functions here. The expressions are what another process executes, too.
//!
//! | module | functions |
//! | --- | --- |
//! | `aggregates` | aggregates, which keep FILTER, DISTINCT and OVER |
//! | `indexed_elements` | functions of elements and their numbers |
//! | `interval_values` | values of intervals |
//! | `dates` | dates, times and intervals |
//! | `lists` | lists, structs and maps |
//! | `numbers` | numbers and conditions |
//! | `texts` | texts and patterns |
//! | `special` | calls whose arguments decide on the expression |
//! | `template` | parses the expressions and inserts the arguments |

mod aggregates;
mod dates;
mod indexed_elements;
mod interval_values;
mod lists;
mod numbers;
mod special;
mod template;
mod texts;

pub(crate) use interval_values::interval_values;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    UnaryOperator, Value, ValueWithSpan,
};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::normal;

/// Applies the rewrites of a statement to an expression of the tables.
pub(crate) type Rewrite = fn(&mut Expr) -> Result<(), ParserError>;

/// A function, the number of its arguments, and its expression, in which `$1` is the first argument.
type Template = (&'static str, usize, &'static str);

/// Whether a call is replaced, so that its column needs the name of the text.
pub(crate) fn is_rewritten(function: &Function) -> bool {
    let Some(name) = name(function) else { return function.name.0.len() >= 2 };
    let Some(count) = argument_count(function) else { return special::is_known(&name) };
    find(&name, count).is_some() || special::is_known(&name) || indexed_elements::has_number(&name, function)
}

/// Whether an operator is replaced by a function.
pub(crate) fn is_rewritten_operator(operator: &BinaryOperator) -> bool {
    // DataFusion names both directions of `@>` alike.
    matches!(
        operator,
        BinaryOperator::DuckIntegerDivide
            | BinaryOperator::PGOverlap
            | BinaryOperator::PGStartsWith
            | BinaryOperator::AtArrow
            | BinaryOperator::ArrowAt
    )
}

/// Replaces calls of functions in the tables, and `value.function(…)`.
pub(crate) fn rewrite(expr: &mut Expr, rewrite_parsed: Rewrite) -> Result<(), ParserError> {
    let filled = |text, operands: &[&Expr]| template::filled(text, operands, rewrite_parsed);
    let replaced = match expr {
        Expr::Function(function) => {
            method(function);
            let Some(name) = name(function) else { return Ok(()) };
            match special::replacement(&name, function, rewrite_parsed)? {
                Some(replaced) => Some(replaced),
                None => match argument_count(function).and_then(|count| find(&name, count)) {
                    Some((text, is_aggregate)) => Some(template::fill(function, text, is_aggregate, rewrite_parsed)?),
                    None => None,
                },
            }
        }
        Expr::BinaryOp { left, op: BinaryOperator::DuckIntegerDivide, right } => {
            Some(filled("$1 / $2", &[left, right])?)
        }
        Expr::BinaryOp { left, op: BinaryOperator::PGOverlap, right } => {
            Some(filled("array_has_any($1, $2)", &[left, right])?)
        }
        Expr::BinaryOp { left, op: BinaryOperator::PGStartsWith, right } => {
            Some(filled("starts_with($1, $2)", &[left, right])?)
        }
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr: operand } => Some(filled("-1 - $1", &[&**operand])?),
        Expr::CompoundFieldAccess { .. } => method_chain(expr, rewrite_parsed),
        _ => None,
    };
    if let Some(replaced) = replaced {
        *expr = replaced;
    }
    Ok(())
}

/// The expression of a function with this number of arguments, and whether it is an aggregate.
fn find(name: &str, count: usize) -> Option<(&'static str, bool)> {
    let scalars = [dates::TEMPLATES, lists::TEMPLATES, numbers::TEMPLATES, texts::TEMPLATES];
    let find = |templates: &[Template]| {
        templates.iter().find(|(known, arguments, _)| *known == name && *arguments == count).map(|(_, _, text)| *text)
    };
    let scalar = scalars.into_iter().find_map(find).map(|text| (text, false));
    scalar.or_else(|| find(aggregates::TEMPLATES).map(|text| (text, true)))
}

/// Writes `value.function(…)` and `table.value.function(…)` as `function(value, …)`; functions have no schemas here.
fn method(function: &mut Function) {
    let parts: Option<Vec<Ident>> = function.name.0.iter().map(|part| part.as_ident().cloned()).collect();
    if let FunctionArguments::List(list) = &mut function.args
        && let Some((name, value)) = parts.as_deref().and_then(<[Ident]>::split_last)
    {
        let value = match value {
            [] => return,
            [column] => Expr::Identifier(column.clone()),
            parts => Expr::CompoundIdentifier(parts.to_vec()),
        };
        list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(value)));
        function.name = ObjectName::from(vec![name.clone()]);
    }
}

/// Writes `value.one(…).two(…)` as `two(one(value, …), …)`.
fn method_chain(expr: &Expr, rewrite_parsed: Rewrite) -> Option<Expr> {
    use datafusion::sql::sqlparser::ast::AccessExpr;
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let is_call = |access: &AccessExpr| matches!(access, AccessExpr::Dot(Expr::Function(_)));
    let first = access_chain.iter().position(is_call)?;
    let mut value = match first {
        0 => (**root).clone(),
        _ => Expr::CompoundFieldAccess { root: root.clone(), access_chain: access_chain[..first].to_vec() },
    };
    for access in &access_chain[first..] {
        value = match access {
            AccessExpr::Dot(Expr::Function(function)) => {
                let mut function = function.clone();
                if let FunctionArguments::List(list) = &mut function.args {
                    list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(value)));
                }
                let mut call = Expr::Function(function);
                rewrite(&mut call, rewrite_parsed).ok()?;
                call
            }
            other => Expr::CompoundFieldAccess { root: Box::new(value), access_chain: vec![other.clone()] },
        };
    }
    Some(value)
}

fn name(function: &Function) -> Option<String> {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] => Some(normal(name)),
        _ => None,
    }
}

/// The number of arguments, if none has a name.
fn argument_count(function: &Function) -> Option<usize> {
    arguments(function).map(|arguments| arguments.len())
}

/// The arguments, if all of them are expressions without names.
fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let expressions = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    expressions.collect()
}

/// The text of a literal.
fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text),
        _ => None,
    }
}
