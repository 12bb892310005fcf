//! Types of the lists that functions return. Lists of Parquet files call their elements `element`; some functions of DataFusion 55 promise a
//! list with that name and return one whose elements are called `item`, which is an internal error. Its `map` panics for lists that are large or
//! of a fixed size.

use std::sync::Arc;

use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, cast as logical_cast,
};

/// Functions that return lists of another type than they promise.
const FUNCTIONS: [&str; 6] =
    ["array_add", "array_concat", "array_intersect", "array_normalize", "array_subtract", "array_union"];

/// Casts the results of functions to the types that they promise, and the arguments of `map` to lists.
#[derive(Debug)]
pub(crate) struct ListTypes;

impl FunctionRewrite for ListTypes {
    fn name(&self) -> &str {
        "lath_list_types"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else { return Ok(Transformed::no(expr)) };
        if FUNCTIONS.contains(&func.name()) {
            let function = Arc::new(list_function(func));
            return Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function, args))));
        }
        if func.name() != "map" {
            return Ok(Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })));
        }
        let mut lists = Vec::with_capacity(args.len());
        for argument in args {
            lists.push(match argument.get_type(schema)? {
                DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
                    logical_cast(argument, DataType::List(element))
                }
                _ => argument,
            });
        }
        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args: lists })))
    }
}

/// The function as one with results of the promised type.
pub(crate) fn list_function(inner: Arc<ScalarUDF>) -> ScalarUDF {
    ScalarUDF::from(ListFunction { inner })
}

/// A function with results of the promised type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ListFunction {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ListFunction {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let promised = args.return_field.data_type().clone();
        // `ScalarUDF` itself checks the type.
        match self.inner.inner().invoke_with_args(args)? {
            ColumnarValue::Array(lists) if *lists.data_type() != promised => {
                Ok(ColumnarValue::Array(cast(&lists, &promised)?))
            }
            ColumnarValue::Scalar(list) if list.data_type() != promised => {
                Ok(ColumnarValue::Scalar(list.cast_to(&promised)?))
            }
            value => Ok(value),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
