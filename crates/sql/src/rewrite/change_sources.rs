//! Other tables in changes: `UPDATE t SET … FROM s WHERE …` is a MERGE, and `DELETE FROM t USING s WHERE …` a deletion by `EXISTS`.
//!
//! DataFusion 55 plans the first with the columns of both tables, and does not plan the second. As with MERGE, an update is an error if
//! several source rows match one row of the table.

use std::mem;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Delete, Expr, Join, JoinConstraint, JoinOperator, Merge, MergeAction, MergeClause, MergeClauseKind,
    MergeUpdateExpr, OutputClause, SetExpr, Statement, TableFactor, TableWithJoins, Update, UpdateTableFromKind, Value,
    visit_expressions,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use crate::dialect::{LathDialect, error_in};

pub(super) fn rewrite(statement: &mut Statement) -> Result<(), ParserError> {
    match statement {
        Statement::Update(update) => {
            if let Some(merge) = as_merge(update) {
                *statement = Statement::Merge(merge);
            }
            Ok(())
        }
        Statement::Delete(delete) => with_exists(delete),
        _ => Ok(()),
    }
}

/// Rewrites the update to a MERGE, if it has a source.
fn as_merge(update: &mut Update) -> Option<Merge> {
    let (UpdateTableFromKind::BeforeSet(sources) | UpdateTableFromKind::AfterSet(sources)) = update.from.take()?;
    let source = joined(sources)?;
    let update_clause = MergeUpdateExpr {
        update_token: AttachedToken::empty(),
        assignments: mem::take(&mut update.assignments),
        update_predicate: None,
        delete_predicate: None,
    };
    Some(Merge {
        merge_token: update.update_token.clone(),
        optimizer_hints: Vec::new(),
        into: true,
        table: update.table.relation.clone(),
        source,
        on: Box::new(update.selection.take().unwrap_or_else(|| Expr::value(Value::Boolean(true)))),
        clauses: vec![MergeClause {
            when_token: AttachedToken::empty(),
            clause_kind: MergeClauseKind::Matched,
            predicate: None,
            action: MergeAction::Update(update_clause),
        }],
        output: update
            .returning
            .take()
            .map(|select_items| OutputClause::Returning { returning_token: AttachedToken::empty(), select_items }),
    })
}

/// Combines all sources to one.
fn joined(sources: Vec<TableWithJoins>) -> Option<TableFactor> {
    let mut sources = sources.into_iter();
    let mut all = sources.next()?;
    for source in sources {
        let relation = factor(source);
        all.joins.push(Join { relation, global: false, join_operator: JoinOperator::CrossJoin(JoinConstraint::None) });
    }
    Some(factor(all))
}

fn factor(table: TableWithJoins) -> TableFactor {
    match table.joins.is_empty() {
        true => table.relation,
        false => TableFactor::NestedJoin { table_with_joins: Box::new(table), alias: None },
    }
}

/// Selects the rows to delete by a subquery over the tables of USING.
fn with_exists(delete: &mut Delete) -> Result<(), ParserError> {
    let Some(sources) = delete.using.take() else { return Ok(()) };
    let condition = delete.selection.take().unwrap_or_else(|| Expr::value(Value::Boolean(true)));
    let unqualified = visit_expressions(&condition, |expr: &Expr| match expr {
        Expr::Identifier(_) => ControlFlow::Break(expr.clone()),
        _ => ControlFlow::Continue(()),
    });
    if let ControlFlow::Break(column) = unqualified {
        return Err(error_in(
            &format!("column {column} is ambiguous, for both tables may have it; write table.{column}"),
            &column,
        ));
    }
    let mut exists = Parser::new(&LathDialect).try_with_sql("SELECT 1 FROM t")?.parse_query()?;
    if let SetExpr::Select(select) = exists.body.as_mut() {
        select.from = sources;
        select.selection = Some(condition);
    }
    delete.selection = Some(Expr::Exists { subquery: exists, negated: false });
    Ok(())
}
