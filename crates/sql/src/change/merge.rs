//! Plans MERGE as a join of source and table. Each row has the number of the clause that applies to it and the new values of the table's
//! row.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, DFSchema, JoinType, Result, TableReference, plan_err};
use datafusion::logical_expr::dml::{MergeIntoAction, MergeIntoClause, MergeIntoClauseKind, MergeIntoOp};
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, TableSource, lit,
};
use datafusion::scalar::ScalarValue;

use super::{Change, MergeAction, key_name};
use crate::keyed::KeyedTable;

/// A column that is true in all rows of the source.
const IN_SOURCE: &str = "__lath_in_source";

/// A column with the number of the clause that applies to a row, from 1; 0 if none does.
const CLAUSE: &str = "__lath_clause";

/// A MERGE statement being planned.
struct Merge<'m> {
    table: &'m KeyedTable,
    name: &'m TableReference,
    schema: SchemaRef,
    on: Expr,
    clauses: Vec<MergeIntoClause>,
    options: MergeOptions,
}

/// Columns of a MERGE besides new values and old keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeOptions {
    /// Whether rows to delete have their values, which the statement returns.
    pub(super) returns_rows: bool,
    /// Whether each row of the source comes with the row that it would insert, which is checked: as in PostgreSQL, the constraints of a table
    /// hold for rows of `INSERT … ON CONFLICT DO UPDATE` that conflict, too.
    pub(super) checks_proposed: bool,
}

/// Returns the change and its query for a MERGE with the rows of `source`.
pub(super) fn plan_merge(
    table: &KeyedTable,
    name: &TableReference,
    target: Arc<dyn TableSource>,
    merge: MergeIntoOp,
    source: LogicalPlan,
    options: MergeOptions,
) -> Result<(Change, LogicalPlan)> {
    let MergeIntoOp { on, clauses } = merge;
    let merge = Merge { table, name, schema: table.schema(), on, clauses, options };
    let actions = merge.clauses.iter().map(action).collect::<Result<Vec<_>>>()?;
    let joined = merge.with_proposed(merge.join(source, target)?)?;
    let columns = joined.schema().columns().into_iter().map(Expr::Column);
    let clause = merge.clause()?.alias(CLAUSE);
    let met = LogicalPlanBuilder::from(joined).project(columns.chain([clause]))?;
    let met = match options.checks_proposed {
        true => met.build()?,
        false => met.filter(Expr::Column(Column::new_unqualified(CLAUSE)).not_eq(lit(0_i32)))?.build()?,
    };
    let moves_keys = merge.moves_keys(met.schema())?;
    let mut exprs = vec![Expr::Column(Column::new_unqualified(CLAUSE))];
    for (place, field) in merge.schema.fields().iter().enumerate() {
        exprs.push(merge.value(place, met.schema())?.alias(field.name()));
    }
    let key = |(number, &place): (usize, &usize)| merge.column(place).alias(key_name(number));
    exprs.extend(table.key_columns().iter().enumerate().map(key));
    if options.checks_proposed {
        exprs.extend((0..merge.schema.fields().len()).map(proposed));
    }
    let query = LogicalPlanBuilder::from(met).project(exprs)?.build()?;
    Ok((Change::Merge { actions, moves_keys, checks_proposed: options.checks_proposed }, query))
}

/// A column of the row that is to be inserted.
fn proposed(place: usize) -> Expr {
    Expr::Column(Column::new_unqualified(proposed_name(place)))
}

fn proposed_name(place: usize) -> String {
    format!("__lath_proposed_{place}")
}

fn action(clause: &MergeIntoClause) -> Result<MergeAction> {
    use MergeIntoClauseKind::{Matched, NotMatchedBySource};
    let has_row = matches!(clause.kind, Matched | NotMatchedBySource);
    match (&clause.action, has_row) {
        (MergeIntoAction::Update(_), true) => Ok(MergeAction::Update),
        (MergeIntoAction::Delete, true) => Ok(MergeAction::Delete),
        (MergeIntoAction::Insert { .. }, false) => Ok(MergeAction::Insert),
        (MergeIntoAction::Insert { .. }, true) => {
            plan_err!("WHEN MATCHED takes UPDATE or DELETE; write INSERT after WHEN NOT MATCHED")
        }
        (_, false) => plan_err!("WHEN NOT MATCHED takes INSERT; write UPDATE and DELETE after WHEN MATCHED"),
    }
}

