//! Chooses the Arrow type of each leaf: the converted type, with the layout that the caller selected.

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::{ConvertedType, PhysicalType};
use lath_predicate::ExactType;

use crate::options::{Int96Unit, Strings};

/// Extension types whose specification allows views as storage.
const EXTENSIONS_OF_VIEWS: [&str; 5] =
    ["arrow.json", "arrow.opaque", "arrow.parquet.variant", "geoarrow.wkb", "geoarrow.wkt"];

/// Layout of leaves that the caller selected.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeafTypes {
    pub(super) strings: Strings,
    pub(super) int96_unit: Int96Unit,
    /// Whether the types so far follow the Arrow schema that the writer stored in the file.
    pub(super) follows_hint: bool,
}

/// The field of a leaf under `types`, as a dictionary if `as_dictionary`; `None` if its values cannot be one.
pub(super) fn leaf_field(
    field: &FieldRef,
    descr: &ColumnDescriptor,
    types: LeafTypes,
    as_dictionary: bool,
) -> Option<FieldRef> {
    let (keys, values) = match settle(field.data_type(), descr) {
        DataType::Dictionary(keys, values) => (Some(keys), *values),
        values => (None, values),
    };
    let values = match (values, chosen_unit(types.int96_unit)) {
        (DataType::Timestamp(_, zone), Some(unit)) if descr.physical_type() == PhysicalType::INT96 => {
            DataType::Timestamp(unit, zone)
        }
        // The parquet crate's choice if no hint says a unit without months.
        (DataType::Interval(_), _) if !types.follows_hint => DataType::Interval(IntervalUnit::MonthDayNano),
        (values, _) => values,
    };
    if keys.is_some() || as_dictionary {
        if !can_be_dictionary(&values) {
            return None;
        }
        let keys = keys.unwrap_or_else(|| Box::new(DataType::Int32));
        let is_of_numbers = values.is_primitive();
        let data_type = DataType::Dictionary(keys, Box::new(with_offsets(values)));
        let is_hinted = *field.data_type() == data_type;
        let mut field = with_type(field, data_type);
        // Numbers are stored without the order of their categories.
        if is_of_numbers && field.dict_is_ordered() == Some(true) {
            field = FieldRef::new(Field::clone(&field).with_dict_is_ordered(false));
        }
        // Extension types define their storage, and few allow a dictionary; one that the writer chose stays.
        return Some(if is_hinted { field } else { without_extension(&field) });
    }
    let is_view_legal = field.extension_type_name().is_none_or(|name| EXTENSIONS_OF_VIEWS.contains(&name));
    let values = match types.strings {
        Strings::Views if is_view_legal => with_views(values),
        Strings::Views => values,
        Strings::Offsets => with_offsets(values),
    };
    Some(with_type(field, values))
}

/// The field of a leaf as a dictionary with keys of `Int32`, if it is none yet; `None` if its values cannot be in one.
pub(crate) fn dictionary_field(field: &FieldRef) -> Option<FieldRef> {
    match field.data_type() {
        DataType::Dictionary(_, _) => Some(FieldRef::clone(field)),
        values if can_be_dictionary(values) => {
            let values = Box::new(with_offsets(values.clone()));
            let field = with_type(field, DataType::Dictionary(Box::new(DataType::Int32), values));
            Some(without_extension(&field))
        }
        _ => None,
    }
}

/// The field with another type; the same field if it has that type already.
pub(super) fn with_type(field: &FieldRef, data_type: DataType) -> FieldRef {
    if *field.data_type() == data_type {
        return FieldRef::clone(field);
    }
    FieldRef::new(Field::clone(field).with_data_type(data_type))
}

/// The field without the metadata that makes it an extension type.
pub(super) fn without_extension(field: &FieldRef) -> FieldRef {
    if field.extension_type_name().is_none() {
        return FieldRef::clone(field);
    }
    let mut metadata = field.metadata().clone();
    metadata.remove(EXTENSION_TYPE_NAME_KEY);
    metadata.remove(EXTENSION_TYPE_METADATA_KEY);
    FieldRef::new(Field::clone(field).with_metadata(metadata))
}

/// The converted type without hints that the column cannot follow: a dictionary of dictionaries or of values that cannot be in
/// one, a decimal of another precision or scale.
fn settle(data_type: &DataType, descr: &ColumnDescriptor) -> DataType {
    match data_type {
        DataType::Dictionary(keys, values) => match settle(values, descr) {
            nested @ DataType::Dictionary(_, _) => nested,
            values if can_be_dictionary(&values) && keys.is_integer() => {
                DataType::Dictionary(keys.clone(), Box::new(values))
            }
            values => values,
        },
        other => match ExactType::decimal(other) {
            Some(exact) => decimal(descr, exact, data_type),
            None => other.clone(),
        },
    }
}

fn decimal(descr: &ColumnDescriptor, exact: ExactType, data_type: &DataType) -> DataType {
    let own = (u8::try_from(descr.type_precision()), i8::try_from(descr.type_scale()));
    let (Ok(own_precision), Ok(own_scale)) = own else { return data_type.clone() };
    let is_annotated = descr.converted_type() == ConvertedType::DECIMAL;
    if !is_annotated
        || exact.precision_and_scale() == Some((own_precision, own_scale)) && own_precision <= exact.max_precision()
    {
        data_type.clone()
    } else if own_precision <= arrow_schema::DECIMAL128_MAX_PRECISION {
        DataType::Decimal128(own_precision, own_scale)
    } else {
        DataType::Decimal256(own_precision, own_scale)
    }
}

/// The unit that overrides the file's.
fn chosen_unit(unit: Int96Unit) -> Option<TimeUnit> {
    match unit {
        Int96Unit::Nanoseconds => None,
        Int96Unit::Microseconds => Some(TimeUnit::Microsecond),
        Int96Unit::Milliseconds => Some(TimeUnit::Millisecond),
    }
}

fn with_views(data_type: DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        other => other,
    }
}

fn with_offsets(data_type: DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other,
    }
}

fn can_be_dictionary(values: &DataType) -> bool {
    matches!(
        values,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    ) || values.is_primitive() && !matches!(values, DataType::Interval(_))
}
