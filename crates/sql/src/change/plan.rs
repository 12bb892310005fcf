//! Converts DataFusion's plans of changes to queries for the rows to put or delete.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, TableReference, not_impl_err, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{
    DmlStatement, Expr, LogicalPlan, LogicalPlanBuilder, Projection, TableProviderFilterPushDown, WriteOp,
};
use lath_table::Predicate;

use super::answer::plan_answer;
use super::merge::{MergeOptions, plan_merge};
use super::returning::ReturnedColumns;
use super::target::ChangeTarget;
use super::{Change, OnConflict, key_name};
use crate::bind::bind;
use crate::computed::generated_values;
use crate::keyed::{KeyedTable, matching_keys};
use crate::scan::test;
use crate::transaction::CurrentTransaction;
use crate::write::CopyTarget;

/// Binds each table of a plan to a commit, and replaces changes of tables with a primary key by Lath's.
pub(crate) fn plan_change(
    state: &SessionState,
    plan: LogicalPlan,
    on_conflict: &OnConflict,
    returned: Option<&ReturnedColumns>,
    transaction: &Arc<CurrentTransaction>,
) -> Result<LogicalPlan> {
    Ok(match plan {
        LogicalPlan::Explain(mut explain) => {
            let plan = Arc::unwrap_or_clone(explain.plan);
            explain.plan = Arc::new(plan_change(state, plan, on_conflict, returned, transaction)?);
            LogicalPlan::Explain(explain)
        }
        LogicalPlan::Analyze(mut analyze) => {
            let plan = Arc::unwrap_or_clone(analyze.input);
            analyze.input = Arc::new(plan_change(state, plan, on_conflict, returned, transaction)?);
            LogicalPlan::Analyze(analyze)
        }
        LogicalPlan::Dml(statement) => match keyed_target(&statement) {
            Some(table)
                if transaction.open().is_some()
                    && table.transaction().is_none_or(|own| !Arc::ptr_eq(own, transaction)) =>
            {
                return outside(&statement);
            }
            None if transaction.open().is_some() && !is_copy(&statement) => return outside(&statement),
            Some(table) => plan_statement(state, table, statement, on_conflict, returned)?,
            None if *on_conflict != OnConflict::Refuse => {
                return plan_err!(
                    "{} has no primary key, so no rows can conflict; leave out OR IGNORE and ON CONFLICT",
                    statement.table_name
                );
            }
            None if returned.is_some() => {
                return plan_err!(
                    "{} is in memory or has files, so that it has no RETURNING; read the rows with a SELECT",
                    statement.table_name
                );
            }
            // DataFusion (55) would delete all rows.
            None if statement.op == WriteOp::Delete && matches!(*statement.input, LogicalPlan::Limit(_)) => {
                return plan_err!(
                    "{} is in memory or has files, so that DELETE has no LIMIT; choose the rows by WHERE",
                    statement.table_name
                );
            }
            None => bind(LogicalPlan::Dml(statement))?.0,
        },
        other => bind(other)?.0,
    })
}

/// The error for a change that the open transaction could not undo.
fn outside(statement: &DmlStatement) -> Result<LogicalPlan> {
    plan_err!(
        "{} is no table of the session's database, so ROLLBACK could not undo the change; COMMIT or ROLLBACK first",
        statement.table_name
    )
}

/// Whether a statement writes files, which a transaction does not undo.
fn is_copy(statement: &DmlStatement) -> bool {
    source_as_provider(&statement.target).is_ok_and(|target| target.is::<CopyTarget>())
}

fn keyed_target(statement: &DmlStatement) -> Option<KeyedTable> {
    source_as_provider(&statement.target).ok()?.downcast_ref::<KeyedTable>().cloned()
}

/// Plans the insertion of a query's rows into a table.
pub(crate) fn insert_into(table: KeyedTable, query: LogicalPlan) -> Result<LogicalPlan> {
    let name = TableReference::bare(table.name());
    change_plan(table, name, Change::Insert, query, None)
}

