//! Expressions that differ only in casts, such as `sum(d)` and `sum(CAST(d AS DOUBLE))`.
//!
//! DataFusion 55 names expressions without their casts, and refuses two expressions with the same name in an aggregate, a window or `GROUP
//! BY`. Here a cast gets a name where that matters: it becomes the argument of a function that returns it unchanged.

use std::collections::HashMap;
use std::ops::ControlFlow;

use arrow_schema::DataType;
use datafusion::common::Result;
use datafusion::common::utils::take_function_args;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr as PlanExpr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SetExpr, Value, VisitMut, VisitorMut, visit_expressions_mut,
};

use crate::syntax::call;

const FUNCTION: &str = "typed_as";

/// Names the casts of a query where expressions would have one name.
pub(crate) fn rewrite(query: &mut Query) {
    let order_by = query.order_by.as_mut();
    match query.body.as_mut() {
        SetExpr::Select(select) => name_casts(select, order_by),
        other => rewrite_operands(other),
    }
}

fn rewrite_operands(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => name_casts(select, None::<&mut Vec<Expr>>),
        SetExpr::SetOperation { left, right, .. } => {
            rewrite_operands(left);
            rewrite_operands(right);
        }
        _ => {}
    }
}

fn name_casts<O: VisitMut>(select: &mut Select, mut order_by: Option<&mut O>) {
    let mut texts = Texts::default();
    if let GroupByExpr::Expressions(keys, _) = &select.group_by {
        keys.iter().for_each(|key| texts.add(key));
    }
    visit(select, order_by.as_deref_mut(), &mut texts);
    if texts.are_ambiguous {
        visit(select, order_by, &mut CastNames::default());
    }
}

fn visit<V: VisitorMut<Break = ()>>(select: &mut Select, order_by: Option<&mut impl VisitMut>, visitor: &mut V) {
    let _ = select.projection.visit(visitor);
    let _ = select.group_by.visit(visitor);
    let _ = select.having.visit(visitor);
    let _ = select.qualify.visit(visitor);
    if let Some(order_by) = order_by {
        let _ = order_by.visit(visitor);
    }
}

/// The texts of calls and keys by their texts without casts.
#[derive(Default)]
struct Texts {
    known: HashMap<String, String>,
    are_ambiguous: bool,
    /// Number of queries around the current expression. Their expressions have separate names.
    depth: usize,
}

impl Texts {
    fn add(&mut self, expr: &Expr) {
        let mut plain = expr.clone();
        let _ = visit_expressions_mut(&mut plain, |expr| {
            while let Expr::Cast { expr: inner, .. } = expr {
                *expr = inner.as_ref().clone();
            }
            ControlFlow::<()>::Continue(())
        });
        let text = expr.to_string();
        self.are_ambiguous |= *self.known.entry(plain.to_string()).or_insert_with(|| text.clone()) != text;
    }
}

impl VisitorMut for Texts {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 && matches!(expr, Expr::Function(_)) {
            self.add(expr);
        }
        ControlFlow::Continue(())
    }
}

#[derive(Default)]
struct CastNames {
    depth: usize,
}

impl VisitorMut for CastNames {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Cast { kind, data_type, .. } = expr
        {
            let name = Expr::value(Value::SingleQuotedString(format!("{kind:?} {data_type}")));
            *expr = call(FUNCTION, vec![expr.clone(), name]);
        }
        ControlFlow::Continue(())
    }
}

/// The function that returns a cast as it is.
pub(crate) fn typed_as_function() -> ScalarUDF {
    ScalarUDF::from(TypedAs { signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TypedAs {
    signature: Signature,
}

impl ScalarUDFImpl for TypedAs {
    fn name(&self) -> &str {
        FUNCTION
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [data_type, _] = take_function_args(FUNCTION, types)?;
        Ok(data_type.clone())
    }

    fn simplify(&self, args: Vec<PlanExpr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let [value, _] = take_function_args(FUNCTION, args)?;
        Ok(ExprSimplifyResult::Simplified(value))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, _] = take_function_args(FUNCTION, args.args)?;
        Ok(value)
    }
}
