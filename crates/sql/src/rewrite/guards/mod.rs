//! Raises errors only for rows that reach an expression: `d <> 0 AND n / d > 2` does not divide by zero, nor does `CASE WHEN d <> 0 THEN n
//! / d > 2 END`.
//!
//! DataFusion 55 evaluates both sides of AND and OR for all rows unless few are left, evaluates the arguments of aggregate functions before
//! their FILTER, reorders the conditions of WHERE, and rewrites CASE to AND and OR. Here an expression that may raise an error is put into
//! a CASE with an operand, which DataFusion evaluates branch by branch and does not rewrite:
//!
//! | expression | becomes, if `f` may raise an error |
//! | --- | --- |
//! | `a AND f` | `CASE a WHEN true THEN f WHEN false THEN false ELSE f AND NULL END` |
//! | `a OR f` | `CASE a WHEN true THEN true WHEN false THEN f ELSE f OR NULL END` |
//! | `WHERE a AND f` | `WHERE a AND CASE true WHEN a THEN f ELSE false END` |
//! | `sum(f) FILTER (WHERE a)` | `sum(CASE true WHEN a THEN f END) FILTER (WHERE a)` |
//!
//! In WHERE, conditions on the tables of `f` guard it regardless of their order, and are still tested by scans. Conditions on other tables
//! do not guard it, because scans would have to wait for joins. Equalities of two tables stay, because they are join keys.

mod fallible;

use std::collections::HashSet;

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, TableReference};
use datafusion::logical_expr::expr::{AggregateFunction, Case};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::scalar::ScalarValue;

pub(crate) use fallible::{has_subquery, is_fallible, is_fallible_by_row};

/// Guards expressions that may raise an error. The rule runs after conditions are simplified and before they are moved.
#[derive(Debug)]
pub(crate) struct Guards;

impl OptimizerRule for Guards {
    fn name(&self) -> &str {
        "lath_guards"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
        }
        let has_conditions = matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            if !is_fallible(&expr, &schema) {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            let guarded = match has_conditions {
                true => guard_conjuncts(expr, &schema)?,
                false => guard(expr, &schema)?,
            };
            Ok(if guarded.transformed { guarded.update_data(|expr| name.restore(expr)) } else { guarded })
        })
    }
}

/// Keeps DataFusion from rewriting CASE to AND and OR, which duplicates conditions.
#[derive(Debug)]
pub(crate) struct BooleanCases;

impl AnalyzerRule for BooleanCases {
    fn name(&self) -> &str {
        "lath_boolean_cases"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let kept = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let kept = expr.transform_up(|expr| Ok(keep_case(expr, &schema)))?;
                Ok(if kept.transformed { kept.update_data(|expr| name.restore(expr)) } else { kept })
            })
        })?;
        Ok(kept.data)
    }
}

fn keep_case(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::Case(case)
            if case.expr.is_none()
                && case.when_then_expr.first().is_some_and(|(_, then)| is_boolean(then, schema))
                && is_fallible(&Expr::Case(case.clone()), schema) =>
        {
            Transformed::yes(Expr::Case(Case { expr: Some(Box::new(lit(true))), ..case }))
        }
        other => Transformed::no(other),
    }
}

fn is_boolean(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| data_type == DataType::Boolean)
}

/// Guards the right sides of AND and OR, and the arguments of aggregates with FILTER.
fn guard(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| {
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right })
                if is_fallible(&right, schema) && !left.is_volatile() && !has_subquery(&right) =>
            {
                Transformed::yes(short_circuit(*left, op, *right))
            }
            Expr::AggregateFunction(function) => guard_arguments(function, schema),
            other => Transformed::no(other),
        })
    })
}

