//! Random histories compared with a `BTreeMap`: at the newest commit, within transactions, and at every named snapshot.
//!
//! `LATH_CASES` sets the number of histories.

mod changes;
mod clustering;
mod export;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod faults;
mod indexes;
mod merge;
mod schema;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use lath_predicate::{Predicate, column};
use lath_table::{Durability, FoundRows, RangeScan, Result, Snapshot, Table, TableOptions, TableScan, Transaction};
use lath_testkit::Seeded;
use lath_writer::WriteOptions;

use crate::rows::{Part, RowKey, SHAPES, Shape, Values, random_values};

type Model = BTreeMap<RowKey, Values>;

/// A condition as a function.
type Test = Box<dyn Fn(&RowKey, &Values) -> bool>;

/// The queries that snapshots and transactions share.
trait Reads {
    fn get(&mut self, key: lath_table::Key) -> Result<Option<RecordBatch>>;
    fn get_many(&mut self, keys: &RecordBatch) -> Result<FoundRows>;
    fn scan(&mut self) -> TableScan<'_>;
    fn range(&mut self, low: Option<lath_table::Key>, high: Option<lath_table::Key>) -> Result<RangeScan<'_>>;
    fn count(&mut self) -> Result<u64>;
    fn get_by_index(&mut self, name: &str, values: lath_table::Key) -> Result<RecordBatch>;
}

macro_rules! reads {
    ($type:ty) => {
        impl Reads for $type {
            fn get(&mut self, key: lath_table::Key) -> Result<Option<RecordBatch>> {
                <$type>::get(self, key)
            }
            fn get_many(&mut self, keys: &RecordBatch) -> Result<FoundRows> {
                <$type>::get_many(self, keys)
            }
            fn scan(&mut self) -> TableScan<'_> {
                <$type>::scan(self)
            }
            fn range(&mut self, low: Option<lath_table::Key>, high: Option<lath_table::Key>) -> Result<RangeScan<'_>> {
                match (low, high) {
                    (Some(low), Some(high)) => <$type>::range(self, low..high),
                    (Some(low), None) => <$type>::range(self, low..),
                    (None, Some(high)) => <$type>::range(self, ..=high),
                    (None, None) => <$type>::range::<lath_table::Key>(self, ..),
                }
            }
            fn count(&mut self) -> Result<u64> {
                <$type>::count(self)
            }
            fn get_by_index(&mut self, name: &str, values: lath_table::Key) -> Result<RecordBatch> {
                <$type>::get_by_index(self, name, values)
            }
        }
    };
}
reads!(Snapshot);
reads!(Transaction);

struct History {
    random: Seeded,
    shape: Shape,
    /// The number of keys.
    space: u64,
    options: TableOptions,
    table: Option<Table>,
    model: Model,
    columns: schema::Columns,
    /// The columns by which new files are sorted.
    cluster: Vec<schema::Origin>,
    /// The models of named snapshots, with their columns.
    named: BTreeMap<String, (Model, schema::Columns)>,
    indexes: std::collections::BTreeSet<&'static str>,
    /// A copy that follows the changes, in most histories.
    replica: Option<changes::Replica>,
    steps: Vec<String>,
    /// Whether the files are in a bucket, where calls of the system do not fail.
    is_in_bucket: bool,
}

#[test]
fn tables_match_maps() {
    let cases = std::env::var("LATH_CASES").map_or(9, |cases| cases.parse().unwrap());
    let mut seeds = Seeded::new("tables do as maps do");
    for case in 0..cases {
        let random = Seeded::with_seed(format!("history {case}"), seeds.u64(..));
        let folder = tempfile::tempdir().unwrap();
        History::new(random, SHAPES[case % 3], &folder.path().join("table"), TableOptions::new()).run(folder.path());
    }
}

/// Compares tables with files below a URL.
#[cfg(feature = "object-store")]
pub(crate) fn compare_below(url: &str, cases: usize) {
    let mut seeds = Seeded::new("tables whose files are in a bucket do as maps do");
    for case in 0..cases {
        let random = Seeded::with_seed(format!("history {case}"), seeds.u64(..));
        let folder = tempfile::tempdir().unwrap();
        let options =
            TableOptions::new().cold_files(format!("{url}/{case}")).disk_cache_bytes([1 << 20, 1 << 30][case % 2]);
        let mut history = History::new(random, SHAPES[case % 3], &folder.path().join("table"), options);
        history.is_in_bucket = true;
        history.run(folder.path());
    }
}

