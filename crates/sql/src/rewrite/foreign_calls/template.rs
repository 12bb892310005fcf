//! Parses the expression of a function and inserts the arguments of a call.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArgumentList, FunctionArguments, Spanned, Value, ValueWithSpan, VisitMut,
    VisitorMut,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Span, TokenWithSpan, Tokenizer};

use super::{Rewrite, arguments, name};
use crate::dialect::{LathDialect, error_at};
use crate::syntax::is_volatile;

/// The aggregates of the expressions, which get the clauses of a call.
const AGGREGATES: [&str; 16] = [
    "count",
    "sum",
    "fsum",
    "avg",
    "min",
    "max",
    "first_value",
    "last_value",
    "array_agg",
    "string_agg",
    "approx_distinct",
    "approx_percentile_cont",
    "stddev_pop",
    "var",
    "percentile_cont",
    "value_counts",
];

/// Fills the expression of a function with the arguments of a call.
pub(super) fn fill(function: &Function, text: &str, is_aggregate: bool, rewrite: Rewrite) -> Result<Expr, ParserError> {
    let place = function.name.span();
    let arguments: Vec<&Expr> = arguments(function).unwrap_or_default();
    let mut filled = parse(text, place, rewrite)?;
    if is_aggregate {
        let mut clauses = Clauses { function };
        if let ControlFlow::Break(error) = VisitMut::visit(&mut filled, &mut clauses) {
            return Err(error);
        }
    } else if has_clauses(function) {
        let name = name(function).unwrap_or_default();
        let message = format!(
            "FILTER, OVER, DISTINCT and ORDER BY are for aggregates and window functions, and {name} is neither; leave them out"
        );
        return Err(error_at(&message, place.start));
    }
    insert(filled, text, &arguments, place)
}

/// Fills an expression with operands.
pub(super) fn filled(text: &str, arguments: &[&Expr], rewrite: Rewrite) -> Result<Expr, ParserError> {
    let place = arguments.first().map_or_else(Span::empty, |first| first.span());
    insert(parse(text, place, rewrite)?, text, arguments, place)
}

fn insert(mut filled: Expr, text: &str, arguments: &[&Expr], place: Span) -> Result<Expr, ParserError> {
    for (number, argument) in arguments.iter().enumerate() {
        let placeholder = format!("${}", number + 1);
        if text.matches(&placeholder).count() > 1 && is_volatile(*argument) {
            let message = "a value that differs each time cannot be an argument here; compute it in a subquery";
            return Err(error_at(message, place.start));
        }
    }
    let _ = VisitMut::visit(&mut filled, &mut Insertion { arguments });
    Ok(Expr::Nested(Box::new(filled)))
}

/// Parses an expression, with all of its parts at the place of the call, so that mistakes are shown there.
fn parse(text: &str, place: Span, rewrite: Rewrite) -> Result<Expr, ParserError> {
    let tokens = Tokenizer::new(&LathDialect, text).tokenize()?;
    let tokens = tokens.into_iter().map(|token| TokenWithSpan { token, span: place }).collect();
    let mut parsed = Parser::new(&LathDialect).with_tokens_with_locations(tokens).parse_expr()?;
    rewrite(&mut parsed)?;
    Ok(parsed)
}

struct Insertion<'a> {
    arguments: &'a [&'a Expr],
}

impl VisitorMut for Insertion<'_> {
    type Break = ();

    // Runs after the parts of an expression, so that arguments are not visited.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(ValueWithSpan { value: Value::Placeholder(name), .. }) = expr
            && let Some(argument) = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok())
            && let Some(argument) = argument.checked_sub(1).and_then(|at| self.arguments.get(at))
        {
            *expr = match argument {
                Expr::BinaryOp { .. } | Expr::UnaryOp { .. } => Expr::Nested(Box::new((*argument).clone())),
                _ => (*argument).clone(),
            };
        }
        ControlFlow::Continue(())
    }
}

/// Gives the clauses of a call to the aggregates of an expression.
struct Clauses<'f> {
    function: &'f Function,
}

impl VisitorMut for Clauses<'_> {
    type Break = ParserError;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<ParserError> {
        let Expr::Function(aggregate) = expr else { return ControlFlow::Continue(()) };
        if !name(aggregate).is_some_and(|name| AGGREGATES.contains(&name.as_str())) {
            return ControlFlow::Continue(());
        }
        let call = self.function;
        let FunctionArguments::List(own) = &mut aggregate.args else { return ControlFlow::Continue(()) };
        let FunctionArguments::List(FunctionArgumentList { duplicate_treatment, clauses, .. }) = &call.args else {
            return ControlFlow::Continue(());
        };
        let is_ordered = !own.clauses.is_empty();
        if is_ordered && (call.over.is_some() || !clauses.is_empty() || duplicate_treatment.is_some()) {
            let message = format!(
                "{} takes neither DISTINCT nor ORDER BY nor OVER here; use it in a subquery with GROUP BY",
                call.name
            );
            return ControlFlow::Break(error_at(&message, call.name.span().start));
        }
        if !is_ordered {
            own.clauses.extend(clauses.iter().cloned());
            own.duplicate_treatment = *duplicate_treatment;
        }
        aggregate.over.clone_from(&call.over);
        aggregate.null_treatment = call.null_treatment;
        aggregate.within_group.clone_from(&call.within_group);
        aggregate.filter = match (aggregate.filter.take(), &call.filter) {
            (Some(own), Some(given)) => {
                let (left, right) = (Box::new(Expr::Nested(own)), Box::new(Expr::Nested(given.clone())));
                Some(Box::new(Expr::BinaryOp { left, op: BinaryOperator::And, right }))
            }
            (own, given) => own.or_else(|| given.clone()),
        };
        ControlFlow::Continue(())
    }
}

/// Whether a call has more than arguments.
fn has_clauses(function: &Function) -> bool {
    function.over.is_some()
        || function.filter.is_some()
        || !function.within_group.is_empty()
        || matches!(&function.args, FunctionArguments::List(list) if list.duplicate_treatment.is_some() || !list.clauses.is_empty())
}
