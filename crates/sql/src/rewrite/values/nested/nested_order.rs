//! Orders lists and structs with nulls inside as PostgreSQL and DuckDB do: such nulls are above all other values.
//!
//! DataFusion 55 puts them below other values in `<` and with `NULLS FIRST`, and above other values elsewhere. Its ordered aggregates
//! (`array_agg(x ORDER BY list)`) do not sort structs with nulls. Here such values are compared by keys: byte strings with the order of the
//! values.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, SortOptions};
use arrow_select::interleave::interleave;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::utils::take_function_args;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Between, BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, SortExpr, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use crate::rewrite::expressions::rewrite_expressions;

/// The function that makes keys, `greatest` and `least`.
pub(crate) fn nested_order_functions() -> [ScalarUDF; 3] {
    let extreme = |name| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        ScalarUDF::from(NestedExtreme { name, signature })
    };
    [ScalarUDF::from(NestedKey::new()), extreme("greatest"), extreme("least")]
}

/// Replaces nested values by their keys if DataFusion orders them differently. The rule runs after DataFusion's coercion, when types are
/// known.
#[derive(Debug)]
pub(crate) struct NestedOrder {
    key: Arc<ScalarUDF>,
    greatest: Arc<ScalarUDF>,
    least: Arc<ScalarUDF>,
}

impl NestedOrder {
    pub(crate) fn new() -> Self {
        let [key, greatest, least] = nested_order_functions().map(Arc::new);
        Self { key, greatest, least }
    }

    fn rewrite_plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::Sort(mut sort) = plan {
            let mut is_changed = false;
            for by in &mut sort.expr {
                is_changed |= has_nulls_inside_elsewhere(by) && self.order_by_key(by, sort.input.schema());
            }
            return Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), is_changed));
        }
        rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| Ok(self.rewrite(expr, schema))))
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        use Operator::{Gt, GtEq, Lt, LtEq};
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Lt | LtEq | Gt | GtEq), right })
                if has_key(&left, schema) && has_key(&right, schema) =>
            {
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left: self.key(*left), op, right: self.key(*right) }))
            }
            Expr::Between(Between { expr, negated, low, high })
                if has_key(&expr, schema) && has_key(&low, schema) && has_key(&high, schema) =>
            {
                let (expr, low, high) = (self.key(*expr), self.key(*low), self.key(*high));
                Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
            }
            Expr::ScalarFunction(ScalarFunction { func, args })
                if ["greatest", "least"].contains(&func.name())
                    && args.iter().all(|argument| has_key(argument, schema)) =>
            {
                let is_greatest = func.name() == "greatest";
                let function = Arc::clone(if is_greatest { &self.greatest } else { &self.least });
                Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
            }
            Expr::AggregateFunction(mut function) => {
                let mut is_changed = false;
                for by in &mut function.params.order_by {
                    is_changed |= self.order_by_key(by, schema);
                }
                Transformed::new_transformed(Expr::AggregateFunction(function), is_changed)
            }
            Expr::WindowFunction(mut function) => {
                let mut is_changed = false;
                for by in &mut function.params.order_by {
                    is_changed |= has_nulls_inside_elsewhere(by) && self.order_by_key(by, schema);
                }
                Transformed::new_transformed(Expr::WindowFunction(function), is_changed)
            }
            other => Transformed::no(other),
        }
    }

    /// Whether the order is by the key now.
    fn order_by_key(&self, by: &mut SortExpr, schema: &DFSchema) -> bool {
        if !has_key(&by.expr, schema) {
            return false;
        }
        by.expr = self.key.call(vec![by.expr.clone()]);
        true
    }

    fn key(&self, value: Expr) -> Box<Expr> {
        Box::new(self.key.call(vec![value]))
    }
}

impl AnalyzerRule for NestedOrder {
    fn name(&self) -> &str {
        "lath_nested_order"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(|plan| self.rewrite_plan(plan))?.data)
    }
}

/// Whether DataFusion would sort nulls within values below others in an ascending order, or above them in a descending one.
fn has_nulls_inside_elsewhere(by: &SortExpr) -> bool {
    by.asc == by.nulls_first
}

/// Whether an expression has nested values that have keys.
fn has_key(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| {
        let is_ordered = matches!(
            data_type,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Struct(_)
        );
        is_ordered && RowConverter::supports_fields(&[SortField::new(data_type)])
    })
}

/// The function that converts nested values to keys; null stays null.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NestedKey {
    signature: Signature,
}

impl NestedKey {
    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for NestedKey {
    fn name(&self) -> &str {
        "nested_key"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::LargeBinary)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [values] = take_function_args(self.name(), args.args)?;
        match values {
            ColumnarValue::Array(values) => keys(&values).map(ColumnarValue::Array),
            ColumnarValue::Scalar(value) => {
                let keys = keys(&value.to_array()?)?;
                ScalarValue::try_from_array(&keys, 0).map(ColumnarValue::Scalar)
            }
        }
    }
}

/// `greatest` or `least` of nested values of one type; nulls are passed over.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NestedExtreme {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for NestedExtreme {
    fn name(&self) -> &'static str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types.first() {
            Some(data_type) => Ok(data_type.clone()),
            None => plan_err!("{} has arguments", self.name),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let target = args.return_field.data_type();
        let arrays = args.args.into_iter().map(|argument| Ok(cast(&argument.into_array(rows)?, target)?));
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let converter = converter(target)?;
        let keys = arrays.iter().map(|array| converter.convert_columns(std::slice::from_ref(array)));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let wanted = if self.name == "greatest" { Ordering::Greater } else { Ordering::Less };
        let chosen = (0..rows).map(|row| {
            let mut best = (0, row);
            for (at, array) in arrays.iter().enumerate().skip(1) {
                let is_better = arrays[best.0].is_null(row) || keys[at].row(row).cmp(&keys[best.0].row(row)) == wanted;
                if array.is_valid(row) && is_better {
                    best = (at, row);
                }
            }
            best
        });
        let chosen: Vec<(usize, usize)> = chosen.collect();
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(interleave(&arrays, &chosen)?))
    }
}

/// A converter to keys with nulls above other values.
fn converter(data_type: &DataType) -> Result<RowConverter> {
    let order = SortOptions { descending: false, nulls_first: false };
    Ok(RowConverter::new(vec![SortField::new_with_options(data_type.clone(), order)])?)
}

fn keys(values: &ArrayRef) -> Result<ArrayRef> {
    let converter = converter(values.data_type())?;
    let rows = converter.convert_columns(std::slice::from_ref(values))?;
    let mut keys = LargeBinaryBuilder::with_capacity(rows.num_rows(), rows.size());
    for (at, row) in rows.iter().enumerate() {
        keys.append_option(values.is_valid(at).then_some(row.data()));
    }
    Ok(Arc::new(keys.finish()))
}
