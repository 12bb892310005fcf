//! The contents of the table's exports, read without the table.

use std::collections::BTreeMap;
use std::path::{Path, absolute};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lath_parquet::{Dataset, DatasetOptions, DeleteMask, Strings};

use super::{History, Model};

impl History {
    pub(super) fn compare_exports(&mut self, folder: &Path) {
        let plain = folder.join("plain");
        let exported = self.table().export(&plain).unwrap();
        assert_eq!(exported.rows, self.model.len() as u64);
        let dataset = open(&plain);
        assert_eq!(dataset.files().len(), exported.files);
        assert!(self.read(&dataset, &[]) == self.model, "export after {:?}", self.steps);

        let with_deletes = folder.join("with deletes");
        let exported = self.table().snapshot().unwrap().export_with_deletes(&with_deletes, None).unwrap();
        assert_eq!(exported.rows, self.model.len() as u64);
        let dataset = open(&with_deletes.join("data"));
        assert_eq!(dataset.files().len(), exported.files);
        let mut masks = vec![DeleteMask::new(); dataset.files().len()];
        if exported.delete_files > 0 {
            let lists = open(&with_deletes.join("deletes"));
            assert_eq!(lists.files().len(), exported.delete_files);
            let paths = dataset.files().iter().map(|file| absolute(file.path().unwrap()).unwrap());
            let places: BTreeMap<_, _> = paths.map(|path| path.to_str().unwrap().to_owned()).zip(0..).collect();
            for batch in lists.scan().strings(Strings::Offsets).build().unwrap() {
                add_deletes(&batch.unwrap(), &places, &mut masks);
            }
        }
        assert_eq!(masks.iter().map(DeleteMask::len).sum::<u64>(), exported.deleted);
        assert!(self.read(&dataset, &masks) == self.model, "export with deletes after {:?}", self.steps);
    }

    fn read(&self, dataset: &Dataset, masks: &[DeleteMask]) -> Model {
        let scan = dataset.scan().strings(Strings::Offsets).deleted(masks.iter().cloned().enumerate());
        let mut model = Model::new();
        for (key, row) in scan.build().unwrap().flat_map(|batch| self.columns.rows(&batch.unwrap())) {
            assert!(model.insert(key, row).is_none(), "a key is there twice after {:?}", self.steps);
        }
        model
    }
}

fn open(folder: &Path) -> Dataset {
    Dataset::open([folder], DatasetOptions::new()).unwrap()
}

fn add_deletes(batch: &RecordBatch, places: &BTreeMap<String, usize>, masks: &mut [DeleteMask]) {
    let (paths, rows) = (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
    for (path, row) in paths.iter().flatten().zip(rows.values()) {
        let mask = &mut masks[places[path]];
        assert!(!mask.contains(*row as u64), "a row is listed twice");
        mask.insert(*row as u64);
    }
}