impl History {
    fn new(mut random: Seeded, shape: Shape, folder: &Path, options: TableOptions) -> Self {
        let options = options
            .background(false)
            .durability(Durability::Off)
            .file_rows([300, 2500, 1 << 20][random.usize(..3)])
            .merge_files(random.usize(2..5))
            .merge_rows([1000, 1 << 20][random.usize(..2)])
            .bulk_rows([1, 25, 1 << 20][random.usize(..3)])
            .cache_bytes([0, 300_000, 1 << 28][random.usize(..3)])
            .flush_bytes([3000, 1 << 28][random.usize(..2)])
            .write_options(WriteOptions::default().row_group_rows([400, 1 << 16][random.usize(..2)]))
            .deleted_percent(random.u32(1..60));
        let space = if random.u8(..3) == 0 { 6000 } else { 150 };
        let columns = schema::Columns::new(shape);
        let cluster = [&[][..], &["n"], &["s", "n"]][random.usize(..3)];
        let keys = shape.key_columns();
        let table = Table::create_clustered(folder, &shape.schema(), &keys, cluster, options.clone()).unwrap();
        let kept = [None, Some(100), Some(u64::MAX)][random.usize(..3)];
        let replica = kept.map(|kept| changes::Replica::new(&table, kept));
        let (model, named) = (Model::new(), BTreeMap::new());
        Self {
            random,
            shape,
            space,
            options,
            table: Some(table),
            model,
            cluster: cluster.iter().map(|name| schema::Origin::Shape((*name).to_owned())).collect(),
            columns,
            named,
            indexes: Default::default(),
            replica,
            steps: Vec::new(),
            is_in_bucket: false,
        }
    }

    fn table(&self) -> Table {
        self.table.clone().unwrap()
    }

    fn run(mut self, folder: &Path) {
        let steps = if self.space > 1000 { 14 } else { 50 };
        for step in 0..steps {
            let what = self.step();
            self.steps.push(what);
            if step % 4 == 0 || step + 1 == steps {
                self.compare_all();
            }
        }
        let report = self.table().check().unwrap();
        assert!(report.is_intact(), "{report:?} after {:?}", self.steps);
        assert_eq!(report.rows, self.model.len() as u64);
        self.compare_exports(&folder.join("exports"));
    }

    fn step(&mut self) -> String {
        let table = self.table();
        match self.random.u8(..40) {
            0..=3 => {
                let rows = self.random_rows();
                table.upsert(&self.columns.batch(&rows)).unwrap();
                self.model.extend(rows.clone());
                format!("upsert {}", rows.len())
            }
            4 | 5 => self.insert(),
            6 | 7 => self.update(),
            8 | 9 => {
                let keys = self.random_keys();
                table.delete(self.columns.key_batch(&keys.iter().collect::<Vec<_>>())).unwrap();
                keys.iter().for_each(|key| drop(self.model.remove(key)));
                format!("delete {}", keys.len())
            }
            10 | 11 => {
                let (predicate, test) = self.random_condition(&self.columns.clone());
                let deleted = table.delete_where(&predicate).unwrap();
                let before = self.model.len();
                self.model.retain(|key, row| !test(key, row));
                assert_eq!(deleted, (before - self.model.len()) as u64, "{predicate}");
                format!("delete where {predicate}")
            }
            12..=14 => format!("{:?}", table.flush().unwrap()),
            15 | 16 => format!("{:?}", table.compact().unwrap()),
            17 => format!("vacuum {}", table.vacuum().unwrap()),
            18 | 19 => {
                let name = format!("snapshot {}", self.random.u8(..3));
                if self.named.remove(&name).is_some() {
                    table.drop_snapshot(&name).unwrap();
                    format!("drop {name}")
                } else {
                    table.keep_snapshot(&name).unwrap();
                    self.named.insert(name.clone(), (self.model.clone(), self.columns.clone()));
                    format!("keep {name}")
                }
            }
            20 => {
                let folder = table.folder().to_owned();
                table.sync().unwrap();
                drop((self.table.take(), table));
                self.table = Some(Table::open(folder, self.options.clone()).unwrap());
                "reopen".to_owned()
            }
            21..=23 => self.merge(),
            24 | 25 => self.create_or_drop_index(),
            26..=29 => self.change_schema(),
            // The copy would have local files.
            30 if !self.is_in_bucket => self.move_to_backup(),
            37..=39 => self.cluster_by(),
            #[cfg(all(target_os = "linux", target_env = "gnu"))]
            34..=36 if !self.is_in_bucket => self.with_fault(table),
            _ => self.transaction(),
        }
    }

