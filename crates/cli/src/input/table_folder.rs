//! Names that are the folder of a table with a primary key.

use std::path::Path;

use lath_parquet::FolderFormat;

use crate::args::OpenArgs;

/// Whether a name is the folder of a table, and means the table and not its files.
pub(crate) fn is_table_folder(name: &Path, args: &OpenArgs) -> bool {
    !args.plain_files && FolderFormat::at(name) == Some(FolderFormat::KeyedTable)
}
