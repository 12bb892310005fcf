//! Inputs of commands: files, tables of them, tables with a primary key, catalogs.

pub(crate) mod background;
pub(crate) mod catalog;
pub(crate) mod input_rows;
pub(crate) mod inputs;
pub(crate) mod keyed_input;
pub(crate) mod lake;
pub(crate) mod open_arguments;
pub(crate) mod scan;
pub(crate) mod table;
pub(crate) mod table_failure;
pub(crate) mod table_folder;
mod text_files;
