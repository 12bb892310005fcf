//! Compares intervals by their length, with months of 30 days and days of 24 hours, as PostgreSQL and DuckDB do.
//!
//! DataFusion 55 compares months, then days, then nanoseconds: `ts - TIMESTAMP '2024-01-01' > INTERVAL '58 days'` was false, because a
//! difference of timestamps has no days. Here comparisons, sorts and groups of intervals use their lengths.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, IntervalDayTimeType,
    IntervalMonthDayNanoType, IntervalYearMonthType,
};
use arrow_array::{ArrayRef, Decimal128Array};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::functions_aggregate::expr_fn::first_value;
use datafusion::logical_expr::expr::{AggregateFunction, Between, Case, Cast, InList, ScalarFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, ColumnarValue, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder,
    ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use crate::rewrite::expressions::is_comparison;

const NANOSECONDS_A_DAY: i128 = 24 * 60 * 60 * 1_000_000_000;
const DAYS_A_MONTH: i128 = 30;
/// The type of lengths: nanoseconds.
const LENGTH: DataType = DataType::Decimal128(38, 0);

/// The function that computes the length of an interval.
pub(crate) fn interval_length_function() -> ScalarUDF {
    ScalarUDF::from(IntervalLength::new())
}

/// Replaces compared intervals by their lengths. The rule runs after DataFusion's coercion, when types are known.
#[derive(Debug)]
pub(crate) struct ComparedIntervals {
    length: Arc<ScalarUDF>,
}

impl ComparedIntervals {
    pub(crate) fn new() -> Self {
        Self { length: Arc::new(interval_length_function()) }
    }

    fn rewrite_plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
        }
        if let LogicalPlan::Dml(change) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(change.table_name.clone(), &change.target.schema())?);
        }
        let names = NamePreserver::new(&plan);
        let is_key = matches!(plan, LogicalPlan::Sort(_) | LogicalPlan::Join(_));
        let rewritten = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let rewritten = expr.transform_up(|expr| Ok(self.rewrite(expr, &schema)))?;
            let rewritten = match is_key && is_interval(&rewritten.data, &schema) {
                true => Transformed::yes(self.interval_length(rewritten.data, &schema)),
                false => rewritten,
            };
            Ok(if rewritten.transformed { rewritten.update_data(|expr| name.restore(expr)) } else { rewritten })
        })?;
        rewritten.transform_data(|plan| self.group(plan))
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        let length = |expr: Box<Expr>| Box::new(self.interval_length(*expr, schema));
        let lengths =
            |exprs: Vec<Expr>| exprs.into_iter().map(|expr| self.interval_length(expr, schema)).collect::<Vec<_>>();
        Transformed::yes(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if is_comparison(op) && is_interval(&left, schema) && is_interval(&right, schema) =>
            {
                Expr::BinaryExpr(BinaryExpr { left: length(left), op, right: length(right) })
            }
            Expr::Between(Between { expr, negated, low, high }) if is_interval(&expr, schema) => {
                Expr::Between(Between { expr: length(expr), negated, low: length(low), high: length(high) })
            }
            Expr::InList(InList { expr, list, negated }) if is_interval(&expr, schema) => {
                Expr::InList(InList { expr: length(expr), list: lengths(list), negated })
            }
            Expr::Case(Case { expr: Some(compared), when_then_expr, else_expr }) if is_interval(&compared, schema) => {
                let when_then_expr = when_then_expr.into_iter().map(|(when, then)| (length(when), then)).collect();
                Expr::Case(Case { expr: Some(length(compared)), when_then_expr, else_expr })
            }
            Expr::AggregateFunction(function) => return self.extremum(function, schema),
            other => return Transformed::no(other),
        })
    }

    /// Rewrites `min` and `max` of intervals to the first value by length.
    fn extremum(&self, function: AggregateFunction, schema: &DFSchema) -> Transformed<Expr> {
        let is_least = match function.func.name() {
            "min" => true,
            "max" => false,
            _ => return Transformed::no(Expr::AggregateFunction(function)),
        };
        let [argument] = function.params.args.as_slice() else {
            return Transformed::no(Expr::AggregateFunction(function));
        };
        if !is_interval(argument, schema) {
            return Transformed::no(Expr::AggregateFunction(function));
        }
        let order = vec![self.interval_length(argument.clone(), schema).sort(is_least, false)];
        let Expr::AggregateFunction(mut first) = first_value(argument.clone(), order) else {
            return Transformed::no(Expr::AggregateFunction(function));
        };
        first.params.filter = function.params.filter;
        Transformed::yes(Expr::AggregateFunction(first))
    }

    /// Groups by lengths, and outputs the first interval of each group.
    fn group(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let (input, keys, aggregates, schema) = match plan {
            LogicalPlan::Distinct(Distinct::All(input)) if has_interval(input.schema()) => {
                let keys: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
                let schema = Arc::clone(input.schema());
                (input, keys, Vec::new(), schema)
            }
            LogicalPlan::Aggregate(Aggregate { input, group_expr, aggr_expr, schema, .. })
                if group_expr.iter().any(|key| is_interval(key, input.schema())) =>
            {
                (input, group_expr, aggr_expr, schema)
            }
            other => return Ok(Transformed::no(other)),
        };
        let key_count = keys.len();
        let mut firsts = Vec::new();
        // Maps the original columns, in order: the interval itself is now an aggregate.
        let mut places = Vec::with_capacity(key_count + aggregates.len());
        let mut groups = Vec::with_capacity(key_count);
        for (number, key) in keys.into_iter().enumerate() {
            if is_interval(&key, input.schema()) {
                places.push(key_count + aggregates.len() + firsts.len());
                firsts.push(first_value(key.clone(), Vec::new()).alias(format!("lath interval {number}")));
                groups.push(self.interval_length(key, input.schema()).alias(format!("lath length {number}")));
            } else {
                places.push(number);
                groups.push(key);
            }
        }
        places.extend(key_count..key_count + aggregates.len());
        let aggregates: Vec<Expr> = aggregates.into_iter().chain(firsts).collect();
        let grouped = LogicalPlanBuilder::from(Arc::unwrap_or_clone(input)).aggregate(groups, aggregates)?.build()?;
        let columns = grouped.schema().columns();
        let columns = places.into_iter().zip(schema.iter()).map(|(place, (qualifier, field))| {
            Expr::Column(columns[place].clone()).alias_qualified(qualifier.cloned(), field.name())
        });
        let columns: Vec<Expr> = columns.collect();
        Ok(Transformed::yes(LogicalPlanBuilder::from(grouped).project(columns)?.build()?))
    }

    fn interval_length(&self, expr: Expr, schema: &DFSchema) -> Expr {
        interval_length(&self.length, expr, schema)
    }
}

