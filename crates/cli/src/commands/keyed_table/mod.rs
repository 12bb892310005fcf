//! `table`: tables with a primary key.

#[cfg(feature = "sql")]
mod alter;
mod changes;
mod consumers;
#[cfg(feature = "sql")]
mod declared;
mod follow;
mod history;
mod import;
mod keys;
mod load;
mod maintenance;
mod open;
#[cfg(feature = "sql")]
mod order;
mod publish;
pub(super) mod read;
mod state;
mod write;

pub(super) use maintenance::describe;

use crate::args::KeyedTable;
use crate::failure::{Outcome, Result};

pub(crate) fn run(what: &KeyedTable) -> Result<Outcome> {
    match what {
        KeyedTable::Create(args) => write::create(args),
        KeyedTable::Import(args) => import::run(args),
        KeyedTable::Upsert(args) => write::upsert(args),
        KeyedTable::Get(args) => read::get(args),
        KeyedTable::Delete(args) => write::delete(args),
        KeyedTable::Scan(args) => read::scan(args),
        KeyedTable::Count(args) => read::count(args),
        KeyedTable::Compact(args) => maintenance::compact(args),
        KeyedTable::Flush(args) => maintenance::flush(args),
        #[cfg(feature = "sql")]
        KeyedTable::Alter(args) => alter::run(args),
        KeyedTable::Drop(args) => maintenance::drop_table(args),
        KeyedTable::Check(args) => maintenance::check(args),
        KeyedTable::Repair(args) => maintenance::repair(args),
        KeyedTable::Backup(args) => maintenance::backup(args),
        KeyedTable::Restore(args) => maintenance::restore(args),
        KeyedTable::Follow(args) => follow::run(args),
        KeyedTable::Export(args) => maintenance::export(args),
        KeyedTable::Stats(args) => maintenance::stats(args),
        KeyedTable::Publish(args) => publish::run(args),
        KeyedTable::Changes(args) => changes::run(args),
        KeyedTable::History(args) => history::run(args),
        KeyedTable::Snapshot(args) => maintenance::run_snapshot(args),
    }
}
