//! `USING SAMPLE 10%` and `TABLESAMPLE`: conditions on random numbers, and the first rows in a random order.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, NamedWindowDefinition, ObjectName, Query, Select, SetExpr, Spanned, TableAlias,
    TableFactor, TableSample, TableSampleKind, TableSampleQuantity, TableSampleUnit, VisitorMut,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Span;

use crate::dialect::{LathDialect, SAMPLE, error_at};

/// Replaces samples.
pub(super) struct Sampling;

/// The size of a sample.
#[derive(Debug, Clone, Copy)]
enum Size {
    Share(f64),
    Rows(u64),
}

impl Size {
    fn parse(number: &str, is_percent: bool, place: Span) -> Result<Self, ParserError> {
        let wrong =
            |_| error_at("the size of a sample is a percentage from 0 to 100, or a number of rows", place.start);
        if !is_percent {
            return number.parse().map(Self::Rows).map_err(|_| wrong(()));
        }
        match number.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Share(percent / 100.0)),
            _ => Err(wrong(())),
        }
    }
}

impl VisitorMut for Sampling {
    type Break = ParserError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<ParserError> {
        as_flow(sample_select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<ParserError> {
        as_flow(sample_table(factor))
    }
}

fn as_flow(result: Result<(), ParserError>) -> ControlFlow<ParserError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// Samples the rows of FROM, before WHERE.
fn sample_select(select: &mut Select) -> Result<(), ParserError> {
    let size = |NamedWindowDefinition(name, _): &NamedWindowDefinition| {
        name.quote_style.and(name.value.strip_prefix(SAMPLE)).map(str::to_owned)
    };
    let Some((at, size)) = select.named_window.iter().enumerate().find_map(|(at, window)| Some((at, size(window)?)))
    else {
        return Ok(());
    };
    let place = select.named_window.remove(at).0.span;
    let (number, unit) = size.split_once(' ').unwrap_or((&size, ""));
    match Size::parse(number, unit == "PERCENT", place)? {
        Size::Share(share) => {
            let is_chosen = parse_expr(&format!("random() < {share:e}"))?;
            select.selection = Some(match select.selection.take() {
                None => is_chosen,
                Some(condition) => Expr::BinaryOp {
                    left: Box::new(is_chosen),
                    op: BinaryOperator::And,
                    right: Box::new(Expr::Nested(Box::new(condition))),
                },
            });
            Ok(())
        }
        Size::Rows(rows) => match select.from.as_mut_slice() {
            [from] if from.joins.is_empty() => replace(&mut from.relation, Size::Rows(rows)),
            _ => Err(error_at(
                "a sample of so many rows is of one table; put the join into a subquery: FROM (SELECT …) USING SAMPLE 10 ROWS",
                place.start,
            )),
        },
    }
}

fn sample_table(factor: &mut TableFactor) -> Result<(), ParserError> {
    let place = factor.span();
    let (TableFactor::Table { sample, .. } | TableFactor::Derived { sample, .. }) = factor else { return Ok(()) };
    let Some(TableSampleKind::BeforeTableAlias(known) | TableSampleKind::AfterTableAlias(known)) = sample.as_ref()
    else {
        return Ok(());
    };
    let TableSample {
        quantity: Some(TableSampleQuantity { value, unit: Some(unit), .. }),
        seed: None,
        bucket: None,
        offset: None,
        ..
    } = known.as_ref()
    else {
        return Ok(());
    };
    let size = Size::parse(&value.to_string(), *unit == TableSampleUnit::Percent, place)?;
    *sample = None;
    replace(factor, size)
}

/// Replaces a table by a query for its sample, with the same name.
fn replace(factor: &mut TableFactor, size: Size) -> Result<(), ParserError> {
    let alias = match factor {
        TableFactor::Table { name, alias, .. } => alias.clone().or_else(|| last_name(name)),
        TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => alias.clone(),
        _ => None,
    };
    let text = match size {
        Size::Share(share) => format!("SELECT * FROM t WHERE random() < {share:e}"),
        Size::Rows(rows) => format!("SELECT * FROM t ORDER BY random() LIMIT {rows}"),
    };
    let subquery = query_from(&text, factor.clone())?;
    *factor = TableFactor::Derived { lateral: false, subquery: Box::new(subquery), alias, sample: None };
    Ok(())
}

/// The name of a table as its alias.
pub(super) fn last_name(name: &ObjectName) -> Option<TableAlias> {
    let name = name.0.last()?.as_ident()?.clone();
    // A name of files in single quotes is a name in double quotes.
    let name = if name.quote_style == Some('\'') { Ident::with_quote('"', name.value) } else { name };
    Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None })
}

/// Parses a query, and replaces its table.
pub(super) fn query_from(text: &str, factor: TableFactor) -> Result<Query, ParserError> {
    let mut query = *Parser::new(&LathDialect).try_with_sql(text)?.parse_query()?;
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(from) = select.from.first_mut()
    {
        from.relation = factor;
    }
    Ok(query)
}

pub(super) fn parse_expr(text: &str) -> Result<Expr, ParserError> {
    Parser::new(&LathDialect).try_with_sql(text)?.parse_expr()
}