/// Lets VALUES have nulls in columns without nulls: the table refuses them by the names of its columns, and DataFusion by `column1`.
fn with_nullable_values(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(match plan {
        LogicalPlan::Values(mut values) => {
            let fields = values
                .schema
                .iter()
                .map(|(qualifier, field)| (qualifier.cloned(), Arc::new(field.as_ref().clone().with_nullable(true))));
            let schema = DFSchema::new_with_metadata(fields.collect(), values.schema.metadata().clone())?;
            values.schema = Arc::new(schema);
            LogicalPlan::Values(values)
        }
        LogicalPlan::Projection(projection) => {
            let input = with_nullable_values(Arc::unwrap_or_clone(projection.input))?;
            LogicalPlan::Projection(Projection::try_new(projection.expr, Arc::new(input))?)
        }
        other => other,
    })
}

fn plan_statement(
    state: &SessionState,
    table: KeyedTable,
    statement: DmlStatement,
    on_conflict: &OnConflict,
    returned: Option<&ReturnedColumns>,
) -> Result<LogicalPlan> {
    if !table.is_changeable() {
        return plan_err!("{} is read-only", statement.table_name);
    }
    if table.has_row_numbers() {
        check_without_key(&table, &statement, on_conflict)?;
    }
    let DmlStatement { table_name, target, op, input, .. } = statement;
    let input = with_nullable_values(Arc::unwrap_or_clone(input))?;
    let (change, query) = match op {
        WriteOp::Insert(InsertOp::Append) => match on_conflict {
            OnConflict::Refuse | OnConflict::Update => (Change::Insert, input),
            OnConflict::Ignore(conflicts) => (Change::InsertNew(conflicts.clone()), input),
        },
        WriteOp::Insert(InsertOp::Replace) => (Change::Replace, input),
        WriteOp::Insert(InsertOp::Overwrite) => {
            return plan_err!(
                "INSERT OVERWRITE replaces files; TRUNCATE the table and insert, or INSERT OR REPLACE INTO"
            );
        }
        WriteOp::Delete => plan_delete(state, &table, input, returned.is_some())?,
        WriteOp::Truncate => (Change::DeleteWhere(Predicate::TRUE), nothing()?),
        WriteOp::Update => plan_update(&table, input)?,
        WriteOp::MergeInto(merge) => {
            let options =
                MergeOptions { returns_rows: returned.is_some(), checks_proposed: *on_conflict == OnConflict::Update };
            plan_merge(&table, &table_name, target, *merge, input, options)?
        }
        other => return not_impl_err!("{} of a table with a primary key", other.name()),
    };
    let query = match change {
        Change::Insert | Change::Replace | Change::InsertNew(_) | Change::Update { .. } => {
            generated_values(state, &table.schema(), table.computed(), query, 0)?
        }
        // The first column is the number of the clause.
        Change::Merge { checks_proposed, .. } => {
            let schema = table.schema();
            let query = generated_values(state, &schema, table.computed(), query, 1)?;
            let proposed = 1 + schema.fields().len() + table.key_columns().len();
            match checks_proposed {
                true => generated_values(state, &schema, table.computed(), query, proposed)?,
                false => query,
            }
        }
        Change::Delete | Change::DeleteWhere(_) => query,
    };
    change_plan(table, table_name, change, query, returned)
}

/// Returns an error for an insertion into a table without a key that asks about keys.
fn check_without_key(table: &KeyedTable, statement: &DmlStatement, on_conflict: &OnConflict) -> Result<()> {
    let name = &statement.table_name;
    if matches!(statement.op, WriteOp::Insert(InsertOp::Replace)) {
        return plan_err!(
            "{name} has no primary key; leave out OR REPLACE, or write ON CONFLICT (columns of a unique index) DO UPDATE SET …"
        );
    }
    let indexes = table.newest()?.indexes();
    if *on_conflict != OnConflict::Refuse && !indexes.iter().any(|index| index.is_unique) {
        return plan_err!(
            "{name} has no primary key and no unique index, so no rows can conflict; leave out OR IGNORE and ON CONFLICT DO NOTHING"
        );
    }
    Ok(())
}

