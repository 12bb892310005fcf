//! Rows by the values of indexed columns.

use lath_table::Key;

use super::{History, Model, Reads};
use crate::rows::{RowKey, Values};

/// The columns of the indexes in histories, by name.
const INDEXES: [(&str, &[&str]); 2] = [("by n", &["n"]), ("by s and n", &["s", "n"])];

/// Whether a row should be found.
type RowTest<'r> = Box<dyn Fn(&Values) -> bool + 'r>;

impl History {
    pub(super) fn create_or_drop_index(&mut self) -> String {
        let (name, columns) = INDEXES[self.random.usize(..2)];
        let table = self.table();
        if self.indexes.remove(name) {
            table.drop_index(name).unwrap();
            return format!("drop index {name}");
        }
        let columns: Vec<&str> = columns.iter().map(|column| self.columns.name(column)).collect();
        table.create_index(name, &columns, false).unwrap();
        self.indexes.insert(name);
        let indexes = table.snapshot().unwrap().indexes();
        assert!(indexes.iter().map(|index| &index.name[..]).eq(self.indexes.iter().copied()));
        format!("create index {name}")
    }

    pub(super) fn compare_indexes(&mut self, reads: &mut dyn Reads, model: &Model) {
        for &name in &self.indexes.clone() {
            let some = model.values().nth(self.random.usize(..model.len().max(1)));
            let n = some.and_then(|row| row.n).unwrap_or(7);
            let s = some.and_then(|row| row.s.clone()).unwrap_or_default();
            let (values, does_fit): (Key, RowTest<'_>) = match (name, self.random.bool()) {
                ("by n", _) => (n.into(), Box::new(|row| row.n == Some(n))),
                (_, false) => (s.as_str().into(), Box::new(|row| row.s.as_ref() == Some(&s))),
                (_, true) => ((s.as_str(), n).into(), Box::new(|row| row.s.as_ref() == Some(&s) && row.n == Some(n))),
            };
            let mut found: Vec<(RowKey, Values)> = self.columns.rows(&reads.get_by_index(name, values).unwrap());
            // The index has nulls first, and then the order of keys.
            assert!(found.is_sorted_by_key(|(key, row)| (row.n, key.clone())), "{name} after {:?}", self.steps);
            found.sort_by(|a, b| a.0.cmp(&b.0));
            let expected: Vec<(RowKey, Values)> =
                model.iter().filter(|(_, row)| does_fit(row)).map(|(key, row)| (key.clone(), row.clone())).collect();
            assert!(found == expected, "{name} after {:?}", self.steps);
        }
    }
}
