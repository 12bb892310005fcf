//! The functions `json_extract`, `json_extract_string`, `json_type`, `json_typeof`, `json_array_length`, `json_keys`, `json_valid` and
//! `json`, and the operators `->` and `->>`.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use datafusion::common::{DFSchema, Result, exec_datafusion_err, exec_err, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use lath_text::{is_variant, variant_texts};

use super::path::Path;
use super::value::{JsonValue, Kind};

/// The function that replaces casts.
pub(crate) const JSON: &str = "json";

/// The functions, each with whether it needs a path.
const FUNCTIONS: [(Answer, &str, &[&str], bool); 8] = [
    (Answer::Json, "json_extract", &[], true),
    (Answer::Text, "json_extract_string", &["json_extract_text"], true),
    (Answer::Type, "json_type", &[], false),
    (Answer::PlainType, "json_typeof", &[], false),
    (Answer::Length, "json_array_length", &[], false),
    (Answer::Keys, "json_keys", &[], false),
    (Answer::IsValid, "json_valid", &[], false),
    (Answer::Whole, JSON, &[], false),
];

/// The answer of a function about a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    /// The value as JSON.
    Json,
    /// The value as text.
    Text,
    /// The name of its type in DuckDB.
    Type,
    /// The name of its type in PostgreSQL.
    PlainType,
    Length,
    Keys,
    IsValid,
    /// The text itself, if it is JSON.
    Whole,
}

/// The functions of a session.
pub(crate) fn json_functions() -> impl Iterator<Item = ScalarUDF> {
    FUNCTIONS.into_iter().map(|function| ScalarUDF::from(JsonFunction::new(function)))
}

/// `json_extract_string`.
pub(crate) fn text_function() -> ScalarUDF {
    ScalarUDF::from(JsonFunction::new(FUNCTIONS[1]))
}

/// Plans `->` and `->>`.
#[derive(Debug)]
pub(crate) struct JsonOperators;

impl ExprPlanner for JsonOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, _: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let function = match expr.op {
            BinaryOperator::Arrow => FUNCTIONS[0],
            BinaryOperator::LongArrow => FUNCTIONS[1],
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let function = Arc::new(ScalarUDF::from(JsonFunction::new(function)));
        let call = ScalarFunction::new_udf(function, vec![expr.left, expr.right]);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonFunction {
    answer: Answer,
    name: &'static str,
    aliases: Vec<String>,
    needs_path: bool,
    signature: Signature,
}

impl JsonFunction {
    fn new((answer, name, aliases, needs_path): (Answer, &'static str, &[&str], bool)) -> Self {
        let aliases = aliases.iter().map(|&alias| alias.to_owned()).collect();
        Self { answer, name, aliases, needs_path, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn data_type(&self) -> DataType {
        match self.answer {
            Answer::Json | Answer::Whole | Answer::Text | Answer::Type | Answer::PlainType => DataType::Utf8,
            Answer::Length => DataType::Int64,
            Answer::Keys => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
            Answer::IsValid => DataType::Boolean,
        }
    }
}

impl ScalarUDFImpl for JsonFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type())
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let counts = match (self.needs_path, self.answer) {
            (true, _) => 2..=2,
            (false, Answer::IsValid | Answer::Whole) => 1..=1,
            (false, _) => 1..=2,
        };
        if !counts.contains(&types.len()) {
            return match self.needs_path {
                true => plan_err!("{} takes JSON and a path: {}(j, '$.a[0]')", self.name, self.name),
                false => plan_err!(
                    "{} takes JSON{}",
                    self.name,
                    if *counts.end() == 1 { "" } else { ", and perhaps a path" }
                ),
            };
        }
        let is_text = |data_type: &DataType| data_type.is_string() || *data_type == DataType::Null;
        let mut coerced = Vec::new();
        for (place, data_type) in types.iter().enumerate() {
            coerced.push(match data_type {
                data_type if is_text(data_type) => DataType::Utf8,
                DataType::Dictionary(_, values) if is_text(values) => DataType::Utf8,
                data_type if place == 1 && data_type.is_integer() => DataType::Int64,
                other if place == 1 => {
                    return plan_err!("{}: a path is a text or an integer, and not {other}", self.name);
                }
                variant if is_variant(variant) => variant.clone(),
                other => {
                    return plan_err!(
                        "{}: JSON is text, and this is {other}; fields of structs are read by a point: s.field",
                        self.name
                    );
                }
            });
        }
        Ok(coerced)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let Some(values) = args.args.first() else { return exec_err!("{} takes JSON", self.name) };
        let mut values = values.to_array(rows)?;
        if let Some(variants) = values.as_struct_opt() {
            values = Arc::new(variant_texts(variants)?);
        }
        let paths = args.args.get(1).map(|paths| Paths::new(paths, rows)).transpose()?;
        let mut answers = Answers::new(self.answer, rows);
        for (row, text) in values.as_string::<i32>().iter().enumerate() {
            let path = match &paths {
                None => None,
                Some(paths) => match paths.at(row)? {
                    None => {
                        answers.push(None);
                        continue;
                    }
                    path => path,
                },
            };
            let Some(text) = text else {
                answers.push(None);
                continue;
            };
            let value = match (JsonValue::parse(text), self.answer) {
                (parsed, Answer::IsValid) => {
                    answers.push_valid(parsed.is_ok());
                    continue;
                }
                (Ok(value), _) => value,
                (Err(error), _) => {
                    let start: String = text.chars().take(60).collect();
                    return exec_err!("{}: {start:?} is not JSON: {error}; json_valid finds such texts", self.name);
                }
            };
            answers.push(match path.as_deref() {
                None => Some(value),
                Some(path) => path.find(value),
            });
        }
        let answers = answers.finish();
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&answers, 0)?)),
            false => Ok(ColumnarValue::Array(answers)),
        }
    }
}