fn short_circuit(left: Expr, op: Operator, right: Expr) -> Expr {
    let unknown = Expr::BinaryExpr(BinaryExpr {
        left: Box::new(right.clone()),
        op,
        right: Box::new(Expr::Literal(ScalarValue::Boolean(None), None)),
    });
    let (if_true, if_false) = match op {
        Operator::And => (right, lit(false)),
        _ => (lit(true), right),
    };
    Expr::Case(Case {
        expr: Some(Box::new(left)),
        when_then_expr: vec![(Box::new(lit(true)), Box::new(if_true)), (Box::new(lit(false)), Box::new(if_false))],
        else_expr: Some(Box::new(unknown)),
    })
}

fn guard_arguments(mut function: AggregateFunction, schema: &DFSchema) -> Transformed<Expr> {
    let Some(filter) = function.params.filter.as_deref().filter(|filter| !filter.is_volatile()).cloned() else {
        return Transformed::no(Expr::AggregateFunction(function));
    };
    let mut any = false;
    for argument in &mut function.params.args {
        if is_fallible(argument, schema) && !is_guarded(argument) {
            let inner = std::mem::replace(argument, lit(true));
            *argument = only_if(filter.clone(), inner, None);
            any = true;
        }
    }
    Transformed::new_transformed(Expr::AggregateFunction(function), any)
}

/// Builds a CASE with `value` where `condition` is true and `other` elsewhere.
fn only_if(condition: Expr, value: Expr, other: Option<Expr>) -> Expr {
    Expr::Case(Case {
        expr: Some(Box::new(lit(true))),
        when_then_expr: vec![(Box::new(condition), Box::new(value))],
        else_expr: other.map(Box::new),
    })
}

/// Whether an expression is guarded already.
fn is_guarded(expr: &Expr) -> bool {
    matches!(expr, Expr::Case(Case { expr: Some(operand), .. }) if **operand == lit(true))
}

/// Guards the conjuncts of a WHERE condition: the fallible ones are evaluated after the others.
fn guard_conjuncts(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut any = false;
    let (mut plain, mut fallible): (Vec<Expr>, Vec<(Tables, Vec<Expr>)>) = (Vec::new(), Vec::new());
    let mut others = Vec::new();
    for conjunct in split_conjunction_owned(expr) {
        if !is_fallible(&conjunct, schema) {
            plain.push(conjunct);
        } else if is_guarded(&conjunct) || is_join_key(&conjunct) || has_subquery(&conjunct) || conjunct.is_volatile() {
            others.push(conjunct);
        } else {
            let conjunct = guard(conjunct, schema)?;
            any |= conjunct.transformed;
            let tables = tables(&conjunct.data);
            match fallible.iter_mut().find(|(others, _)| *others == tables) {
                Some((_, conjuncts)) => conjuncts.push(conjunct.data),
                None => fallible.push((tables, vec![conjunct.data])),
            }
        }
    }
    for (tables, conjuncts) in fallible {
        let guards = plain.iter().filter(|plain| is_guard(plain, &tables)).cloned();
        any |= conjuncts.len() > 1;
        // Keeps the order of evaluation.
        let Some(last) = conjuncts.into_iter().rev().reduce(|later, one| only_if(one, later, Some(lit(false)))) else {
            continue;
        };
        others.push(match conjunction(guards) {
            Some(guards) => {
                any = true;
                only_if(guards, last, Some(lit(false)))
            }
            None => last,
        });
    }
    plain.extend(others);
    Ok(Transformed::new_transformed(conjunction(plain).unwrap_or_else(|| lit(true)), any))
}

/// The tables of columns; `None` for unqualified columns.
type Tables = HashSet<Option<TableReference>>;

/// The tables whose columns an expression uses.
fn tables(expr: &Expr) -> Tables {
    expr.column_refs().into_iter().map(|column| column.relation.clone()).collect()
}

/// Whether a condition uses columns of `tables` only.
fn is_guard(condition: &Expr, tables: &Tables) -> bool {
    let own = self::tables(condition);
    !own.is_empty() && own.is_subset(tables) && !has_subquery(condition) && !condition.is_volatile()
}

/// Whether a condition can be a join key.
fn is_join_key(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return false };
    let (left, right) = (tables(left), tables(right));
    !left.is_empty() && !right.is_empty() && left.is_disjoint(&right)
}
