//! `min` and `max` over windows, which DataFusion 55 declares to be sorted: they only fall or rise from row to row.
//!
//! But they are null until a frame has a value, wherever an order puts nulls, so `ORDER BY max(x) OVER (ORDER BY t) NULLS LAST` was not
//! sorted. Here they declare no order.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::WindowFunctionDefinition;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, LogicalPlan, ReversedUDAF, Signature,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use crate::rewrite::expressions::rewrite_expressions;

/// Replaces the functions in windows. It runs last, when other rules have chosen them.
#[derive(Debug)]
pub(crate) struct RunningExtremes;

impl AnalyzerRule for RunningExtremes {
    fn name(&self) -> &'static str {
        "lath_running_extremes"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Window(_) => rewrite_expressions(plan, |expr, _| expr.transform_up(|expr| Ok(rewrite(expr)))),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(rewritten.data)
    }
}

fn rewrite(mut expr: Expr) -> Transformed<Expr> {
    if let Expr::WindowFunction(call) = &mut expr
        && let WindowFunctionDefinition::AggregateUDF(function) = &mut call.fun
        && ["min", "max"].contains(&function.name())
    {
        *function = Arc::new(AggregateUDF::from(Running(Arc::clone(function))));
        return Transformed::yes(expr);
    }
    Transformed::no(expr)
}

/// An aggregate function of a window, without monotonicity.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Running(Arc<AggregateUDF>);

impl AggregateUDFImpl for Running {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.0.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        self.0.return_field(arg_fields)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.inner().coerce_types(arg_types)
    }

    fn is_nullable(&self) -> bool {
        self.0.is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.0.accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.0.create_sliding_accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.0.default_value(data_type)
    }
}