/// The paths of rows.
enum Paths {
    One(Option<Arc<Path>>),
    Each(ArrayRef),
}

impl Paths {
    fn new(paths: &ColumnarValue, rows: usize) -> Result<Self> {
        match paths {
            ColumnarValue::Scalar(_) => Ok(Self::One(path_at(&paths.to_array(1)?, 0)?)),
            ColumnarValue::Array(_) => Ok(Self::Each(paths.to_array(rows)?)),
        }
    }

    fn at(&self, row: usize) -> Result<Option<Arc<Path>>> {
        match self {
            Self::One(path) => Ok(path.clone()),
            Self::Each(paths) => path_at(paths, row),
        }
    }
}

fn path_at(paths: &ArrayRef, row: usize) -> Result<Option<Arc<Path>>> {
    if paths.is_null(row) {
        return Ok(None);
    }
    let path = match paths.as_primitive_opt::<Int64Type>() {
        Some(positions) => Path::position(positions.value(row)),
        None => {
            let texts = paths.as_string_opt::<i32>();
            let texts = texts.ok_or_else(|| exec_datafusion_err!("a path is a text or an integer"))?;
            Path::parse(texts.value(row))?
        }
    };
    Ok(Some(Arc::new(path)))
}

/// The answers of rows.
enum Answers {
    Texts(Answer, StringBuilder),
    Lengths(Int64Builder),
    Keys(ListBuilder<StringBuilder>),
    Valid(BooleanBuilder),
}

impl Answers {
    fn new(answer: Answer, rows: usize) -> Self {
        match answer {
            Answer::Json | Answer::Whole | Answer::Text | Answer::Type | Answer::PlainType => {
                Self::Texts(answer, StringBuilder::with_capacity(rows, rows * 8))
            }
            Answer::Length => Self::Lengths(Int64Builder::with_capacity(rows)),
            Answer::Keys => Self::Keys(ListBuilder::new(StringBuilder::new())),
            Answer::IsValid => Self::Valid(BooleanBuilder::with_capacity(rows)),
        }
    }

    fn push_valid(&mut self, is_valid: bool) {
        if let Self::Valid(valid) = self {
            valid.append_value(is_valid);
        }
    }

    fn push(&mut self, value: Option<JsonValue<'_>>) {
        match self {
            Self::Texts(Answer::Json | Answer::Whole, texts) => texts.append_option(value.map(JsonValue::text)),
            Self::Texts(Answer::Text, texts) => texts.append_option(value.and_then(JsonValue::plain)),
            Self::Texts(answer, texts) => {
                texts.append_option(value.map(|value| type_name(value, *answer == Answer::PlainType)));
            }
            Self::Lengths(lengths) => {
                lengths.append_option(value.and_then(|value| i64::try_from(value.elements().count()).ok()));
            }
            Self::Keys(keys) => match value {
                None => keys.append_null(),
                Some(value) => {
                    value.members().for_each(|(key, _)| keys.values().append_value(key));
                    keys.append(true);
                }
            },
            Self::Valid(valid) => valid.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Texts(_, mut texts) => Arc::new(texts.finish()),
            Self::Lengths(mut lengths) => Arc::new(lengths.finish()),
            Self::Keys(mut keys) => Arc::new(keys.finish()),
            Self::Valid(mut valid) => Arc::new(valid.finish()),
        }
    }
}

fn type_name(value: JsonValue<'_>, is_plain: bool) -> &'static str {
    match (value.kind(), is_plain) {
        (Kind::Null, false) => "NULL",
        (Kind::Boolean, false) => "BOOLEAN",
        (Kind::Integer, false) if value.text().parse::<i64>().is_ok() => "BIGINT",
        (Kind::Integer, false) if value.text().parse::<u64>().is_ok() => "UBIGINT",
        (Kind::Integer | Kind::Float, false) => "DOUBLE",
        (Kind::Text, false) => "VARCHAR",
        (Kind::Array, false) => "ARRAY",
        (Kind::Object, false) => "OBJECT",
        (Kind::Null, true) => "null",
        (Kind::Boolean, true) => "boolean",
        (Kind::Integer | Kind::Float, true) => "number",
        (Kind::Text, true) => "string",
        (Kind::Array, true) => "array",
        (Kind::Object, true) => "object",
    }
}