impl Merge<'_> {
    fn has(&self, is_kind: impl Fn(MergeIntoClauseKind) -> bool) -> bool {
        self.clauses.iter().any(|clause| is_kind(clause.kind))
    }

    /// Joins source and table. The type of join keeps unmatched rows of a side if a clause applies to them.
    fn join(&self, source: LogicalPlan, target: Arc<dyn TableSource>) -> Result<LogicalPlan> {
        let by_target = self.has(|kind| kind.is_not_matched_by_target());
        let by_source = self.has(|kind| kind == MergeIntoClauseKind::NotMatchedBySource);
        let join_type = match (by_target, by_source) {
            (false, false) => JoinType::Inner,
            (true, false) => JoinType::Left,
            (false, true) => JoinType::Right,
            (true, true) => JoinType::Full,
        };
        let columns = source.schema().columns().into_iter().map(Expr::Column);
        let source = LogicalPlanBuilder::from(source).project(columns.chain([lit(true).alias(IN_SOURCE)]))?;
        let target = LogicalPlanBuilder::scan(self.name.clone(), target, None)?.build()?;
        source.join_on(target, join_type, [self.on.clone()])?.build()
    }

    /// Adds the columns of the rows that are to be inserted, if they are checked. Each default is evaluated once.
    fn with_proposed(&self, joined: LogicalPlan) -> Result<LogicalPlan> {
        let insert = self.clauses.iter().find(|clause| matches!(clause.action, MergeIntoAction::Insert { .. }));
        let Some(MergeIntoClause { action: MergeIntoAction::Insert { columns, values }, .. }) =
            insert.filter(|_| self.options.checks_proposed)
        else {
            return Ok(joined);
        };
        let mut exprs: Vec<Expr> = joined.schema().columns().into_iter().map(Expr::Column).collect();
        for (place, field) in self.schema.fields().iter().enumerate() {
            let value = self.inserted(place, columns, values).cast_to(field.data_type(), joined.schema())?;
            exprs.push(value.alias(proposed_name(place)));
        }
        LogicalPlanBuilder::from(joined).project(exprs)?.build()
    }

    /// The value that an INSERT gives to a column of the table.
    fn inserted(&self, place: usize, columns: &[String], values: &[Expr]) -> Expr {
        let name = self.schema.field(place).name();
        let at = if columns.is_empty() { Some(place) } else { columns.iter().position(|column| column == name) };
        let default = || self.table.get_column_default(name).cloned();
        at.and_then(|at| values.get(at).cloned()).or_else(default).unwrap_or_else(|| lit(ScalarValue::Null))
    }

    /// A column of the table.
    fn column(&self, place: usize) -> Expr {
        Expr::Column(Column::new(Some(self.name.clone()), self.schema.field(place).name()))
    }

    /// The number of the first clause that applies to a row.
    fn clause(&self) -> Result<Expr> {
        let Some(&first_key) = self.table.key_columns().first() else {
            return plan_err!("table {:?} has no key", self.table.name());
        };
        // A key column is null only if the join found no row.
        let in_table = self.column(first_key).is_not_null();
        let in_source = Expr::Column(Column::new_unqualified(IN_SOURCE)).is_not_null();
        let met = |(number, clause): (i32, &MergeIntoClause)| {
            let is_kind = match clause.kind {
                MergeIntoClauseKind::Matched => in_source.clone().and(in_table.clone()),
                MergeIntoClauseKind::NotMatchedBySource => in_source.clone().is_false(),
                MergeIntoClauseKind::NotMatched | MergeIntoClauseKind::NotMatchedByTarget => {
                    in_table.clone().is_false()
                }
            };
            let condition = match &clause.predicate {
                Some(predicate) => is_kind.and(predicate.clone()),
                None => is_kind,
            };
            (Box::new(condition), Box::new(lit(number)))
        };
        let when_then = (1..).zip(&self.clauses).map(met).collect();
        Ok(Expr::Case(Case::new(None, when_then, Some(Box::new(lit(0_i32))))))
    }

    /// The new value of a column of the table.
    fn value(&self, place: usize, schema: &DFSchema) -> Result<Expr> {
        let field = self.schema.field(place);
        let mut when_then = Vec::new();
        for (number, clause) in (1_i32..).zip(&self.clauses) {
            let value = match &clause.action {
                MergeIntoAction::Update(assignments) => assigned(assignments, field.name()),
                MergeIntoAction::Insert { .. } if self.options.checks_proposed => Some(proposed(place)),
                MergeIntoAction::Insert { columns, values } => Some(self.inserted(place, columns, values)),
                MergeIntoAction::Delete if self.options.returns_rows => None,
                MergeIntoAction::Delete => continue,
            };
            let value = value.unwrap_or_else(|| self.column(place)).cast_to(field.data_type(), schema)?;
            when_then.push((Box::new(lit(number)), Box::new(value)));
        }
        let none = lit(ScalarValue::try_from(field.data_type())?);
        if when_then.is_empty() {
            return Ok(none);
        }
        let clause = Box::new(Expr::Column(Column::new_unqualified(CLAUSE)));
        Ok(Expr::Case(Case::new(Some(clause), when_then, Some(Box::new(none)))))
    }

    /// Whether a clause may change the key of a row.
    fn moves_keys(&self, schema: &DFSchema) -> Result<bool> {
        for clause in &self.clauses {
            let MergeIntoAction::Update(assignments) = &clause.action else { continue };
            for &place in self.table.key_columns() {
                if let Some(value) = assigned(assignments, self.schema.field(place).name())
                    && !self.is_key_of_row(place, &value, schema)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether `value` equals the key column in all rows that match.
    fn is_key_of_row(&self, place: usize, value: &Expr, schema: &DFSchema) -> Result<bool> {
        let column = self.column(place);
        let data_type: &DataType = self.schema.field(place).data_type();
        let is_equal = |condition: &Expr| match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                (**left == column && **right == *value) || (**left == *value && **right == column)
            }
            _ => false,
        };
        let is_matched = self.clauses.iter().all(|clause| clause.kind != MergeIntoClauseKind::NotMatchedBySource);
        Ok(*value == column
            || (is_matched
                && !data_type.is_floating()
                && value.get_type(schema)? == *data_type
                && split_conjunction(&self.on).into_iter().any(is_equal)))
    }
}

fn assigned(assignments: &[(String, Expr)], column: &str) -> Option<Expr> {
    assignments.iter().find(|(name, _)| name == column).map(|(_, value)| value.clone())
}
