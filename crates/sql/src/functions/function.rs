//! A scalar function as a row of a table.

use std::hash::{Hash, Hasher};

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// A function: its name, what it takes for an error message, its types, and its evaluation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Definition {
    pub(super) name: &'static str,
    /// An example of a call.
    pub(super) example: &'static str,
    /// The types of arguments of some types; `None` if they are refused.
    pub(super) coerce: fn(&[DataType]) -> Option<Vec<DataType>>,
    pub(super) returns: fn(&[DataType]) -> DataType,
    pub(super) evaluate: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

#[derive(Debug)]
pub(super) struct ForeignFunction {
    definition: Definition,
    signature: Signature,
}

impl ForeignFunction {
    pub(super) fn new(definition: Definition) -> Self {
        Self { definition, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl PartialEq for ForeignFunction {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name
    }
}

impl Eq for ForeignFunction {}

impl Hash for ForeignFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}

impl ScalarUDFImpl for ForeignFunction {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let Definition { name, example, coerce, .. } = self.definition;
        match coerce(types) {
            Some(coerced) => Ok(coerced),
            None => {
                let types: Vec<String> = types.iter().map(ToString::to_string).collect();
                plan_err!("{name} is called as {example}, and not with ({})", types.join(", "))
            }
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok((self.definition.returns)(types))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let arrays = args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let answer = (self.definition.evaluate)(&arrays)?;
        if is_constant && args.number_rows != 1 {
            return Ok(ColumnarValue::Scalar(datafusion::scalar::ScalarValue::try_from_array(&answer, 0)?));
        }
        Ok(ColumnarValue::Array(answer))
    }
}

/// Whether values of a type become text.
pub(super) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => true,
        DataType::Dictionary(_, values) => is_text(values),
        other => other.is_string(),
    }
}

/// Coerces `N` texts.
pub(super) fn texts<const N: usize>(types: &[DataType]) -> Option<Vec<DataType>> {
    (types.len() == N && types.iter().all(is_text)).then(|| vec![DataType::Utf8; N])
}
