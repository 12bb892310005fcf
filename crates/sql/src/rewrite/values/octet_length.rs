//! `octet_length` of byte strings, which DataFusion 55 supports only for text.

use arrow_schema::DataType;
use datafusion::arrow::compute::kernels::length::length;
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;

/// The number of bytes of a text or byte string.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OctetLength {
    signature: Signature,
}

impl OctetLength {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for OctetLength {
    fn name(&self) -> &str {
        "octet_length"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [argument] = take_function_args(self.name(), arg_types)?;
        let value = match argument {
            DataType::Dictionary(_, value) => value,
            other => other,
        };
        match value {
            DataType::Null => Ok(vec![DataType::Utf8]),
            other if other.is_string() || other.is_binary() || matches!(other, DataType::FixedSizeBinary(_)) => {
                Ok(vec![other.clone()])
            }
            other => plan_err!("octet_length is for text and byte strings, not for {other}; cast it to VARCHAR"),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(match arg_types {
            [DataType::LargeUtf8 | DataType::LargeBinary] => DataType::Int64,
            _ => DataType::Int32,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [argument] = take_function_args(self.name(), args.args)?;
        match argument {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(length(&array)?)),
            ColumnarValue::Scalar(value) => {
                let lengths = length(&value.to_array()?)?;
                ScalarValue::try_from_array(&lengths, 0).map(ColumnarValue::Scalar)
            }
        }
    }
}
