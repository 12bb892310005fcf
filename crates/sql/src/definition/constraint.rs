//! `CHECK (…)`, `UNIQUE (…)` and `VARCHAR(n)` in `CREATE TABLE` and `ALTER TABLE`.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, TableProviderFilterPushDown, Volatility,
};
use datafusion::optimizer::Optimizer;
use datafusion::sql::sqlparser::ast::{
    CharacterLength, ColumnDef, ColumnOption, DataType, DropBehavior, Expr as SqlExpr, ExprWithAlias, Ident,
    TableConstraint,
};
use lath_table::{Constraint, Predicate};

use super::Definitions;
use super::constraint_names::{check_names, free_name};
use super::foreign_key::{DeclaredForeignKey, take_foreign_keys};
use super::index::{check_are_no_numbers, column_name};
use crate::dialect::normal;
use crate::keyed::KeyedTable;
use crate::scan::test;

/// The constraints that a statement declares, besides keys.
#[derive(Debug, Default)]
pub(super) struct DeclaredConstraints {
    checks: Vec<DeclaredCheck>,
    /// Columns, and the maximum numbers of characters of their texts.
    lengths: Vec<(String, u32)>,
    pub(super) foreign_keys: Vec<DeclaredForeignKey>,
}

#[derive(Debug)]
struct DeclaredCheck {
    name: Option<String>,
    /// The column behind which it is written.
    column: Option<String>,
    condition: SqlExpr,
}

/// Takes the constraints out of definitions of columns and tables. DataFusion plans none of them.
pub(super) fn take_constraints(
    columns: &mut [ColumnDef],
    constraints: &mut Vec<TableConstraint>,
) -> DeclaredConstraints {
    let foreign_keys = take_foreign_keys(columns, constraints);
    let mut declared = DeclaredConstraints { foreign_keys, ..DeclaredConstraints::default() };
    let label = |name: &Option<Ident>| name.as_ref().map(normal);
    for column in columns {
        let name = normal(&column.name);
        if let Some(length) = take_length(&mut column.data_type) {
            declared.lengths.push((name.clone(), length));
        }
        column.options.retain(|option| match &option.option {
            ColumnOption::Check(check) => {
                let label = label(&option.name).or_else(|| label(&check.name));
                let condition = (*check.expr).clone();
                declared.checks.push(DeclaredCheck { name: label, column: Some(name.clone()), condition });
                false
            }
            _ => true,
        });
    }
    constraints.retain(|constraint| match constraint {
        TableConstraint::Check(check) => {
            let condition = (*check.expr).clone();
            declared.checks.push(DeclaredCheck { name: label(&check.name), column: None, condition });
            false
        }
        _ => true,
    });
    declared
}

/// Takes the length out of a type of texts.
pub(super) fn take_length(data_type: &mut DataType) -> Option<u32> {
    let (DataType::Varchar(length) | DataType::Char(length)) = data_type else { return None };
    let Some(CharacterLength::IntegerLength { length, .. }) = length.take() else { return None };
    *data_type = DataType::Varchar(None);
    // Longer ones are no limit.
    u32::try_from(length).ok()
}

impl DeclaredConstraints {
    pub(super) fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.lengths.is_empty() && self.foreign_keys.is_empty()
    }

    /// The constraints of a table with these columns. Constraints without a name get one that is not in `taken`.
    pub(super) fn plan(
        self,
        state: &SessionState,
        table: &str,
        schema: &SchemaRef,
        mut taken: BTreeSet<String>,
    ) -> Result<Vec<Constraint>> {
        let lengths = self.lengths.into_iter().map(|(column, chars)| Constraint::MaxChars { column, chars });
        let mut constraints: Vec<Constraint> = lengths.collect();
        taken.extend(self.checks.iter().filter_map(|check| check.name.clone()));
        for DeclaredCheck { name, column, condition } in self.checks {
            let base = match column {
                Some(column) => format!("{table}_{column}_check"),
                None => format!("{table}_check"),
            };
            let name = name.unwrap_or_else(|| free_name(base, &taken));
            taken.insert(name.clone());
            constraints.push(Constraint::Check { name, condition: plan_condition(state, table, schema, &condition)? });
        }
        Ok(constraints)
    }
}

