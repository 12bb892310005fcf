//! The engines that are measured.

mod fjall;
mod redb;
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
pub const NAMES: &[&str] = &["table", "store", "sqlite", "redb", "fjall"];

/// Does the work on the engine of this name.
pub fn with<W: Work>(name: &str, work: W) -> Option<W::Answer> {
    Some(match name {
        "table" => work.on::<table::LathTable>(),
        "store" => work.on::<store::LathStore>(),
        "sqlite" => work.on::<sqlite::Sqlite>(),
        "redb" => work.on::<redb::Redb>(),
        "fjall" => work.on::<fjall::Fjall>(),
        _ => return None,
    })
}