    /// Continues with a backup instead of the table.
    fn move_to_backup(&mut self) -> String {
        let table = self.table.take().unwrap();
        let folder = table.folder().with_extension(self.steps.len().to_string());
        let backed_up = table.backup(&folder).unwrap();
        drop(table);
        self.table = Some(Table::open(folder, self.options.clone()).unwrap());
        format!("{backed_up:?}")
    }

    fn transaction(&mut self) -> String {
        let mut transaction = self.table().begin().unwrap();
        let mut model = self.model.clone();
        for _ in 0..self.random.usize(1..5) {
            match self.random.u8(..3) {
                0 => {
                    let rows = self.random_rows();
                    transaction.upsert(&self.columns.batch(&rows)).unwrap();
                    model.extend(rows);
                }
                1 => {
                    let keys = self.random_keys();
                    transaction.delete(self.columns.key_batch(&keys.iter().collect::<Vec<_>>())).unwrap();
                    keys.iter().for_each(|key| drop(model.remove(key)));
                }
                _ => {
                    let (predicate, test) = self.random_condition(&self.columns.clone());
                    transaction.delete_where(&predicate).unwrap();
                    model.retain(|key, row| !test(key, row));
                }
            }
        }
        self.compare(&mut transaction, &model, &self.columns.clone(), "within a transaction");
        if self.random.u8(..4) == 0 {
            return "aborted transaction".to_owned();
        }
        transaction.commit().unwrap();
        self.model = model;
        "transaction".to_owned()
    }

    fn insert(&mut self) -> String {
        let mut rows = self.random_rows();
        if self.random.bool() {
            rows.retain(|(key, _)| !self.model.contains_key(key));
            rows.sort_by(|a, b| a.0.cmp(&b.0));
            rows.dedup_by(|a, b| a.0 == b.0);
        }
        let mut seen = Model::new();
        let is_new = |(key, row): &(RowKey, Values)| {
            !self.model.contains_key(key) && seen.insert(key.clone(), row.clone()).is_none()
        };
        let is_allowed = rows.iter().all(is_new);
        let inserted = self.table().insert(&self.columns.batch(&rows));
        if is_allowed {
            inserted.unwrap();
            self.model.extend(rows);
        } else {
            let error = inserted.unwrap_err();
            assert!(matches!(error, lath_table::Error::DuplicateKey { .. }), "{error}");
        }
        format!("insert, {is_allowed}")
    }

    fn update(&mut self) -> String {
        let rows = self.random_rows();
        let batch = self.columns.batch(&rows);
        let mut names = self.shape.key_columns();
        names.extend(["n", "tags"]);
        let names: Vec<&str> = names.into_iter().map(|name| self.columns.name(name)).collect();
        let columns: Vec<usize> = names.iter().map(|name| batch.schema().index_of(name).unwrap()).collect();
        let updated = self.table().update(&batch.project(&columns).unwrap()).unwrap();
        let mut changed = std::collections::BTreeSet::new();
        let mut absent = 0;
        for (key, row) in rows {
            match self.model.get_mut(&key) {
                Some(old) => {
                    (old.n, old.tags) = (row.n, row.tags);
                    changed.insert(key);
                }
                None => absent += 1,
            }
        }
        assert_eq!((updated.rows, updated.absent), (changed.len() as u64, absent));
        format!("update {updated:?}")
    }

    fn random_keys(&mut self) -> Vec<RowKey> {
        let count = self.random.usize(..40);
        (0..count).map(|_| self.shape.key(self.random.u64(..self.space))).collect()
    }

    fn random_rows(&mut self) -> Vec<(RowKey, Values)> {
        let count = if self.space > 1000 && self.random.bool() { 3000 } else { self.random.usize(..40) };
        let mut row = || {
            let mut values = random_values(&mut self.random);
            self.columns.fill(&mut values, &mut self.random);
            (self.shape.key(self.random.u64(..self.space)), values)
        };
        (0..count).map(|_| row()).collect()
    }

