//! `parquet_schema`: the fields of the schemas of files.

use arrow_array::RecordBatch;
use datafusion::common::Result;
use lath_format::schema::{ConvertedType, Repetition, Type};

use super::{batch, optional_numbers, signed, texts};

/// A field of a schema, or its root.
pub(super) struct Field {
    file_name: String,
    name: String,
    physical_type: Option<String>,
    type_length: Option<String>,
    repetition: &'static str,
    children: Option<i64>,
    converted_type: Option<String>,
    scale: Option<i64>,
    precision: Option<i64>,
    field_id: Option<i64>,
    logical_type: Option<String>,
    column_id: i64,
}

impl Field {
    /// Adds a field and the ones within it.
    pub(super) fn add(file_name: &str, first: usize, schema: &Type, fields: &mut Vec<Self>) {
        let info = schema.get_basic_info();
        let converted = info.converted_type();
        let (mut physical_type, mut type_length, mut scale, mut precision) = (None, None, None, None);
        if let Type::PrimitiveType { physical_type: physical, type_length: length, scale: s, precision: p, .. } = schema
        {
            physical_type = Some(physical.to_string());
            type_length = (*length > 0).then(|| length.to_string());
            if converted == ConvertedType::DECIMAL {
                (scale, precision) = (Some(i64::from(*s)), Some(i64::from(*p)));
            }
        }
        let repetition = match info.has_repetition().then(|| info.repetition()) {
            Some(Repetition::OPTIONAL) => "OPTIONAL",
            Some(Repetition::REPEATED) => "REPEATED",
            _ => "REQUIRED",
        };
        let children = schema.is_group().then(|| schema.get_fields());
        let column_id = signed((fields.len() - first) as u64);
        fields.push(Self {
            file_name: file_name.to_owned(),
            name: info.name().to_owned(),
            physical_type,
            type_length,
            repetition,
            children: children.map(|children| signed(children.len() as u64)),
            converted_type: (converted != ConvertedType::NONE).then(|| converted.to_string()),
            scale,
            precision,
            field_id: info.has_id().then(|| i64::from(info.id())),
            logical_type: info.logical_type_ref().map(|logical| format!("{logical:?}")),
            column_id,
        });
        for child in children.unwrap_or_default() {
            Self::add(file_name, first, child, fields);
        }
    }

    pub(super) fn rows(fields: &[Self]) -> Result<RecordBatch> {
        let texts = |text: &dyn Fn(&Self) -> Option<String>| texts(fields.iter().map(text));
        let numbers = |number: &dyn Fn(&Self) -> Option<i64>| optional_numbers(fields.iter().map(number));
        batch(vec![
            ("file_name", texts(&|field| Some(field.file_name.clone()))),
            ("name", texts(&|field| Some(field.name.clone()))),
            ("type", texts(&|field| field.physical_type.clone())),
            ("type_length", texts(&|field| field.type_length.clone())),
            ("repetition_type", texts(&|field| Some(field.repetition.to_owned()))),
            ("num_children", numbers(&|field| field.children)),
            ("converted_type", texts(&|field| field.converted_type.clone())),
            ("scale", numbers(&|field| field.scale)),
            ("precision", numbers(&|field| field.precision)),
            ("field_id", numbers(&|field| field.field_id)),
            ("logical_type", texts(&|field| field.logical_type.clone())),
            ("column_id", numbers(&|field| Some(field.column_id))),
        ])
    }
}
