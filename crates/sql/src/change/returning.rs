//! `RETURNING`: expressions of the rows that a change has put or deleted. They are evaluated before the commit, because an error of theirs is one of
//! the statement, and come after it.

use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, plan_err};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};
use datafusion::physical_plan::collect;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    FromTable, OutputClause, SelectItem, SetExpr, Statement as SqlStatement, TableFactor, TableObject,
};

use crate::grammar::{parse, select_from_table};
use crate::rewrite::{name_answer, with_output_names};
use crate::select_columns::expand_columns;
use crate::statement::explained;

/// The clause of a statement.
pub(crate) struct Returning {
    items: Vec<SelectItem>,
    /// The table that is changed, with its alias.
    table: TableFactor,
}

/// Takes the clause out of a statement, even within EXPLAIN.
pub(crate) fn take_returning(statement: &mut Statement) -> Result<Option<Returning>> {
    let Statement::Statement(inner) = explained(statement) else { return Ok(None) };
    let (items, table) = match inner.as_mut() {
        SqlStatement::Insert(insert) => {
            let Some(items) = insert.returning.take() else { return Ok(None) };
            let TableObject::TableName(name) = &insert.table else {
                return plan_err!("RETURNING needs the name of a table");
            };
            (items, table_factor(name)?)
        }
        SqlStatement::Update(update) => {
            let Some(items) = update.returning.take() else { return Ok(None) };
            (items, update.table.relation.clone())
        }
        SqlStatement::Delete(delete) => {
            let Some(items) = delete.returning.take() else { return Ok(None) };
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            let [table] = from.as_slice() else { return plan_err!("DELETE takes one table") };
            (items, table.relation.clone())
        }
        SqlStatement::Merge(merge) => match merge.output.take() {
            Some(OutputClause::Returning { select_items, .. }) => (select_items, merge.table.clone()),
            other => {
                merge.output = other;
                return Ok(None);
            }
        },
        _ => return Ok(None),
    };
    Ok(Some(Returning { items, table }))
}

/// A table in FROM.
fn table_factor(name: &impl fmt::Display) -> Result<TableFactor> {
    match from_clause(&format!("SELECT * FROM {name}"))? {
        Some(table) => Ok(table),
        None => plan_err!("{name} is not the name of a table"),
    }
}

fn from_clause(text: &str) -> Result<Option<TableFactor>> {
    let Some(Statement::Statement(statement)) = parse(text)?.pop_front() else { return Ok(None) };
    let SqlStatement::Query(query) = *statement else { return Ok(None) };
    let SetExpr::Select(select) = *query.body else { return Ok(None) };
    Ok(select.from.into_iter().next().map(|table| table.relation))
}

impl Returning {
    /// Plans the clause as a query of the table.
    pub(crate) async fn plan(self, state: &SessionState) -> Result<ReturnedColumns> {
        let mut statement = select_from_table(|_, select| {
            if let Some(from) = select.from.first_mut() {
                from.relation = self.table;
                select.projection = self.items;
            }
        })?;
        if let Statement::Statement(inner) = &mut statement
            && let SqlStatement::Query(query) = inner.as_mut()
        {
            name_answer(query);
        }
        expand_columns(state, &mut statement).await?;
        let plan = state.statement_to_plan(statement).await?;
        let is_row_by_row = !plan.exists(|node| {
            let is_simple =
                matches!(node, LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::TableScan(_));
            Ok(!is_simple || node.expressions().iter().any(has_subquery))
        })?;
        if !is_row_by_row {
            return plan_err!(
                "RETURNING takes expressions of the row that was changed, without aggregates, windows and subqueries; SELECT computes them afterwards"
            );
        }
        let plan = with_output_names(plan)?;
        // Only an analyzed plan has final types.
        let analyzed = state.analyzer().execute_and_check(plan.clone(), state.config_options(), |_, _| {})?;
        Ok(ReturnedColumns { schema: DFSchemaRef::clone(analyzed.schema()), plan })
    }
}

fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|expr| {
        Ok(matches!(
            expr,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(..)
        ))
    })
    .unwrap_or(true)
}

/// The planned clause.
#[derive(Debug, Clone)]
pub(crate) struct ReturnedColumns {
    /// A query of the table.
    plan: LogicalPlan,
    /// Its columns, with their final types.
    schema: DFSchemaRef,
}

impl ReturnedColumns {
    /// The columns of the answer.
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.inner())
    }

    pub(super) fn df_schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    /// Evaluates the expressions on rows of the table, in their order.
    pub(super) async fn evaluate(
        &self,
        state: &SessionState,
        context: Arc<TaskContext>,
        rows: Vec<RecordBatch>,
    ) -> Result<Vec<RecordBatch>> {
        let Some(first) = rows.first() else { return Ok(rows) };
        let source = provider_as_source(Arc::new(MemTable::try_new(first.schema(), vec![rows])?));
        let plan = self.plan.clone().transform_down(|node| match node {
            LogicalPlan::TableScan(scan) => {
                let scan = TableScan { source: Arc::clone(&source), ..scan };
                Ok(Transformed::new(LogicalPlan::TableScan(scan), true, TreeNodeRecursion::Jump))
            }
            other => Ok(Transformed::no(other)),
        })?;
        let mut state = state.clone();
        state.config_mut().options_mut().execution.target_partitions = 1;
        let plan = state.create_physical_plan(&plan.data).await?;
        let schema = self.schema();
        let typed = |batch: RecordBatch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), batch.columns().to_vec(), &options)?)
        };
        collect(plan, context).await?.into_iter().map(typed).collect()
    }
}

/// Rows that wait for the commit, within the memory budget.
#[derive(Debug)]
pub(super) struct ReturnedRows {
    batches: Vec<RecordBatch>,
    memory: MemoryReservation,
}

impl ReturnedRows {
    pub(super) fn new(memory: MemoryReservation) -> Self {
        Self { batches: Vec::new(), memory }
    }

    /// Keeps rows.
    pub(super) fn push(&mut self, rows: RecordBatch) -> Result<()> {
        self.memory.try_grow(rows.get_array_memory_size())?;
        self.batches.push(rows);
        Ok(())
    }

    /// Replaces the rows by the columns that `answer` makes of them.
    pub(super) fn replace(&mut self, answer: impl FnOnce(Vec<RecordBatch>) -> Result<Vec<RecordBatch>>) -> Result<()> {
        let batches = answer(std::mem::take(&mut self.batches))?;
        self.memory.free();
        batches.into_iter().try_for_each(|batch| self.push(batch))
    }

    /// The rows. Their memory is released after the last batch.
    pub(super) fn into_batches(self) -> impl Iterator<Item = RecordBatch> {
        let Self { batches, memory } = self;
        batches.into_iter().inspect(move |_| _ = &memory)
    }
}

/// The result of a change.
#[derive(Debug)]
pub(super) struct ChangeAnswer {
    /// The number of rows.
    pub(super) count: u64,
    /// The rows, if the statement returns them.
    pub(super) rows: Option<ReturnedRows>,
}