    fn random_condition(&mut self, columns: &schema::Columns) -> (Predicate, Test) {
        let n = self.random.i32(-60..60);
        if self.random.bool()
            && let Some(condition) = columns.random_condition(&mut self.random)
        {
            return condition;
        }
        let column = |name: &str| column(columns.name(name));
        match self.random.u8(..5) {
            0 => (column("n").lt(n), Box::new(move |_, row| row.n.is_some_and(|value| value < n))),
            1 => (column("n").eq(n), Box::new(move |_, row| row.n == Some(n))),
            2 => {
                let condition = column("s").starts_with("a") & column("n").gt(n);
                let test = move |row: &Values| row.s.as_ref().is_some_and(|s| s.starts_with('a')) && row.n > Some(n);
                (condition, Box::new(move |_, row| test(row)))
            }
            3 => (column("n").is_null() & column("s").is_null(), Box::new(|_, row| row.n.is_none() && row.s.is_none())),
            _ => {
                let key = self.shape.key(self.random.u64(..self.space));
                let first = key[0].clone();
                let (name, condition) = match &first {
                    Part::Integer(id) => ("id", column("id").le(*id)),
                    Part::Text(text) if self.shape == Shape::Text => ("id", column("id").eq(text.as_str())),
                    Part::Text(text) => ("town", column("town").eq(text.as_str()) & column("n").ge(n)),
                    Part::Float(_) => unreachable!(),
                };
                let test = move |key: &RowKey, row: &Values| match (name, &key[0]) {
                    ("town", town) => *town == first && row.n.is_some_and(|value| value >= n),
                    (_, Part::Integer(_)) => key[0] <= first,
                    _ => key[0] == first,
                };
                (condition, Box::new(test))
            }
        }
    }

    fn compare_all(&mut self) {
        self.follow_changes();
        self.compare_clustering(&self.table());
        let mut snapshot = self.table().snapshot().unwrap();
        let (model, columns) = (self.model.clone(), self.columns.clone());
        self.compare(&mut snapshot, &model, &columns, "at the newest commit");
        assert_eq!(snapshot.snapshot_names().unwrap(), self.named.keys().cloned().collect::<Vec<_>>());
        for (name, (model, columns)) in self.named.clone() {
            self.compare(&mut snapshot.snapshot_named(&name).unwrap(), &model, &columns, &name);
        }
    }