/// Converts the condition of a constraint to one that the table itself evaluates.
fn plan_condition(state: &SessionState, table: &str, schema: &SchemaRef, condition: &SqlExpr) -> Result<Predicate> {
    let columns = DFSchema::try_from_qualified_schema(table, schema)?;
    let named = ExprWithAlias { expr: condition.clone(), alias: None };
    let expr = state.create_logical_expr_from_sql_expr(named, &columns)?;
    let is_fixed = !expr.exists(|expr| {
        Ok(match expr {
            Expr::ScalarFunction(function) => function.func.signature().volatility != Volatility::Immutable,
            _ => false,
        })
    })?;
    if !is_fixed {
        return plan_err!("CHECK ({condition}): its result would change with time; compare columns with fixed values");
    }
    if expr.get_type(&columns)? != ArrowType::Boolean {
        return plan_err!("CHECK ({condition}) is neither true nor false; write a condition");
    }
    let source = provider_as_source(Arc::new(EmptyTable::new(Arc::clone(schema))));
    let plan = LogicalPlanBuilder::scan(table, source, None)?.project([expr.alias("holds")])?.build()?;
    // A projection keeps nulls, which WHERE would not. Other rules may take common parts out of the condition.
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    let simplify = state.optimizers().iter().filter(|rule| rule.name() == "simplify_expressions").cloned().collect();
    let plan = Optimizer::with_rules(simplify).optimize(plan, state, |_, _| {})?;
    let tested = match plan {
        LogicalPlan::Projection(projection) if matches!(*projection.input, LogicalPlan::TableScan(_)) => {
            projection.expr.first().cloned().map(|expr| test(&expr.unalias(), schema))
        }
        _ => None,
    };
    match tested {
        Some((Some(predicate), TableProviderFilterPushDown::Exact))
            if Predicate::parse(&predicate.to_string()).is_ok_and(|again| again == predicate) =>
        {
            Ok(predicate)
        }
        _ => plan_err!(
            "CHECK ({condition}) is not supported: constraints compare columns with values and with each other (=, <, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT), without functions, arithmetic and subqueries; VARCHAR(n) limits a length"
        ),
    }
}

impl Definitions<'_> {
    /// `ALTER TABLE … ADD CONSTRAINT`.
    pub(super) async fn add_constraint(&self, table: &KeyedTable, constraint: &TableConstraint) -> Result<()> {
        match constraint {
            TableConstraint::Check(_) => {
                let declared = take_constraints(&mut [], &mut vec![constraint.clone()]);
                for constraint in self.plan_constraints(table, &table.schema(), declared)? {
                    if let Constraint::Check { name, condition } = constraint {
                        self.change_table(table, move |transaction| transaction.add_check(&name, &condition)).await?;
                    }
                }
                Ok(())
            }
            TableConstraint::Unique(unique) => {
                let columns = unique.columns.iter().map(column_name).collect::<Result<Vec<_>>>()?;
                if table.has_row_numbers() {
                    check_are_no_numbers(columns.iter())?;
                }
                let name = unique.name.as_ref().map_or_else(|| format!("{}_key", columns.join("_")), normal);
                self.change_table(table, move |transaction| transaction.create_index(&name, &columns, true)).await
            }
            TableConstraint::ForeignKey(_) => {
                let declared = take_foreign_keys(&mut [], &mut vec![constraint.clone()]);
                self.check_is_in_database(table)?;
                self.add_foreign_keys(table.name(), table.name(), declared).await
            }
            other => plan_err!(
                "{other} is not supported; ALTER TABLE adds CHECK (…), UNIQUE (…) and FOREIGN KEY (…) REFERENCES t (…)"
            ),
        }
    }

    /// `ALTER TABLE … DROP CONSTRAINT`: a condition, or the unique index of this name.
    pub(super) async fn drop_constraint(
        &self,
        table: &KeyedTable,
        name: &Ident,
        if_exists: bool,
        drop_behavior: Option<&DropBehavior>,
    ) -> Result<()> {
        if matches!(drop_behavior, Some(DropBehavior::Cascade)) {
            return plan_err!("CASCADE is not supported: nothing depends on a constraint; leave it out");
        }
        let (snapshot, name) = (table.newest()?, normal(name));
        if check_names(&snapshot.constraints()).contains(&name) {
            return self.change_table(table, move |transaction| transaction.drop_constraint(&name)).await;
        }
        if table.foreign_keys()?.iter().any(|key| key.name == name) {
            self.check_is_in_database(table)?;
            let table = table.name().to_owned();
            return self.change_database(move |transaction| transaction.drop_foreign_key(&table, &name)).await;
        }
        if snapshot.indexes().iter().any(|index| index.is_unique && index.name == name) {
            return self.change_table(table, move |transaction| transaction.drop_index(&name)).await;
        }
        match if_exists {
            true => Ok(()),
            false => plan_err!("table {:?} has no constraint {name:?}", table.name()),
        }
    }

    /// Returns an error for a table that is attached by its folder: foreign keys refer to tables of one database.
    pub(super) fn check_is_in_database(&self, table: &KeyedTable) -> Result<()> {
        match self.tables.is_in_database(table.name())? {
            true => Ok(()),
            false => plan_err!(
                "table {:?} is attached by its folder; foreign keys are between tables of the session's database",
                table.name()
            ),
        }
    }

    /// The constraints that a statement adds to a table, which then has these columns.
    pub(super) fn plan_constraints(
        &self,
        table: &KeyedTable,
        schema: &SchemaRef,
        declared: DeclaredConstraints,
    ) -> Result<Vec<Constraint>> {
        let taken = check_names(&table.newest()?.constraints());
        declared.plan(self.state, table.name(), schema, taken)
    }
}
