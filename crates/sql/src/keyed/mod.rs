//! Tables with a primary key: in the session's database, or attached by their folder.

mod attach;
mod changes_of;
mod comment_text;
mod comments;
mod database;
mod earlier;
mod feed;
mod functions;
mod generated;
mod lookup;
mod planned_rows;
mod source;
mod table;
mod tables;

pub(crate) use attach::AttachedTables;
pub(crate) use comment_text::{COMMENT, with_view_comment};
pub(crate) use comments::plan_described;
pub(crate) use database::{DatabaseFolder, SessionDatabase};
pub(crate) use functions::TableFunctions;
pub(crate) use generated::column_generated_by;
pub(crate) use lookup::matching_keys;
#[cfg(feature = "remote")]
pub(crate) use source::{KeyedSource, Reading};
pub(crate) use table::{COLUMN_DEFAULT, KeyedTable, ROW_COLUMN, WITH_ROW_COLUMN, row_column};
pub(crate) use tables::SessionTables;
