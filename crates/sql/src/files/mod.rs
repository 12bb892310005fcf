//! Files as tables: by name, by table function, by CREATE EXTERNAL TABLE and through catalogs.

mod catalog_table;
mod catalogs;
mod copied;
mod external;
mod external_lake;
mod file_metadata;
mod lake_table;
mod location;
mod read_lake;
mod read_parquet;
mod rest_catalog;
mod show_tables;
mod some_columns;
mod table;
mod table_function;
mod text;

pub use self::catalog_table::{CatalogTable, keyed_snapshot, keyed_table};
pub(crate) use self::catalogs::Catalogs;
pub(crate) use self::copied::open_copied;
pub(crate) use self::external::ExternalTables;
pub(crate) use self::external_lake::{ExternalLake, LakePlace, LakeTables};
pub(crate) use self::file_metadata::FileMetadata;
pub(crate) use self::lake_table::LakeTable;
pub use self::lake_table::lake_table;
pub(crate) use self::location::{Locations, is_location};
pub(crate) use self::read_lake::ReadLake;
pub(crate) use self::read_parquet::ReadParquet;
pub(crate) use self::rest_catalog::AttachedCatalog;
pub(crate) use self::show_tables::ShownTables;
pub use self::some_columns::SomeColumns;
pub use self::table::LathTable;
pub(crate) use self::text::{CopiedColumns, ReadText, TextTables, copied_text};
