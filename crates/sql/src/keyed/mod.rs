//! Tables with a primary key: those of the session's database, and those that are attached by their folders.

mod attach;
mod bind;
mod functions;
mod lookup;
mod source;
mod table;
mod tables;

pub(crate) use attach::AttachedTables;
pub(crate) use bind::{Commits, bind};
pub(crate) use functions::TableFunctions;
pub(crate) use lookup::keys_of;
pub(crate) use table::{COLUMN_DEFAULT, KeyedTable};
pub(crate) use tables::SessionTables;
