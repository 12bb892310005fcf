//! Adding, refreshing and removing files.

mod add_options;
mod catalog_change;
mod changes;
mod discovery;
mod edit;
mod freshness;
mod partition_update;
mod table_update;

pub use self::add_options::AddOptions;
pub use self::changes::Changes;
pub use self::freshness::InFolder;
