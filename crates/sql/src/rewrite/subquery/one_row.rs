use arrow_schema::DataType;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::max;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// `one_row(value, rows)` returns the value, or an error if there is a second row.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OneRow {
    signature: Signature,
}

/// Calls the function with the value of a subquery and the number of its rows.
pub(super) fn one_row(value: Expr, rows: Expr) -> Expr {
    one_row_function().call(vec![value, rows])
}

/// The function that checks the number of rows.
pub(crate) fn one_row_function() -> ScalarUDF {
    ScalarUDF::from(OneRow { signature: Signature::any(2, Volatility::Immutable) })
}

impl ScalarUDFImpl for OneRow {
    fn name(&self) -> &'static str {
        "one_row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [value, _] => Ok(value.clone()),
            _ => internal_err!("one_row takes a value and a number of rows"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, rows] = args.args.as_slice() else {
            return internal_err!("one_row takes a value and a number of rows");
        };
        let most = match rows {
            ColumnarValue::Array(rows) => max(rows.as_primitive::<Int64Type>()),
            ColumnarValue::Scalar(ScalarValue::Int64(rows)) => *rows,
            ColumnarValue::Scalar(other) => return internal_err!("one_row: {other} is no number of rows"),
        };
        if most > Some(1) {
            return exec_err!(
                "more than one row returned by a subquery used as an expression: add a condition, LIMIT 1 or an aggregate such as max"
            );
        }
        Ok(value.clone())
    }
}
