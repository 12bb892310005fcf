use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::functions_aggregate::expr_fn::{count, max, min};
use datafusion::logical_expr::expr::{SetComparison, SetQuantifier};
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr, lit, when,
};
use datafusion::scalar::ScalarValue;

use super::attach::{Attachment, SubqueryRelation, key_names, keys_and, pushed};
use super::columns;
use super::domain::Domain;

const NULL: Expr = Expr::Literal(ScalarValue::Boolean(None), None);

impl Attachment<'_> {
    /// Tests membership in a subquery; null counts as false.
    pub(super) fn is_match(&mut self, value: Expr, subquery: &LogicalPlan) -> Result<Expr> {
        let value = self.as_column(value)?;
        let domain = Domain::new(Arc::clone(&self.base), subquery, self.names)?;
        self.matched(value, subquery, &domain)
    }

    /// `value [NOT] IN (subquery)`: true if the value is found, false if there are no rows, null if the value or one of the rows is null.
    pub(super) fn is_in(&mut self, value: Expr, subquery: &LogicalPlan, negated: bool) -> Result<Expr> {
        let value = self.as_column(value)?;
        let domain = Domain::new(Arc::clone(&self.base), subquery, self.names)?;
        let has_nulls = value.nullable(self.plan.schema()).unwrap_or(true) || subquery.schema().field(0).is_nullable();
        let matched = self.matched(value.clone(), subquery, &domain)?;
        if !has_nulls {
            return Ok(if negated { Expr::Not(Box::new(matched)) } else { matched });
        }
        let group = self.group(subquery, &domain, false)?;
        when(matched, lit(!negated))
            .when(group.is_empty(), lit(negated))
            .when(value.is_null().or(group.has_nulls()), NULL)
            .otherwise(lit(negated))
    }

    /// `value op ANY (subquery)` and `value op ALL (subquery)`.
    pub(super) fn compare(&mut self, comparison: SetComparison) -> Result<Expr> {
        let SetComparison { expr, subquery, op, quantifier } = comparison;
        let is_any = quantifier == SetQuantifier::Any;
        match op {
            Operator::Eq if is_any => return self.is_in(*expr, &subquery.subquery, false),
            Operator::NotEq if !is_any => return self.is_in(*expr, &subquery.subquery, true),
            Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {}
            _ => return Ok(Expr::SetComparison(SetComparison { expr, subquery, op, quantifier })),
        }
        let value = self.as_column(*expr)?;
        let domain = Domain::new(Arc::clone(&self.base), &subquery.subquery, self.names)?;
        let group = self.group(&subquery.subquery, &domain, true)?;
        let with = |bound: &str| binary_expr(value.clone(), op, group.joined.column(bound));
        // One row decides: with true for ANY, with false for ALL.
        let decided = match (op, is_any) {
            (Operator::Eq, _) => Expr::Not(Box::new(with("least").and(with("greatest")))),
            (Operator::NotEq, _) => with("least").or(with("greatest")),
            (Operator::Lt | Operator::LtEq, true) => with("greatest"),
            (Operator::Gt | Operator::GtEq, true) => with("least"),
            (Operator::Lt | Operator::LtEq, false) => Expr::Not(Box::new(with("least"))),
            (_, false) | (_, true) => Expr::Not(Box::new(with("greatest"))),
        };
        when(group.is_empty(), lit(!is_any))
            .when(decided, lit(is_any))
            .when(value.clone().is_null().or(group.has_nulls()), NULL)
            .otherwise(lit(!is_any))
    }

    /// Makes the value a column, unless it is one or a constant.
    fn as_column(&mut self, value: Expr) -> Result<Expr> {
        if matches!(value, Expr::Column(_) | Expr::Literal(..)) {
            return Ok(value);
        }
        let name = format!("__value_{}", self.names.next());
        let mut exprs = columns::all(self.plan.schema());
        exprs.push(value.alias(&name));
        self.plan = LogicalPlanBuilder::from(self.plan.clone()).project(exprs)?.build()?;
        Ok(Expr::Column(Column::from_name(name)))
    }

    fn matched(&mut self, value: Expr, subquery: &LogicalPlan, domain: &Domain<'_>) -> Result<Expr> {
        if matches!(value, Expr::Literal(..)) {
            let is_member = Expr::Column(columns::at(subquery.schema(), 0)).eq(value);
            let members = LogicalPlanBuilder::from(subquery.clone()).filter(is_member)?.build()?;
            return self.exists(&members, false);
        }
        let pushed = pushed(subquery, domain)?;
        let member = || Expr::Column(Column::from_name("member"));
        let members = keys_and(&pushed, vec![Expr::Column(columns::at(subquery.schema(), 0)).alias("member")])?;
        let members = members.filter(member().is_not_null())?;
        let members = members.aggregate(key_names(domain).map(Expr::Column).chain([member()]), Vec::<Expr>::new())?;
        let all = key_names(domain).map(Expr::Column).chain([member(), lit(true).alias("found")]);
        let members = members.project(all)?.build()?;
        // Members are not null, so null is distinct from all of them.
        Ok(self.left_join(members, domain, vec![(value, "member")])?.column("found").is_not_null())
    }

    /// Joins, for each value of the domain, the number of rows and of non-null values, and with `bounds` their minimum and maximum.
    fn group(&mut self, subquery: &LogicalPlan, domain: &Domain<'_>, bounds: bool) -> Result<Group> {
        let pushed = pushed(subquery, domain)?;
        let member = || Expr::Column(Column::from_name("member"));
        let members = keys_and(&pushed, vec![Expr::Column(columns::at(subquery.schema(), 0)).alias("member")])?;
        let mut aggregates = vec![count(lit(1_i64)).alias("rows"), count(member()).alias("members")];
        if bounds {
            aggregates.extend([min(member()).alias("least"), max(member()).alias("greatest")]);
        }
        let keys: Vec<Expr> = key_names(domain).map(Expr::Column).collect();
        let is_total = keys.is_empty();
        let groups = members.aggregate(keys, aggregates)?.build()?;
        let joined = if is_total { self.cross_join(groups)? } else { self.left_join(groups, domain, vec![])? };
        Ok(Group { joined, is_total })
    }
}

struct Group {
    joined: SubqueryRelation,
    is_total: bool,
}

impl Group {
    fn is_empty(&self) -> Expr {
        let rows = self.joined.column("rows");
        if self.is_total { rows.eq(lit(0_i64)) } else { rows.is_null() }
    }

    fn has_nulls(&self) -> Expr {
        self.joined.column("rows").not_eq(self.joined.column("members"))
    }
}
