//! The stores that are measured.

pub mod fjall;
pub mod lath;
pub mod lmdb;
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;

use crate::engine::Engine;

/// The block cache of engines that have one: room for all of 20 million keys.
const CACHE_BYTES: usize = 2 << 30;

/// Work that any engine can do.
pub trait Work {
    type Answer;

    fn on<E: Engine>(self) -> Self::Answer;
}

/// The engines that this program was built with, Lath first.
pub const NAMES: &[&str] = &[
    lath::Lath::NAME,
    lmdb::Lmdb::NAME,
    redb::Redb::NAME,
    fjall::Fjall::NAME,
    #[cfg(feature = "rocksdb")]
    rocksdb::RocksDb::NAME,
];

/// Does the work on the engine of this name.
pub fn with<W: Work>(name: &str, work: W) -> Option<W::Answer> {
    Some(match name {
        lath::Lath::NAME => work.on::<lath::Lath>(),
        lmdb::Lmdb::NAME => work.on::<lmdb::Lmdb>(),
        redb::Redb::NAME => work.on::<redb::Redb>(),
        fjall::Fjall::NAME => work.on::<fjall::Fjall>(),
        #[cfg(feature = "rocksdb")]
        rocksdb::RocksDb::NAME => work.on::<rocksdb::RocksDb>(),
        _ => return None,
    })
}
