//! The engines that are measured.

mod duckdb;
mod fjall;
mod redb;
mod rocksdb;
mod sqlite;
mod store;
mod table;

use crate::engine::Engine;

/// Work that any engine can do.
pub trait Work {
    type Answer;

    fn on<E: Engine>(self) -> Self::Answer;
}

/// Lath's first.
pub const NAMES: &[&str] = &["table", "store", "sqlite", "redb", "fjall", "rocksdb", "duckdb"];

/// Does the work on the engine of this name.
pub fn with<W: Work>(name: &str, work: W) -> Option<W::Answer> {
    Some(match name {
        "table" => work.on::<table::LathTable>(),
        "store" => work.on::<store::LathStore>(),
        "sqlite" => work.on::<sqlite::Sqlite>(),
        "redb" => work.on::<redb::Redb>(),
        "fjall" => work.on::<fjall::Fjall>(),
        "rocksdb" => work.on::<rocksdb::RocksDb>(),
        "duckdb" => work.on::<duckdb::DuckDb>(),
        _ => return None,
    })
}

/// Why the engine cannot be measured here, and what to do about it.
pub fn obstacle(name: &str, is_synced: bool) -> Option<&'static str> {
    match name {
        "rocksdb" => rocksdb::api().err(),
        "duckdb" if !is_synced => Some("it syncs every commit; measure it without --unsynced"),
        "duckdb" => duckdb::api().err(),
        _ => None,
    }
}