fn interval_length(length: &Arc<ScalarUDF>, expr: Expr, schema: &DFSchema) -> Expr {
    let expr = match expr {
        // DataFusion casts differences of timestamps to intervals in nanoseconds, which overflow for the longest.
        Expr::Cast(Cast { expr, .. }) if is_duration(&expr, schema) => *expr,
        other => other,
    };
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(length), vec![expr]))
}

impl AnalyzerRule for ComparedIntervals {
    fn name(&self) -> &str {
        "lath_compared_intervals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| self.rewrite_plan(plan)).map(|rewritten| rewritten.data)
    }
}

/// Sorts and partitions windows by lengths. The rule runs before DataFusion's coercion, which refuses intervals there.
#[derive(Debug)]
pub(crate) struct IntervalWindows {
    length: Arc<ScalarUDF>,
}

impl IntervalWindows {
    pub(crate) fn new() -> Self {
        Self { length: Arc::new(interval_length_function()) }
    }

    fn rewrite_plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = &plan else { return Ok(Transformed::no(plan)) };
        let schema = Arc::clone(window.input.schema());
        let names = NamePreserver::new_for_projection();
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let rewritten = expr.transform_up(|expr| {
                let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
                let any = self.rewrite_keys(&mut window, &schema);
                Ok(Transformed::new_transformed(Expr::WindowFunction(window), any))
            })?;
            Ok(if rewritten.transformed { rewritten.update_data(|expr| name.restore(expr)) } else { rewritten })
        })
    }

    fn rewrite_keys(&self, window: &mut WindowFunction, schema: &DFSchema) -> bool {
        let mut any = false;
        let params = &mut window.params;
        let sorted = params.order_by.iter_mut().map(|key| &mut key.expr);
        for key in sorted.chain(params.partition_by.iter_mut()).filter(|key| is_interval(key, schema)) {
            *key = interval_length(&self.length, std::mem::take(key), schema);
            any = true;
        }
        any
    }
}

impl AnalyzerRule for IntervalWindows {
    fn name(&self) -> &str {
        "lath_interval_windows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| self.rewrite_plan(plan)).map(|rewritten| rewritten.data)
    }
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| matches!(data_type, DataType::Interval(_)))
}

fn is_duration(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| matches!(data_type, DataType::Duration(_)))
}

fn has_interval(schema: &DFSchema) -> bool {
    schema.fields().iter().any(|field| matches!(field.data_type(), DataType::Interval(_)))
}

/// The length of an interval in nanoseconds.
#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalLength {
    signature: Signature,
}

impl IntervalLength {
    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for IntervalLength {
    fn name(&self) -> &str {
        "interval_length"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(LENGTH)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), LENGTH, is_nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(values)] => Ok(ColumnarValue::Array(Arc::new(lengths(values)?))),
            [ColumnarValue::Scalar(value)] => {
                let length = lengths(&value.to_array()?)?;
                ScalarValue::try_from_array(&length, 0).map(ColumnarValue::Scalar)
            }
            _ => internal_err!("{} has one argument", self.name()),
        }
    }
}

fn lengths(values: &ArrayRef) -> Result<Decimal128Array> {
    macro_rules! each {
        ($t:ty, $length:expr) => {
            values.as_primitive::<$t>().unary($length)
        };
    }
    let days = |months: i32, days: i32| i128::from(months) * DAYS_A_MONTH + i128::from(days);
    let lengths: Decimal128Array = match values.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            each!(IntervalYearMonthType, |months| days(months, 0) * NANOSECONDS_A_DAY)
        }
        DataType::Interval(IntervalUnit::DayTime) => each!(IntervalDayTimeType, |value| {
            days(0, value.days) * NANOSECONDS_A_DAY + i128::from(value.milliseconds) * 1_000_000
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => each!(IntervalMonthDayNanoType, |value| {
            days(value.months, value.days) * NANOSECONDS_A_DAY + i128::from(value.nanoseconds)
        }),
        DataType::Duration(TimeUnit::Second) => each!(DurationSecondType, |value| i128::from(value) * 1_000_000_000),
        DataType::Duration(TimeUnit::Millisecond) => {
            each!(DurationMillisecondType, |value| i128::from(value) * 1_000_000)
        }
        DataType::Duration(TimeUnit::Microsecond) => each!(DurationMicrosecondType, |value| i128::from(value) * 1000),
        DataType::Duration(TimeUnit::Nanosecond) => each!(DurationNanosecondType, i128::from),
        other => return internal_err!("{other} is not an interval"),
    };
    Ok(lengths.with_data_type(LENGTH))
}
