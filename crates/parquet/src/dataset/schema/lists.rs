//! List types of any layout.

use arrow_schema::{DataType, FieldRef};

/// The element field of any list type.
pub(in crate::dataset) fn list_element(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::ListView(element)
        | DataType::LargeListView(element) => Some(element),
        _ => None,
    }
}

/// The list type `like`, with another element.
pub(in crate::dataset) fn with_element(like: &DataType, element: FieldRef) -> DataType {
    match like {
        DataType::LargeList(_) => DataType::LargeList(element),
        DataType::FixedSizeList(_, len) => DataType::FixedSizeList(element, *len),
        DataType::ListView(_) => DataType::ListView(element),
        DataType::LargeListView(_) => DataType::LargeListView(element),
        _ => DataType::List(element),
    }
}
