//! The columns of a table in its files.

use std::sync::Arc;

use arrow_schema::{Field, FieldRef};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use super::partition::{compact, decode_row, encode_row};
use crate::error::{Error, Result};
use crate::schema::{ColumnMapping, MappedColumn};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MappedColumnForm {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stored_names: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<MappedColumnForm>,
    /// A batch of one row and one column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    variant: bool,
}

impl MappedColumnForm {
    pub(super) fn all(columns: &[MappedColumn]) -> Result<Vec<Self>> {
        columns.iter().map(Self::new).collect()
    }

    pub(super) fn into_columns(forms: Vec<Self>) -> Result<Vec<MappedColumn>> {
        forms.into_iter().map(Self::into_column).collect()
    }

    fn new(column: &MappedColumn) -> Result<Self> {
        let default = column.known_default().map(|value| {
            let field: FieldRef = Arc::new(Field::new(&column.name, value.data_type().clone(), true));
            encode_row(vec![(&field, compact(value))])
        });
        Ok(Self {
            name: column.name.clone(),
            id: column.id,
            stored_names: column.stored_names.clone(),
            fields: Self::all(&column.fields)?,
            default: default.transpose()?,
            variant: column.is_variant,
        })
    }

    fn into_column(self) -> Result<MappedColumn> {
        let default = self.default.map(|text| match decode_row(&text)?.columns() {
            [value] => Ok(Arc::clone(value)),
            _ => Err(Error::invalid("the default of a column: expected one value")),
        });
        Ok(MappedColumn {
            name: self.name,
            id: self.id,
            stored_names: self.stored_names,
            fields: Self::into_columns(self.fields)?,
            default: default.transpose()?,
            is_variant: self.variant,
        })
    }
}

/// Defaults are batches of one row, as Arrow streams in base64.
impl Serialize for ColumnMapping {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MappedColumnForm::all(self.columns()).map_err(ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ColumnMapping {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let forms = Vec::<MappedColumnForm>::deserialize(deserializer)?;
        Ok(Self::new(MappedColumnForm::into_columns(forms).map_err(de::Error::custom)?))
    }
}
