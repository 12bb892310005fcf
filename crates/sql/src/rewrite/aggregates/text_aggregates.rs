//! `string_agg` with DISTINCT and an order, and several with different orders.
//!
//! DataFusion 55 sorts the rows once for all of them, refuses more than one order, and reverses the order of DISTINCT if the rows come in
//! the opposite one. Lists sort their own elements (see `list_aggregates`), so here each text is a joined list.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName, OrderByExpr, Select, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use crate::dialect::normal;
use crate::syntax::call;

/// Replaces `string_agg` in a select list by joined lists if DataFusion would not sort as written.
pub(crate) fn order_apart(select: &mut Select) {
    let mut orders = Orders::default();
    visit(select, &mut orders);
    if orders.differ {
        visit(select, &mut JoinedLists);
    }
}

fn visit(select: &mut Select, visitor: &mut impl VisitorMut<Break = ()>) {
    let _ = select.projection.visit(visitor);
    let _ = select.having.visit(visitor);
}

/// Detects different orders, or an order with DISTINCT.
#[derive(Default)]
struct Orders {
    first: Option<Vec<OrderByExpr>>,
    differ: bool,
}

impl VisitorMut for Orders {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some((is_distinct, order)) = ordered_text(expr) {
            let first = self.first.get_or_insert_with(|| order.to_vec());
            self.differ |= is_distinct || first != order;
        }
        ControlFlow::Continue(())
    }
}

struct JoinedLists;

impl VisitorMut for JoinedLists {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if ordered_text(expr).is_some()
            && let Expr::Function(function) = expr
            && let Some(joined) = joined_list(function)
        {
            *expr = joined;
        }
        ControlFlow::Continue(())
    }
}

/// Whether a `string_agg` is DISTINCT, and its order; `None` if it has no order.
fn ordered_text(expr: &Expr) -> Option<(bool, &[OrderByExpr])> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, .. }) = expr else {
        return None;
    };
    let [name] = name.0.as_slice() else { return None };
    if normal(name.as_ident()?) != "string_agg" {
        return None;
    }
    let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    list.clauses.iter().find_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(order) => Some((is_distinct, order.as_slice())),
        _ => None,
    })
}

/// Builds `array_to_string(array_agg(x ORDER BY …) FILTER (WHERE x IS NOT NULL), separator)`.
fn joined_list(function: &Function) -> Option<Expr> {
    let mut list = function.clone();
    list.name = ObjectName::from(vec![Ident::new("array_agg")]);
    let FunctionArguments::List(arguments) = &mut list.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(text)), FunctionArg::Unnamed(FunctionArgExpr::Expr(separator))] =
        arguments.args.as_slice()
    else {
        return None;
    };
    if !matches!(separator, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. })) {
        return None;
    }
    let (text, separator) = (text.clone(), separator.clone());
    arguments.args.truncate(1);
    let is_text = Expr::IsNotNull(Box::new(text));
    list.filter = Some(Box::new(match list.filter.take() {
        Some(filter) => {
            let filter = Box::new(Expr::Nested(filter));
            Expr::BinaryOp { left: filter, op: BinaryOperator::And, right: Box::new(is_text) }
        }
        None => is_text,
    }));
    Some(call("array_to_string", vec![Expr::Function(list), separator]))
}
