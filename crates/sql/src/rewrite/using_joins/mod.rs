//! Takes the columns that `USING` and `NATURAL` merge from the side that has the row: `coalesce` of both in a full join.
//!
//! DataFusion 55 takes the left side's column, which is null in rows that only the right side has, and in WHERE it reports that the name is
//! ambiguous. Here selects with such joins are rewritten before they are planned: the join gets a condition instead, and the unqualified
//! name refers to the merged column.

mod columns;
mod merge;
mod select;

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    JoinConstraint, JoinOperator, Query, SetExpr, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};

use crate::statement::explained;
use columns::FactorColumns;

/// Rewrites every select of a statement that has such joins, after looking up the columns of its tables.
pub(crate) async fn merge_join_columns(state: &SessionState, statement: &mut Statement) -> Result<()> {
    if !needs_rewrite(statement) {
        return Ok(());
    }
    let columns = FactorColumns::find(state, statement).await?;
    let mut rewrite = Rewrite { columns: &columns, names: 0 };
    match visit(statement, &mut rewrite) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Visits the query of a statement, even within EXPLAIN or COPY.
fn visit<V: VisitorMut>(statement: &mut Statement, visitor: &mut V) -> ControlFlow<V::Break> {
    match explained(statement) {
        Statement::Statement(statement) => statement.visit(visitor),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(visitor),
        _ => ControlFlow::Continue(()),
    }
}

fn needs_rewrite(statement: &mut Statement) -> bool {
    struct Search;
    impl VisitorMut for Search {
        type Break = ();

        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            let affected = match &mut *query.body {
                SetExpr::Select(select) => select.from.iter_mut().any(merges_columns),
                _ => false,
            };
            if affected { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    visit(statement, &mut Search).is_break()
}

/// Whether a join merges columns.
fn merges_columns(from: &mut TableWithJoins) -> bool {
    let nested = |factor: &mut TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => merges_columns(table_with_joins),
        _ => false,
    };
    let merges = |operator: &mut JoinOperator| {
        matches!(constraint(operator), Some(JoinConstraint::Using(_) | JoinConstraint::Natural))
    };
    nested(&mut from.relation)
        || from.joins.iter_mut().any(|join| merges(&mut join.join_operator) || nested(&mut join.relation))
}

/// The constraint of a join, if its type has one.
fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    use JoinOperator::{
        Anti, FullOuter, Inner, Join, Left, LeftAnti, LeftOuter, LeftSemi, Right, RightAnti, RightOuter, RightSemi,
        Semi,
    };
    match operator {
        Join(constraint)
        | Inner(constraint)
        | Left(constraint)
        | LeftOuter(constraint)
        | Right(constraint)
        | RightOuter(constraint)
        | FullOuter(constraint)
        | Semi(constraint)
        | LeftSemi(constraint)
        | RightSemi(constraint)
        | Anti(constraint)
        | LeftAnti(constraint)
        | RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}

struct Rewrite<'c> {
    columns: &'c FactorColumns,
    /// The number of generated table names.
    names: usize,
}

impl VisitorMut for Rewrite<'_> {
    type Break = datafusion::error::DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        match self.query(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Rewrite<'_> {
    fn query(&mut self, query: &mut Query) -> Result<()> {
        let Query { body, order_by, .. } = query;
        let SetExpr::Select(select) = &mut **body else { return Ok(()) };
        if !select.from.iter_mut().any(merges_columns) {
            return Ok(());
        }
        let mut sides = Vec::new();
        for from in &mut select.from {
            sides.push(self.side(from)?);
        }
        select::rewrite(select, order_by.as_mut(), &sides, self.columns)
    }
}
