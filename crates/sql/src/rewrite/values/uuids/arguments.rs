//! Functions that take texts and UUIDs together: `coalesce(id, '…')` compares texts as UUIDs, and `concat(id, '-')` takes UUIDs as texts.
//!
//! DataFusion 55 refuses such arguments while it plans a statement. The functions here accept them until [`UuidTexts`](super::UuidTexts)
//! converts the arguments and puts the functions themselves into the plan.

use std::sync::Arc;

use super::uuid::holds_bytes;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

/// The functions that take both.
const FUNCTIONS: [&str; 17] = [
    "coalesce",
    "nvl",
    "nvl2",
    "nullif",
    "greatest",
    "least",
    "make_array",
    "array_has",
    "array_position",
    "array_positions",
    "array_append",
    "array_prepend",
    "array_remove",
    "concat",
    "concat_ws",
    "format",
    "printf",
];

/// A conversion of arguments, so that they fit a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    /// Texts are read as UUIDs.
    Read,
    /// UUIDs are written as texts.
    Write,
}

/// Lets the functions of a session take texts and UUIDs together.
pub(crate) fn accept_uuids(state: &mut SessionState) -> Result<()> {
    for name in FUNCTIONS {
        let inner = state.udf(name)?;
        let signature = Signature::user_defined(inner.signature().volatility);
        state.register_udf(Arc::new(ScalarUDF::from(UuidArguments { inner, signature })))?;
    }
    Ok(())
}

/// The function itself.
pub(crate) fn plain_function(function: &Arc<ScalarUDF>) -> &Arc<ScalarUDF> {
    function.inner().downcast_ref::<UuidArguments>().map_or(function, |function| &function.inner)
}

/// Returns the conversion of the fields of arguments; `None` if a function takes them as they are, or not at all.
pub(super) fn conversion(function: &ScalarUDF, fields: &[FieldRef]) -> Option<Conversion> {
    let has_bytes = fields.iter().any(|field| holds_bytes(field.data_type()));
    if !has_bytes || fields_with_udf(fields, function).is_ok() {
        return None;
    }
    // A UUID has one text, and a text of it may have other letters: only functions of texts take the text.
    let conversion = match function.name() {
        "concat" | "concat_ws" | "format" | "printf" => Conversion::Write,
        _ => Conversion::Read,
    };
    fields_with_udf(&converted(fields, conversion), function).is_ok().then_some(conversion)
}

fn converted(fields: &[FieldRef], conversion: Conversion) -> Vec<FieldRef> {
    let converted = |field: &FieldRef| match (conversion, field.data_type()) {
        (Conversion::Read, text) if text.is_string() || *text == DataType::Null => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::FixedSizeBinary(16)))
        }
        (Conversion::Write, DataType::FixedSizeBinary(16)) => {
            Arc::new(Field::new(field.name(), DataType::Utf8, field.is_nullable()))
        }
        _ => Arc::clone(field),
    };
    fields.iter().map(converted).collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UuidArguments {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for UuidArguments {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let fields: Vec<FieldRef> =
            types.iter().map(|data_type| Arc::new(Field::new("", data_type.clone(), true))).collect();
        match conversion(&self.inner, &fields) {
            Some(_) => Ok(types.to_vec()),
            None => {
                let coerced = fields_with_udf(&fields, self.inner.as_ref())?;
                Ok(coerced.iter().map(|field| field.data_type().clone()).collect())
            }
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let arg_fields = match conversion(&self.inner, args.arg_fields) {
            Some(conversion) => &fields_with_udf(&converted(args.arg_fields, conversion), self.inner.as_ref())?,
            None => args.arg_fields,
        };
        self.inner.return_field_from_args(ReturnFieldArgs { arg_fields, ..args })
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match conversion(&self.inner, &args.arg_fields) {
            Some(_) => internal_err!("{} takes texts and UUIDs only in statements", self.name()),
            None => self.inner.inner().invoke_with_args(args),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
