//! Refuses clauses that would be ignored, with an error at their position.
//!
//! The parser's structures are destructured without `..`, so that a clause which a later version adds is a compile error here until it is
//! handled. Clauses that DataFusion refuses itself are refused here if that gives the error a position or advice.

mod change;
mod column;
mod definition;
mod expression;
mod function;
mod query;
mod relation;
mod session;

pub(crate) use self::column::is_auto_increment;

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, ResetStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, Statement as SqlStatement, TableFactor, Visit, Visitor, visit_expressions,
};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

use crate::dialect::{LathDialect, error_at};

/// Refuses clauses of a statement that would be ignored. The statement begins at `start` of `text`.
pub(crate) fn refuse_ignored(statement: &Statement, text: &str, start: Location) -> Result<()> {
    let mut clauses = Clauses { text, start };
    let flow = match statement {
        Statement::Statement(statement) => statement.visit(&mut clauses),
        Statement::CopyTo(copy) => {
            clauses.copy(copy)?;
            match &copy.source {
                CopyToSource::Query(query) => query.visit(&mut clauses),
                CopyToSource::Relation(_) => ControlFlow::Continue(()),
            }
        }
        Statement::Explain(explain) => {
            clauses.explain(explain)?;
            return refuse_ignored(&explain.statement, text, start);
        }
        Statement::CreateExternalTable(create) => flow(clauses.external_table(create)),
        Statement::Reset(ResetStatement::Variable(_)) => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(DataFusionError::from(error)),
    }
}

/// Refuses clauses of aggregates and window functions after scalar functions.
pub(crate) fn refuse_meaningless(statement: &Statement, state: &SessionState) -> Result<()> {
    let is_scalar = |name: &str| state.udf(name).is_ok() && state.udaf(name).is_err() && state.udwf(name).is_err();
    let check = |expr: &Expr| match expr {
        Expr::Function(function) => match function::refuse_scalar(function, is_scalar) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        },
        _ => ControlFlow::Continue(()),
    };
    let flow = match statement {
        Statement::Statement(statement) => visit_expressions(statement.as_ref(), check),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => {
            visit_expressions(query.as_ref(), check)
        }
        Statement::Explain(explain) => return refuse_meaningless(&explain.statement, state),
        _ => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(DataFusionError::from(error)),
    }
}

/// The result of checking one structure.
type CheckResult = Result<(), ParserError>;

/// The clauses of a statement.
struct Clauses<'t> {
    text: &'t str,
    start: Location,
}

impl Clauses<'_> {
    /// Returns an error at the first position of `words` from `after` on; `advice` says what to write instead.
    fn refuse<T>(&self, words: &str, after: Span, advice: &str) -> Result<T, ParserError> {
        let place = self.place(words, after).unwrap_or(if after.start.line == 0 { self.start } else { after.start });
        Err(error_at(&format!("{words} is not supported: {advice}"), place))
    }

    /// Calls [`refuse`](Self::refuse) if the clause is present.
    fn refuse_if(&self, is_there: bool, words: &str, after: Span, advice: &str) -> CheckResult {
        if is_there { self.refuse(words, after, advice) } else { Ok(()) }
    }

    /// Returns an error at the last position of `words` before `before`.
    fn refuse_before<T>(&self, words: &str, before: Span, advice: &str) -> Result<T, ParserError> {
        let mut place = None;
        let mut from = Span::new(self.start, self.start);
        while let Some(found) = self.place(words, from).filter(|found| *found < before.start) {
            place = Some(found);
            let behind = Location { line: found.line, column: found.column + 1 };
            from = Span::new(behind, behind);
        }
        Err(error_at(&format!("{words} is not supported: {advice}"), place.unwrap_or(before.start)))
    }

    fn place(&self, words: &str, after: Span) -> Option<Location> {
        let words: Vec<&str> = words.split([' ', '(']).filter(|word| !matches!(*word, "" | "…")).collect();
        let tokens = Tokenizer::new(&LathDialect, self.text).tokenize_with_location().ok()?;
        let from = if after.start.line == 0 { self.start } else { after.start };
        let tokens: Vec<&TokenWithSpan> = tokens
            .iter()
            .filter(|token| !matches!(token.token, Token::Whitespace(_)) && token.span.start >= from)
            .collect();
        let is = |token: &TokenWithSpan, word: &str| match &token.token {
            Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
            _ => false,
        };
        let all = |at: &[&TokenWithSpan]| at.iter().zip(&words).all(|(token, word)| is(token, word));
        let found = tokens.windows(words.len().max(1)).find(|at| all(at));
        // A clause may have other words between its own.
        let first = || tokens.windows(1).find(|at| words.first().is_some_and(|word| is(at[0], word)));
        found.or_else(first).map(|at| at[0].span.start)
    }
}

fn flow(checked: CheckResult) -> ControlFlow<ParserError> {
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl Visitor for Clauses<'_> {
    type Break = ParserError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<ParserError> {
        flow(self.query(query))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<ParserError> {
        flow(self.select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<ParserError> {
        flow(self.table_factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<ParserError> {
        flow(self.expression(expr))
    }

    fn pre_visit_statement(&mut self, statement: &SqlStatement) -> ControlFlow<ParserError> {
        flow(self.statement(statement))
    }
}

impl Clauses<'_> {
    fn statement(&self, statement: &SqlStatement) -> CheckResult {
        match statement {
            SqlStatement::Insert(insert) => self.insert(insert),
            SqlStatement::Update(update) => self.update(update),
            SqlStatement::Delete(delete) => self.delete(delete),
            SqlStatement::Merge(merge) => self.merge(merge),
            SqlStatement::CreateTable(create) => self.create_table(create),
            SqlStatement::CreateView(create) => self.create_view(create),
            SqlStatement::AlterTable(alter) => self.alter_table(alter),
            SqlStatement::Drop {
                object_type,
                if_exists: _,
                names,
                cascade,
                restrict: _,
                purge,
                temporary,
                table: _,
            } => self.drop_object(object_type, names, *cascade, *purge, *temporary),
            other => self.session_statement(other),
        }
    }
}