    fn compare(&mut self, reads: &mut dyn Reads, model: &Model, columns: &schema::Columns, what: &str) {
        let what = format!("{what}, after {:?}", self.steps);
        let shape = self.shape;
        assert_eq!(reads.count().unwrap(), model.len() as u64, "count {what}");
        let rows = |batches: &mut dyn Iterator<Item = Result<RecordBatch>>| -> Vec<(RowKey, Values)> {
            batches.flat_map(|batch| columns.rows(&batch.unwrap())).collect()
        };
        let scanned = rows(&mut reads.scan().build().unwrap());
        let by_key: Model = scanned.iter().cloned().collect();
        assert_eq!(scanned.len(), by_key.len(), "a key twice {what}");
        assert!(by_key == *model, "scan {what}");

        let ordered = rows(&mut reads.range(None, None).unwrap().build().unwrap());
        assert!(ordered.iter().map(|(key, row)| (key, row)).eq(model), "range {what}");
        let [mut low, mut high] = [(); 2].map(|()| shape.key(self.random.u64(..self.space)));
        if low > high {
            std::mem::swap(&mut low, &mut high);
        }
        let key = |key: &RowKey| {
            let batch = columns.key_batch(&[key]);
            lath_table::Key::new(batch.columns().iter().cloned().map(Into::into))
        };
        let ranged = rows(&mut reads.range(Some(key(&low)), Some(key(&high))).unwrap().build().unwrap());
        assert!(ranged.iter().map(|(key, row)| (key, row)).eq(model.range(low.clone()..high.clone())), "part {what}");
        let most = self.random.usize(..200);
        let first = rows(&mut reads.range(Some(key(&low)), None).unwrap().limit(most as u64).build().unwrap());
        let expected = model.range(low.clone()..).take(most);
        assert!(first.iter().map(|(key, row)| (key, row)).eq(expected), "{most} rows from {low:?} {what}");
        let count = reads.range(Some(key(&low)), Some(key(&high))).unwrap().count().unwrap();
        assert_eq!(count, model.range(low.clone()..high.clone()).count() as u64, "count of {low:?}..{high:?} {what}");
        let count = reads.range(None, Some(key(&high))).unwrap().count().unwrap();
        assert_eq!(count, model.range(..=high.clone()).count() as u64, "count up to {high:?} {what}");

        let (predicate, test) = self.random_condition(columns);
        let found: Model = rows(&mut reads.scan().predicate(predicate.clone()).build().unwrap()).into_iter().collect();
        let expected: Model =
            model.iter().filter(|(key, row)| test(key, row)).map(|(key, row)| (key.clone(), row.clone())).collect();
        assert!(found == expected, "{predicate} {what}");
        assert_eq!(reads.scan().predicate(predicate.clone()).count().unwrap(), expected.len() as u64);
        let bounds = [key(&low), key(&high)];
        let of_part = || expected.range(low.clone()..high.clone());
        let found = rows(&mut found_in_part(reads, &bounds, &predicate).build().unwrap());
        assert!(found.iter().map(|(key, row)| (key, row)).eq(of_part()), "{predicate} in a part {what}");
        let key_columns =
            columns.key_batch(&[]).schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let limited = found_in_part(reads, &bounds, &predicate).limit(3).select(key_columns).build().unwrap();
        let limited: usize = limited.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(limited, of_part().count().min(3), "{predicate} in a part, at most three {what}");
        assert_eq!(
            found_in_part(reads, &bounds, &predicate).count().unwrap(),
            of_part().count() as u64,
            "count of {predicate} in a part {what}"
        );
        let limit = self.random.u64(..20);
        let limited = rows(&mut reads.scan().limit(limit).build().unwrap());
        assert_eq!(limited.len() as u64, limit.min(model.len() as u64), "limit {what}");

        if what.starts_with("at the newest") || what.starts_with("within") {
            self.compare_indexes(reads, model);
        }

        let keys = self.random_keys();
        let found = reads.get_many(&columns.key_batch(&keys.iter().collect::<Vec<_>>())).unwrap();
        let found_rows = columns.rows(found.rows());
        for one in &keys {
            let found = reads.get(key(one)).unwrap().map(|row| columns.rows(&row));
            assert!(found.as_ref().is_none_or(|rows| rows.len() == 1 && rows[0].0 == *one), "{one:?} {what}");
            assert_eq!(found.as_ref().map(|rows| &rows[0].1), model.get(one), "{one:?} {what}");
        }
        for (key, place) in keys.iter().zip(found.places()) {
            let row = place.map(|place| &found_rows[place]);
            assert_eq!(row.map(|(_, row)| row), model.get(key), "{key:?} {what}");
            assert!(row.is_none_or(|(other, _)| other == key));
        }
    }
}

/// The rows between two keys that satisfy a condition.
fn found_in_part<'r>(
    reads: &'r mut dyn Reads,
    [low, high]: &[lath_table::Key; 2],
    predicate: &Predicate,
) -> RangeScan<'r> {
    reads.range(Some(low.clone()), Some(high.clone())).unwrap().predicate(predicate.clone())
}

/// Keys and hot rows are stored in Arrow's row format, which Arrow does not keep stable between versions. If this fails
/// after an update, existing tables cannot be read as they are.
#[test]
fn the_row_format_of_arrow_is_what_tables_have_on_disk() {
    let bytes = |data_type: DataType, array: arrow_array::ArrayRef| {
        let converter = RowConverter::new(vec![SortField::new(data_type)]).unwrap();
        converter.convert_columns(&[array]).unwrap().row(0).data().to_vec()
    };
    let integer = bytes(DataType::Int32, Arc::new(arrow_array::Int32Array::from(vec![-2])));
    assert_eq!(integer, [1, 0x7f, 0xff, 0xff, 0xfe]);
    let float = bytes(DataType::Float64, Arc::new(arrow_array::Float64Array::from(vec![1.0])));
    assert_eq!(float, [1, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0]);
    let text = bytes(DataType::Utf8, Arc::new(arrow_array::StringArray::from(vec!["abc"])));
    assert_eq!(text, [2, b'a', b'b', b'c', 0, 0, 0, 0, 0, 3]);
    let long = "0123456789".repeat(5);
    let long = bytes(DataType::Utf8, Arc::new(arrow_array::StringArray::from(vec![long])));
    assert_eq!((long.len(), &long[..2], &long[long.len() - 2..]), (70, &[2, b'0'][..], &[0, 18][..]));
    let null = bytes(DataType::Int32, Arc::new(arrow_array::Int32Array::from(vec![None])));
    assert_eq!(null, [0; 5]);
}
