//! Random histories of a table, searched through its catalog before and after refreshes.

use std::collections::BTreeMap;

use lath_catalog::{AddOptions, Catalog};
use lath_testkit::Seeded;
use serde_json::Value;

use crate::delta_table::{Table, protocol, remove};
use crate::{catalog_path, delete, find};

/// A file of the table: its `add`, and its rows, each with whether it is deleted.
struct File {
    add: Value,
    rows: Vec<(i64, bool)>,
}

#[test]
fn searches_return_the_rows_of_the_model_at_every_version() {
    let mut random = Seeded::new("searches return the rows of the model at every version");
    for _ in 0..6 {
        let table = Table::new(&[]);
        let mut files: BTreeMap<u64, File> = BTreeMap::new();
        let (mut version, mut next_file) = (1, 0);
        let mut is_added = false;
        for step in 0..30 {
            let mut actions = Vec::new();
            if step == 0 {
                actions.push(protocol(3, Some(&["deletionVectors"])));
            }
            for _ in 0..random.u64(1..4) {
                let ids: Vec<i64> = (0..random.u64(1..30)).map(|_| random.u64(0..400) as i64).collect();
                let rows: Vec<(i64, &str)> = ids.iter().map(|id| (*id, "x")).collect();
                let add = table.file(&format!("f{next_file}.parquet"), &rows);
                actions.push(add.clone());
                files.insert(next_file, File { add, rows: ids.into_iter().map(|id| (id, false)).collect() });
                next_file += 1;
            }
            if random.u64(0..3) == 0 {
                let at = random.u64(0..next_file);
                if let Some(file) = files.remove(&at) {
                    // A file that this commit adds is simply not part of it.
                    actions.retain(|action| *action != file.add);
                    actions.push(remove(&file.add));
                }
            }
            if random.u64(0..3) == 0 {
                let at = random.u64(0..next_file);
                if let Some(file) = files.get_mut(&at) {
                    let row = random.u64(0..file.rows.len() as u64) as usize;
                    file.rows[row].1 = true;
                    let deleted = file.rows.iter().enumerate().filter(|(_, (_, deleted))| *deleted);
                    let deleted: Vec<u64> = deleted.map(|(row, _)| row as u64).collect();
                    let with_deleted = delete(&table, &file.add, &format!("v{version}.bin"), &deleted);
                    actions.retain(|action| *action != file.add);
                    actions.extend([remove(&file.add), with_deleted.clone()]);
                    file.add = with_deleted;
                }
            }
            table.commit(version, &actions);
            version += 1;
            match random.u64(0..4) {
                0 if is_added => drop(Catalog::open(catalog_path(&table)).unwrap().refresh().unwrap()),
                0 => {
                    let catalog = Catalog::create(catalog_path(&table)).unwrap();
                    catalog.add([table.path()], &AddOptions::new().key(["id"])).unwrap();
                    is_added = true;
                }
                _ => {}
            }
            if !is_added {
                continue;
            }
            for id in (0..4).map(|_| random.u64(0..420) as i64) {
                let live = files.values().flat_map(|file| &file.rows).filter(|(of, deleted)| *of == id && !deleted);
                let expected = vec![format!("{id} x"); live.count()];
                assert_eq!(
                    find(&catalog_path(&table), &format!("id = {id}")).unwrap().1,
                    expected,
                    "version {version}"
                );
            }
        }
    }
}
