//! Statistics of files in the columns of a checkpoint (`stats_parsed`), as the JSON that commits have.

use std::fmt::Debug;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use serde_json::Value as Json;

/// The column `stats_parsed` of a batch of actions.
pub(super) struct ParsedStatistics {
    all: Part,
}

/// A struct of statistics, or one of them.
enum Part {
    /// Fields after their names as JSON, each with a colon.
    Struct { group: StructArray, fields: Vec<(String, Part)> },
    /// Numbers and truth values, as JSON.
    Plain(StringArray),
    /// Other values, as text.
    Quoted(StringArray),
}

impl ParsedStatistics {
    pub(super) fn new(column: &ArrayRef) -> Option<Self> {
        column.as_struct_opt()?;
        Part::new(column).map(|all| Self { all })
    }

    /// The statistics in a row.
    pub(super) fn json(&self, row: usize) -> Option<String> {
        let mut json = String::new();
        self.all.write(row, &mut json).then_some(json)
    }
}

impl Part {
    /// `None` for a type that no bound or count has.
    fn new(column: &ArrayRef) -> Option<Self> {
        let texts = |column: &ArrayRef| cast(column, &DataType::Utf8).ok()?.as_string_opt::<i32>().cloned();
        let data_type = column.data_type();
        Some(match data_type {
            DataType::Struct(_) => {
                let group = column.as_struct_opt()?.clone();
                let names = group.column_names().into_iter().map(|name| format!("{}:", Json::from(name)));
                let fields = names.zip(group.columns()).filter_map(|(name, field)| Some((name, Self::new(field)?)));
                Self::Struct { fields: fields.collect(), group }
            }
            DataType::Float32 => Self::Plain(column.as_primitive_opt::<Float32Type>()?.iter().map(finite).collect()),
            DataType::Float64 => Self::Plain(column.as_primitive_opt::<Float64Type>()?.iter().map(finite).collect()),
            DataType::Boolean => Self::Plain(texts(column)?),
            _ if data_type.is_integer() || data_type.is_decimal() => Self::Plain(texts(column)?),
            _ if data_type.is_temporal() || data_type.is_string() => Self::Quoted(texts(column)?),
            _ => return None,
        })
    }

    /// Writes the value in a row; false if there is none.
    fn write(&self, row: usize, json: &mut String) -> bool {
        match self {
            Self::Struct { group, .. } if group.is_null(row) => return false,
            Self::Plain(texts) | Self::Quoted(texts) if texts.is_null(row) => return false,
            Self::Plain(texts) => json.push_str(texts.value(row)),
            Self::Quoted(texts) => json.push_str(&Json::from(texts.value(row)).to_string()),
            Self::Struct { fields, .. } => {
                json.push('{');
                let mut separator = "";
                for (name, field) in fields {
                    let start = json.len();
                    json.push_str(separator);
                    json.push_str(name);
                    match field.write(row, json) {
                        true => separator = ",",
                        false => json.truncate(start),
                    }
                }
                json.push('}');
            }
        }
        true
    }
}

/// A number as JSON, which has no infinities and no NaN.
fn finite<T: Copy + Debug + Into<f64>>(value: Option<T>) -> Option<String> {
    value.filter(|value| (*value).into().is_finite()).map(|value| format!("{value:?}"))
}
