use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::functions_aggregate::expr_fn::{count, first_value};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{BinaryExpr, Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, lit};

use super::domain::{Domain, DomainPlan, is_correlated, repeatable};
use super::one_row::one_row;
use super::push::push;
use super::{Names, columns, simple};

/// A plan to which the values of subqueries are joined. It keeps its rows and columns, and gets more columns.
pub(super) struct Attachment<'a> {
    /// The plan without joined subqueries.
    pub(super) base: Arc<LogicalPlan>,
    pub(super) plan: LogicalPlan,
    pub(super) names: &'a Names,
}

/// The relation with the columns of a joined subquery.
pub(super) struct SubqueryRelation {
    pub(super) relation: String,
}

impl SubqueryRelation {
    pub(super) fn column(&self, name: &str) -> Expr {
        Expr::Column(Column::new(Some(self.relation.as_str()), name))
    }
}

/// Whether scalar subqueries that DataFusion evaluates correctly stay.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scalars {
    Kept,
    Joined,
}

impl<'a> Attachment<'a> {
    pub(super) fn new(plan: LogicalPlan, names: &'a Names) -> Result<Self> {
        let plan = repeatable(plan)?;
        Ok(Self { base: Arc::new(plan.clone()), plan, names })
    }

    /// Replaces the subqueries of a condition by columns. Null counts as false.
    pub(super) fn condition(&mut self, expr: Expr, scalars: Scalars) -> Result<Expr> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                let left = self.condition(*left, scalars)?;
                let right = self.condition(*right, scalars)?;
                Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated: false }) => {
                let value = self.value(*expr, scalars)?;
                self.is_match(value, &subquery.subquery)
            }
            other => self.value(other, scalars),
        }
    }

    /// Replaces the subqueries of an expression by columns.
    pub(super) fn value(&mut self, expr: Expr, scalars: Scalars) -> Result<Expr> {
        let replaced = expr.transform_up(|expr| match expr {
            Expr::Exists(Exists { subquery, negated }) => {
                self.exists(&subquery.subquery, negated).map(Transformed::yes)
            }
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                self.is_in(*expr, &subquery.subquery, negated).map(Transformed::yes)
            }
            Expr::SetComparison(comparison) => self.compare(comparison).map(Transformed::yes),
            Expr::ScalarSubquery(subquery) => {
                let plan = &subquery.subquery;
                let is_kept = scalars == Scalars::Kept || !(self.names.joins_scalars || is_correlated(plan)?);
                if is_kept && simple::is_scalar(plan, self.base.schema(), self.names.joins_scalars)? {
                    return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
                }
                self.scalar(plan).map(Transformed::yes)
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(replaced.data)
    }

    pub(super) fn exists(&mut self, subquery: &LogicalPlan, negated: bool) -> Result<Expr> {
        let domain = Domain::new(Arc::clone(&self.base), subquery, self.names)?;
        if domain.columns().is_empty() {
            let rows = LogicalPlanBuilder::from(subquery.clone());
            let rows = if is_correlated(subquery)? { rows } else { rows.limit(0, Some(1))? };
            let rows = rows.aggregate(Vec::<Expr>::new(), [count(lit(1_i64)).alias("rows")])?.build()?;
            let rows = self.cross_join(rows)?.column("rows");
            return Ok(if negated { rows.eq(lit(0_i64)) } else { rows.gt(lit(0_i64)) });
        }
        let pushed = push(subquery, &domain)?;
        // GROUP BY instead of DISTINCT: DataFusion removes a DISTINCT if it considers the domain a key of the joined rows.
        let found = keys_and(&pushed, vec![])?.aggregate(key_names(&domain).map(Expr::Column), Vec::<Expr>::new())?;
        let found = found.project(key_names(&domain).map(Expr::Column).chain([lit(true).alias("found")]))?.build()?;
        let found = self.left_join(found, &domain, vec![])?.column("found");
        Ok(if negated { found.is_null() } else { found.is_not_null() })
    }

    fn scalar(&mut self, subquery: &LogicalPlan) -> Result<Expr> {
        let domain = Domain::new(Arc::clone(&self.base), subquery, self.names)?;
        let pushed = pushed(subquery, &domain)?;
        let value = Expr::Column(columns::at(subquery.schema(), 0)).alias("value");
        let values = keys_and(&pushed, vec![value])?;
        let value = || Expr::Column(Column::from_name("value"));
        if simple::has_one_row(subquery) && !domain.columns().is_empty() {
            return Ok(self.left_join(values.build()?, &domain, vec![])?.column("value"));
        }
        let keys: Vec<Expr> = key_names(&domain).map(Expr::Column).collect();
        let aggregates = [first_value(value(), vec![]).alias("first"), count(lit(1_i64)).alias("rows")];
        let is_total = keys.is_empty();
        let values = values.aggregate(keys, aggregates)?.build()?;
        let joined = if is_total { self.cross_join(values)? } else { self.left_join(values, &domain, vec![])? };
        Ok(one_row(joined.column("first"), joined.column("rows")))
    }

    /// Joins a single row to all rows.
    pub(super) fn cross_join(&mut self, row: LogicalPlan) -> Result<SubqueryRelation> {
        let relation = format!("__subquery_{}", self.names.next());
        let row = LogicalPlanBuilder::from(row).alias(relation.as_str())?.build()?;
        self.plan = LogicalPlanBuilder::from(self.plan.clone()).cross_join(row)?.build()?;
        Ok(SubqueryRelation { relation })
    }

    /// Joins the row whose keys equal the domain's columns and for which the condition is true.
    pub(super) fn left_join(
        &mut self,
        values: LogicalPlan,
        domain: &Domain<'_>,
        condition: Vec<(Expr, &str)>,
    ) -> Result<SubqueryRelation> {
        let joined = SubqueryRelation { relation: format!("__subquery_{}", self.names.next()) };
        let values = LogicalPlanBuilder::from(values).alias(joined.relation.as_str())?.build()?;
        let keys: Vec<Column> =
            key_names(domain).map(|key| Column::new(Some(joined.relation.as_str()), key.name)).collect();
        let mut conditions = columns::same(domain.columns(), &keys);
        for (value, name) in condition {
            let is_same = BinaryExpr::new(Box::new(value), Operator::IsNotDistinctFrom, Box::new(joined.column(name)));
            conditions.push(Expr::BinaryExpr(is_same));
        }
        let plan = LogicalPlanBuilder::from(self.plan.clone());
        self.plan = plan.join_on(values, JoinType::Left, conditions)?.build()?;
        Ok(joined)
    }
}

/// Pushes the domain through the subquery's plan. An empty domain leaves the plan unchanged.
pub(super) fn pushed(subquery: &LogicalPlan, domain: &Domain<'_>) -> Result<DomainPlan> {
    if domain.columns().is_empty() {
        return Ok(DomainPlan { plan: subquery.clone(), domain: Vec::new() });
    }
    push(subquery, domain)
}

/// The names of the domain's columns in `keys_and`.
pub(super) fn key_names(domain: &Domain<'_>) -> impl Iterator<Item = Column> {
    (0..domain.columns().len()).map(|at| Column::from_name(format!("key_{at}")))
}

/// Projects the domain's columns, renamed, and `values`.
pub(super) fn keys_and(pushed: &DomainPlan, values: Vec<Expr>) -> Result<LogicalPlanBuilder> {
    let keys = pushed.domain.iter().enumerate();
    let keys = keys.map(|(at, key)| Expr::Column(key.clone()).alias(format!("key_{at}")));
    LogicalPlanBuilder::from(pushed.plan.clone()).project(keys.chain(values))
}