/// Plans a change by the rows of a query.
fn change_plan(
    table: KeyedTable,
    name: TableReference,
    change: Change,
    query: LogicalPlan,
    returned: Option<&ReturnedColumns>,
) -> Result<LogicalPlan> {
    let (bound, commits) = bind(query.clone())?;
    let target = Arc::new(ChangeTarget::new(table, change, query, commits).with_returned(returned));
    if let Some(returned) = returned {
        return Ok(plan_answer(target, bound, DFSchemaRef::clone(returned.df_schema())));
    }
    LogicalPlanBuilder::insert_into(bound, name, provider_as_source(target), InsertOp::Append)?.build()
}

fn nothing() -> Result<LogicalPlan> {
    LogicalPlanBuilder::empty(false).build()
}

/// Plans a deletion by a condition if scans evaluate it exactly, or else by the keys of the matching rows.
fn plan_delete(
    state: &SessionState,
    table: &KeyedTable,
    rows: LogicalPlan,
    returns_rows: bool,
) -> Result<(Change, LogicalPlan)> {
    if !returns_rows && let Some(predicate) = scanned_condition(state, table, &rows)? {
        return Ok((Change::DeleteWhere(predicate), nothing()?));
    }
    let mut columns: Vec<Expr> = key_exprs(table, &rows)?;
    if returns_rows {
        columns.extend(rows.schema().columns().into_iter().map(Expr::Column));
    }
    Ok((Change::Delete, LogicalPlanBuilder::from(rows).project(columns)?.build()?))
}

/// Returns the condition of the rows to delete, if a scan evaluates it exactly and no lookup by key would find them.
fn scanned_condition(state: &SessionState, table: &KeyedTable, rows: &LogicalPlan) -> Result<Option<Predicate>> {
    let LogicalPlan::TableScan(scan) = state.optimize(rows)? else { return Ok(None) };
    let schema = table.schema();
    if scan.fetch.is_some() || matching_keys(&scan.filters, &schema, table.key_columns()).is_some() {
        return Ok(None);
    }
    let mut all = Predicate::TRUE;
    for filter in &scan.filters {
        let (Some(predicate), TableProviderFilterPushDown::Exact) = test(filter, &schema) else { return Ok(None) };
        all = all.and(predicate);
    }
    Ok(Some(all))
}

/// The key columns of a plan with the table's columns, under names that no column has.
fn key_exprs(table: &KeyedTable, rows: &LogicalPlan) -> Result<Vec<Expr>> {
    let schema = table.schema();
    let is_table = rows.schema().fields().iter().map(|field| field.name()).eq(schema.fields().iter().map(|f| f.name()));
    if !is_table {
        return not_impl_err!(
            "this form of change of table {:?}; write it as a single DELETE, UPDATE or MERGE",
            table.name()
        );
    }
    let key = |(number, &place): (usize, &usize)| {
        Expr::Column(Column::from(rows.schema().qualified_field(place))).alias(key_name(number))
    };
    Ok(table.key_columns().iter().enumerate().map(key).collect())
}

/// Plans an update as a projection of all columns, followed by the old key if it may change.
fn plan_update(table: &KeyedTable, rows: LogicalPlan) -> Result<(Change, LogicalPlan)> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = rows else {
        return not_impl_err!("this form of UPDATE of table {:?}; write it as a single UPDATE or MERGE", table.name());
    };
    let keys = key_exprs(table, &input)?;
    let is_same = |(&place, key): (&usize, &Expr)| {
        let value = expr.get(place).cloned().map(Expr::unalias);
        value.is_some_and(|value| value == key.clone().unalias())
    };
    let moves_keys = !table.key_columns().iter().zip(&keys).all(is_same);
    let exprs = expr.into_iter().chain(if moves_keys { keys } else { Vec::new() });
    let query = LogicalPlanBuilder::from(Arc::unwrap_or_clone(input)).project(exprs)?.build()?;
    Ok((Change::Update { moves_keys }, query))
}
