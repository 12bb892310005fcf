//! `array_agg` with DISTINCT and an order.
//!
//! DataFusion 55 may read the rows in the opposite order and reverse the list, but does not reverse it with DISTINCT. Here it sorts
//! instead.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Expr, GroupsAccumulator, LogicalPlan, ReversedUDAF,
    Signature,
};
use datafusion::optimizer::AnalyzerRule;

use crate::rewrite::expressions::rewrite_expressions;

/// The function that replaces `array_agg` with DISTINCT and an order.
pub(crate) fn ordered_list_function() -> AggregateUDF {
    AggregateUDF::from(OrderedList { inner: array_agg_udaf().as_ref().clone() })
}

/// Replaces `array_agg(DISTINCT … ORDER BY …)`. Without DISTINCT, reversing the list is correct, and lists of nested values need it.
#[derive(Debug)]
pub(crate) struct DistinctLists {
    function: Arc<AggregateUDF>,
}

impl DistinctLists {
    pub(crate) fn new() -> Self {
        Self { function: Arc::new(ordered_list_function()) }
    }

    fn rewrite(&self, mut expr: Expr) -> Transformed<Expr> {
        match &mut expr {
            Expr::AggregateFunction(call)
                if call.func.name() == "array_agg" && call.params.distinct && !call.params.order_by.is_empty() =>
            {
                call.func = Arc::clone(&self.function);
                Transformed::yes(expr)
            }
            _ => Transformed::no(expr),
        }
    }
}

impl AnalyzerRule for DistinctLists {
    fn name(&self) -> &str {
        "lath_distinct_lists"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(_) => {
                rewrite_expressions(plan, |expr, _| expr.transform_up(|expr| Ok(self.rewrite(expr))))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(rewritten.data)
    }
}

/// DataFusion's `array_agg`, declared as not reversible.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedList {
    inner: AggregateUDF,
}

impl AggregateUDFImpl for OrderedList {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        beneficial_ordering: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let inner = self.inner.clone().with_beneficial_ordering(beneficial_ordering)?;
        Ok(inner.map(|inner| Arc::new(Self { inner }) as Arc<dyn AggregateUDFImpl>))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
