//! Variant values: casts, orders, and results of expressions, which DataFusion 55 would take for structs of byte strings.

use std::sync::Arc;

use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Column, DFSchema, Result, internal_err, plan_err};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, Projection, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use datafusion::optimizer::AnalyzerRule;
use lath_text::is_variant;

use crate::json::text_function;
use crate::rewrite::expressions::rewrite_expressions;

/// The name of the extension type.
const EXTENSION: &str = "arrow.parquet.variant";
const EXTENSION_KEY: &str = "ARROW:extension:name";

/// Casts a Variant by way of its text, as `CAST(v ->> '$' AS …)`, refuses orders of Variants, and marks the results of expressions as Variants.
#[derive(Debug)]
pub(crate) struct VariantCasts;

impl AnalyzerRule for VariantCasts {
    fn name(&self) -> &str {
        "variant_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| by_text(expr, schema)))
        })?;
        let plan = changed.data;
        if !reads_variants(&plan)? {
            return Ok(plan);
        }
        refuse_orders(&plan)?;
        marked(plan)
    }
}

fn by_text(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (inner, target) = match &mut expr {
        Expr::Cast(cast) => (&mut cast.expr, &cast.field),
        Expr::TryCast(cast) => (&mut cast.expr, &cast.field),
        _ => return Ok(Transformed::no(expr)),
    };
    if target.data_type().is_nested() || !is_variant(&inner.get_type(schema)?) {
        return Ok(Transformed::no(expr));
    }
    **inner = text_function().call(vec![(**inner).clone(), lit("$")]);
    Ok(Transformed::yes(expr))
}

/// Whether a scan has columns of Variants.
fn reads_variants(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        if let LogicalPlan::TableScan(scan) = plan {
            found |= scan.projected_schema.fields().iter().any(|field| has_variants(field));
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether a column, or a part of it, is marked as a Variant.
fn has_variants(field: &Field) -> bool {
    field.extension_type_name() == Some(EXTENSION)
        || match field.data_type() {
            DataType::Struct(fields) => fields.iter().any(|field| has_variants(field)),
            DataType::List(element)
            | DataType::LargeList(element)
            | DataType::FixedSizeList(element, _)
            | DataType::Map(element, _) => has_variants(element),
            _ => false,
        }
}

/// Returns an error for the least and the greatest Variants: their storage has another order than their values.
fn refuse_orders(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|plan| {
        let mut schema = None;
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                use Operator::{Gt, GtEq, Lt, LtEq};
                let ordered: Vec<&Expr> = match expr {
                    Expr::BinaryExpr(BinaryExpr { left, op: Lt | LtEq | Gt | GtEq, right }) => vec![left, right],
                    Expr::AggregateFunction(function) if matches!(function.func.name(), "min" | "max") => {
                        function.params.args.iter().collect()
                    }
                    Expr::WindowFunction(function) if matches!(function.fun.name(), "min" | "max") => {
                        function.params.args.iter().collect()
                    }
                    Expr::ScalarFunction(function) if matches!(function.func.name(), "greatest" | "least") => {
                        function.args.iter().collect()
                    }
                    _ => return Ok(TreeNodeRecursion::Continue),
                };
                let schema = schema.get_or_insert_with(|| merge_schema(&plan.inputs()));
                let is_ordered = |expr: &&Expr| expr.get_type(&*schema).is_ok_and(|data_type| is_variant(&data_type));
                match ordered.into_iter().find(is_ordered) {
                    Some(expr) => refusal(expr),
                    None => Ok(TreeNodeRecursion::Continue),
                }
            })
        })
    })?;
    Ok(())
}

fn refusal(expr: &Expr) -> Result<TreeNodeRecursion> {
    plan_err!(
        "{expr} is a Variant, and Variants have no least and no greatest value here; cast it: CAST({expr} AS VARCHAR), or take a part: {expr} ->> 'name'"
    )
}

/// The plan with results that are marked as Variants: `CASE`, aggregates and lists lose the mark of their arguments.
fn marked(plan: LogicalPlan) -> Result<LogicalPlan> {
    if let LogicalPlan::Explain(_)
    | LogicalPlan::Analyze(_)
    | LogicalPlan::Dml(_)
    | LogicalPlan::Copy(_)
    | LogicalPlan::Ddl(_)
    | LogicalPlan::Statement(_)
    | LogicalPlan::Extension(_) = plan
    {
        return Ok(plan.map_children(|child| marked(child).map(Transformed::yes))?.data);
    }
    let function = Arc::new(variant_function());
    let mut is_changed = false;
    let column = |(table, field): (Option<&datafusion::common::TableReference>, &FieldRef)| {
        let column = Expr::Column(Column::new(table.cloned(), field.name()));
        if with_marks(field) == **field {
            return column;
        }
        is_changed = true;
        function.call(vec![column]).alias_qualified(table.cloned(), field.name())
    };
    let columns: Vec<Expr> = plan.schema().iter().map(column).collect();
    if !is_changed {
        return Ok(plan);
    }
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// A field whose Variants, also inner ones, are marked.
fn with_marks(field: &Field) -> Field {
    let data_type = field.data_type();
    if is_variant(data_type) {
        let mut metadata = field.metadata().clone();
        metadata.insert(EXTENSION_KEY.to_owned(), EXTENSION.to_owned());
        return field.clone().with_metadata(metadata);
    }
    let inner = |element: &FieldRef| Arc::new(with_marks(element));
    let data_type = match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(element) => DataType::List(inner(element)),
        DataType::LargeList(element) => DataType::LargeList(inner(element)),
        DataType::FixedSizeList(element, length) => DataType::FixedSizeList(inner(element), *length),
        DataType::Map(entries, is_sorted) => DataType::Map(inner(entries), *is_sorted),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}

/// The function that marks its argument.
pub(crate) fn variant_function() -> ScalarUDF {
    ScalarUDF::from(MarkedVariant { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MarkedVariant {
    signature: Signature,
}

impl ScalarUDFImpl for MarkedVariant {
    fn name(&self) -> &'static str {
        "as_variant"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("as_variant returns a field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let [field] = take_function_args(self.name(), args.arg_fields)?;
        Ok(Arc::new(with_marks(field)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let target = args.return_field.data_type().clone();
        let [value] = take_function_args(self.name(), args.args)?;
        Ok(match value {
            ColumnarValue::Array(array) if *array.data_type() != target => ColumnarValue::Array(cast(&array, &target)?),
            ColumnarValue::Scalar(value) if value.data_type() != target => {
                ColumnarValue::Scalar(value.cast_to(&target)?)
            }
            value => value,
        })
    }
}
