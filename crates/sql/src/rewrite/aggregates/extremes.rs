//! `min` and `max` of lists, structs and maps, in the order of ORDER BY.
//!
//! DataFusion 55 does not support maps, and fails with an internal error for structs with nulls and lists of structs.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use arrow_select::take::take;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::utils::take_function_args;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::WindowFunctionDefinition;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, ExprSchemable, LogicalPlan, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use crate::rewrite::expressions::rewrite_expressions;

/// `min` and `max` of nested types.
pub(crate) fn nested_extremes() -> [AggregateUDF; 2] {
    [End::Min, End::Max].map(|end| AggregateUDF::from(Extreme::new(end)))
}

/// Replaces DataFusion's `min` and `max` of nested types. The rule runs after DataFusion's coercion, when types are known.
#[derive(Debug)]
pub(crate) struct NestedExtremes {
    min: Arc<AggregateUDF>,
    max: Arc<AggregateUDF>,
}

impl NestedExtremes {
    pub(crate) fn new() -> Self {
        let [min, max] = nested_extremes().map(Arc::new);
        Self { min, max }
    }

    fn rewrite(&self, mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        let (function, args) = match &mut expr {
            Expr::AggregateFunction(call) => (&mut call.func, &call.params.args),
            Expr::WindowFunction(call) => match &mut call.fun {
                WindowFunctionDefinition::AggregateUDF(function) => (function, &call.params.args),
                WindowFunctionDefinition::WindowUDF(_) => return Transformed::no(expr),
            },
            _ => return Transformed::no(expr),
        };
        let replacement = match function.name() {
            "min" => &self.min,
            "max" => &self.max,
            _ => return Transformed::no(expr),
        };
        let is_nested = |arg: &Expr| arg.get_type(schema).is_ok_and(|data_type| data_type.is_nested());
        if !args.iter().any(is_nested) {
            return Transformed::no(expr);
        }
        *function = Arc::clone(replacement);
        Transformed::yes(expr)
    }
}

impl AnalyzerRule for NestedExtremes {
    fn name(&self) -> &str {
        "lath_nested_extremes"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) => {
                rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| Ok(self.rewrite(expr, schema))))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(rewritten.data)
    }
}

/// An end of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum End {
    Min,
    Max,
}

impl End {
    /// The order in which this end is first. Nulls within values sort last, as in ORDER BY.
    fn sort_options(self) -> SortOptions {
        match self {
            Self::Min => SortOptions { descending: false, nulls_first: false },
            Self::Max => SortOptions { descending: true, nulls_first: true },
        }
    }
}

/// The aggregate function `min` or `max`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    end: End,
    signature: Signature,
}

impl Extreme {
    fn new(end: End) -> Self {
        Self { end, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        match self.end {
            End::Min => "min",
            End::Max => "max",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let [data_type] = take_function_args(self.name(), arg_types)?;
        Ok(data_type.clone())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(FirstInOrder {
            order: self.end.sort_options(),
            data_type: args.return_type().clone(),
            first: None,
        }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let (order, data_type) = (self.end.sort_options(), args.return_type().clone());
        Ok(Box::new(FirstInFrame { order, data_type, values: VecDeque::new() }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Accumulates the first value in an order.
#[derive(Debug)]
struct FirstInOrder {
    order: SortOptions,
    data_type: DataType,
    /// An array of one value.
    first: Option<ArrayRef>,
}

impl Accumulator for FirstInOrder {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = take_function_args("min", values)?;
        let Some(row) = first_row(values, self.order)? else { return Ok(()) };
        if let Some(first) = &self.first
            && make_comparator(values, first, self.order)?(row, 0) != Ordering::Less
        {
            return Ok(());
        }
        self.first = Some(one_value(values, row)?);
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match &self.first {
            Some(first) => ScalarValue::try_from_array(first, 0),
            None => ScalarValue::try_from(&self.data_type),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.first.as_ref().map_or(0, |first| first.get_array_memory_size())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// Accumulates the values of a sliding frame, each in its own array. Nulls are kept, too, because they leave the frame in turn.
#[derive(Debug)]
struct FirstInFrame {
    order: SortOptions,
    data_type: DataType,
    values: VecDeque<ArrayRef>,
}

impl Accumulator for FirstInFrame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = take_function_args("min", values)?;
        for row in 0..values.len() {
            self.values.push_back(one_value(values, row)?);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = take_function_args("min", values)?;
        self.values.drain(..values.len().min(self.values.len()));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut first = FirstInOrder { order: self.order, data_type: self.data_type.clone(), first: None };
        for value in &self.values {
            first.update_batch(std::slice::from_ref(value))?;
        }
        first.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.iter().map(|value| value.get_array_memory_size()).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// The row of the first non-null value in an order.
fn first_row(values: &ArrayRef, order: SortOptions) -> Result<Option<usize>> {
    let compare = make_comparator(values, values, order)?;
    let rows = (0..values.len()).filter(|&row| values.is_valid(row));
    Ok(rows.reduce(|first, row| if compare(row, first) == Ordering::Less { row } else { first }))
}

/// Copies one value, so that the others can be freed.
fn one_value(values: &ArrayRef, row: usize) -> Result<ArrayRef> {
    Ok(take(values, &UInt64Array::from(vec![row as u64]), None)?)
}
