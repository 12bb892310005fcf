//! Moves files that earlier formats have in the folder of the table itself to the folder of files.

use std::sync::Arc;

use lath_store::Durability;

use crate::error::Result;
use crate::file::{DATA_FOLDER, is_old_file_name, link_or_copy, sync_folder};
use crate::records::FileEntry;
use crate::view::Engine;
use crate::write::OpenWrite;

/// Gives these files new numbers and names, in one commit. The old names are dropped like files that were merged, so that readers, named snapshots and
/// published ones keep them. Links that a crash leaves are files that no commit names.
pub(crate) fn move_old_files(engine: &Arc<Engine>) -> Result<()> {
    let mut changing = OpenWrite::begin(engine)?;
    let is_old = |entry: &&Arc<FileEntry>| is_old_file_name(&entry.name);
    let old: Vec<Arc<FileEntry>> = changing.manifest().files().iter().filter(is_old).cloned().collect();
    if old.is_empty() {
        return Ok(());
    }
    engine.files.prepare()?;
    for entry in old {
        let (number, name) = engine.new_file(changing.state());
        link_or_copy(&engine.files.path(&entry.name), &engine.files.path(&name))?;
        changing.move_file(&entry, number, name)?;
    }
    sync_folder(&engine.files.path(DATA_FOLDER))?;
    changing.commit(Durability::Sync)
}
