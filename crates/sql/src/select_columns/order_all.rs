//! `ORDER BY ALL`: by all items of the select list, from the first.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, OrderBy, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, Value, VisitorMut,
};

/// Writes it as positions. Lists with `*` stay: DataFusion 55 orders by columns.
pub(super) struct OrderAll;

impl VisitorMut for OrderAll {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(count) = list_length(&query.body)
            && let Some(OrderBy { kind, .. }) = &mut query.order_by
            && let OrderByKind::All(options) = kind
        {
            let position = |number: usize| OrderByExpr {
                expr: Expr::value(Value::Number(number.to_string(), false)),
                options: *options,
                with_fill: None,
            };
            *kind = OrderByKind::Expressions((1..=count).map(position).collect());
        }
        ControlFlow::Continue(())
    }
}

fn list_length(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_single =
                |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(is_single).then_some(select.projection.len())
        }
        SetExpr::SetOperation { left, .. } => list_length(left),
        SetExpr::Query(query) => list_length(&query.body),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}
