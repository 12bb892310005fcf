//! `UNPIVOT`: a row for each of some columns, with its name and its value.

use std::ops::ControlFlow;

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    Expr, ExprWithAlias, Ident, NullInclusion, Query, SelectItem, TableFactor, Value, visit_expressions,
};

use super::source::{Source, all_columns, items, quoted, select};
use crate::dialect::normal;
use crate::syntax::call;

/// A form of UNPIVOT.
pub(super) struct Unpivot {
    columns: Vec<SelectItem>,
    /// The columns of names and of values.
    name: Ident,
    value: Ident,
    with_nulls: bool,
}

impl Unpivot {
    /// The form `UNPIVOT t ON …`, whose parts are queries.
    pub(super) fn from_queries(columns: &Query, name: &Query, value: &Query) -> Result<Self> {
        let identifier = |query: &Query| match items(query)?.as_slice() {
            [SelectItem::UnnamedExpr(Expr::Identifier(name))] => Ok(name.clone()),
            _ => plan_err!("UNPIVOT: INTO NAME name VALUE value has the names of two columns"),
        };
        let (name, value) = (identifier(name)?, identifier(value)?);
        Ok(Self { columns: items(columns)?, name, value, with_nulls: false })
    }

    /// The standard form, `t UNPIVOT (value FOR name IN (a, b))`.
    pub(super) fn from_factor(factor: &TableFactor) -> Result<Self> {
        let TableFactor::Unpivot { value, null_inclusion, name, columns, .. } = factor else {
            return plan_err!("{factor} is not UNPIVOT");
        };
        let value = match value {
            Expr::Identifier(value) => value.clone(),
            Expr::Nested(inner) => match inner.as_ref() {
                Expr::Identifier(value) => value.clone(),
                other => return plan_err!("UNPIVOT: {other} is not the name of a column"),
            },
            other => return plan_err!("UNPIVOT has one column of values, and not {other}"),
        };
        let item = |ExprWithAlias { expr, alias }: &ExprWithAlias| match alias.clone() {
            Some(alias) => SelectItem::ExprWithAlias { expr: expr.clone(), alias },
            None => SelectItem::UnnamedExpr(expr.clone()),
        };
        let with_nulls = matches!(null_inclusion, Some(NullInclusion::IncludeNulls));
        Ok(Self { columns: columns.iter().map(item).collect(), name: name.clone(), value, with_nulls })
    }

    /// The query of the result.
    pub(super) async fn query(self, source: &Source<'_>) -> Result<Query> {
        let all = source.columns().await?;
        // `*` and COLUMNS stand for columns of the source.
        let chosen = source.output_names(select(source.table(), self.columns.clone(), |_| {})?).await?;
        let is_plain = self.columns.iter().all(|item| {
            matches!(item, SelectItem::UnnamedExpr(Expr::Identifier(_)) | SelectItem::ExprWithAlias { .. })
        });
        let mut columns: Vec<(String, Expr)> = Vec::new();
        for (at, name) in chosen.into_iter().enumerate() {
            match self.columns.get(at).filter(|_| is_plain) {
                Some(SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr)) => {
                    columns.push((name, expr.clone()));
                }
                _ if all.iter().any(|field| *field.name() == name) => columns.push((name.clone(), quoted(&name))),
                _ => return plan_err!("UNPIVOT: {name} is not a column; name the expression: ON (a + b) AS name, …"),
            }
        }
        if columns.is_empty() {
            return plan_err!("UNPIVOT: ON has no columns");
        }
        let mut used = Vec::new();
        for (_, expr) in &columns {
            let _ = visit_expressions(expr, |expr| {
                if let Expr::Identifier(name) = expr {
                    used.push(normal(name));
                }
                ControlFlow::<()>::Continue(())
            });
        }
        let others = all.iter().filter(|field| !used.contains(field.name()));
        let mut items: Vec<SelectItem> = others.map(|field| SelectItem::UnnamedExpr(quoted(field.name()))).collect();
        let names = columns.iter().map(|(name, _)| Expr::value(Value::SingleQuotedString(name.clone())));
        let lists =
            [(&self.name, names.collect()), (&self.value, columns.iter().map(|(_, expr)| expr.clone()).collect())];
        for (alias, list) in lists {
            let expr = call("unnest", vec![call("make_array", list)]);
            items.push(SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', normal(alias)) });
        }
        let rows = select(source.table(), items, |_| {})?;
        if self.with_nulls {
            return Ok(rows);
        }
        let table = TableFactor::Derived { lateral: false, subquery: Box::new(rows), alias: None, sample: None };
        let value = quoted(&normal(&self.value));
        let mut query = all_columns(&table)?;
        if let datafusion::sql::sqlparser::ast::SetExpr::Select(select) = query.body.as_mut() {
            select.selection = Some(Expr::IsNotNull(Box::new(value)));
        }
        Ok(query)
    }
}
