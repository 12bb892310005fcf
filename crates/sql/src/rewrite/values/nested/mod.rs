//! Values of lists, maps and structs.

pub(crate) mod element_functions;
pub(crate) mod inner_values;
pub(crate) mod list_concatenation;
pub(crate) mod list_numbers;
pub(crate) mod list_types;
pub(crate) mod lists;
pub(crate) mod maps;
pub(crate) mod nested_order;
pub(crate) mod null_elements;
pub(crate) mod null_lists;
