//! Lists of a column that is all null, `[n]` where n has no type: DataFusion 55 makes one list of all rows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ListArray, NullArray};
use arrow_schema::{DataType, Field};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Replaces functions that make lists of values without a type.
#[derive(Debug)]
pub(crate) struct NullLists;

impl FunctionRewrite for NullLists {
    fn name(&self) -> &str {
        "lath_null_lists"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(ScalarFunction { func, args }) = &expr else { return Ok(Transformed::no(expr)) };
        let elements: Range<usize> = match func.name() {
            "make_array" => 0..args.len(),
            // A null instead of the list is an empty list.
            "array_append" if args.len() == 2 => 1..2,
            "array_prepend" if args.len() == 2 => 0..1,
            _ => return Ok(Transformed::no(expr)),
        };
        if elements.is_empty() {
            return Ok(Transformed::no(expr));
        }
        for argument in args {
            if argument.get_type(schema)? != DataType::Null {
                return Ok(Transformed::no(expr));
            }
        }
        let function = null_list_function(expr.schema_name().to_string());
        let args = args[elements].to_vec();
        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), args))))
    }
}

/// The function that makes a list of nulls; `name` is the name of the expression that it replaces.
pub(crate) fn null_list_function(name: String) -> ScalarUDF {
    ScalarUDF::from(NullList { name, signature: Signature::variadic_any(Volatility::Immutable) })
}

/// A list of as many nulls as there are arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NullList {
    /// The name of the expression that it replaces.
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for NullList {
    fn name(&self) -> &'static str {
        "null_list"
    }

    fn display_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.name.clone())
    }

    fn schema_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.name.clone())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Null, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (rows, len) = (args.number_rows, args.args.len());
        let field = Arc::new(Field::new_list_field(DataType::Null, true));
        let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(len, rows));
        let lists = ListArray::try_new(field, offsets, Arc::new(NullArray::new(rows * len)), None)?;
        Ok(ColumnarValue::Array(Arc::new(lists)))
    }
}
