//! Files of text as tables.

mod function;
mod options;
mod table;

pub(crate) use self::function::ReadText;
pub(crate) use self::options::copied_text;
pub(crate) use self::table::only_parquet;
pub(crate) use self::table::{CopiedColumns, TextTable, TextTables};
