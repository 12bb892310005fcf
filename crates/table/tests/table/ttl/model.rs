//! Random histories of tables whose rows expire while the clock moves, compared with a map.

use std::collections::BTreeSet;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use lath_predicate::column;
use lath_table::{
    ChangeRetention, Durability, Error, MergeWhen, Predicate, Snapshot, Table, TableOptions, TimeToLive, WhenMatched,
};
use lath_testkit::Seeded;

use super::rows::{DAY, MovedClock, Row, Rows, batch, rows, schema, time_types};

/// The rule by which rows expire; `None` if they do not.
type Rule = Option<u64>;

struct History {
    random: Seeded,
    time: DataType,
    clock: MovedClock,
    options: TableOptions,
    table: Option<Table>,
    /// The rows that have not expired.
    model: Rows,
    rule: Rule,
    name: &'static str,
    indexes: BTreeSet<&'static str>,
    /// A copy that follows the changes.
    replica: Rows,
    resume_at: u64,
    named: Option<(Rows, Rule)>,
    /// Snapshots with the rows that they had when they were taken.
    held: Vec<(Snapshot, Rows)>,
    steps: Vec<String>,
}

#[test]
fn expiring_tables_match_maps() {
    let cases = std::env::var("LATH_CASES").map_or(14, |cases| cases.parse().unwrap());
    let mut seeds = Seeded::new("expiring tables do as maps do");
    for case in 0..cases {
        let random = Seeded::with_seed(format!("history {case}"), seeds.u64(..));
        let folder = tempfile::tempdir().unwrap();
        History::new(random, case, &folder.path().join("table")).run(folder.path());
    }
}

fn live(rows: &Rows, rule: Rule, now: u64) -> Rows {
    let is_live = |row: &Row| match (row.ts, rule) {
        (Some(ts), Some(lifetime)) => ts + lifetime > now,
        _ => true,
    };
    rows.iter().filter(|(_, row)| is_live(row)).map(|(id, row)| (*id, row.clone())).collect()
}

impl History {
    fn new(mut random: Seeded, case: usize, folder: &std::path::Path) -> Self {
        let clock = MovedClock::at(20_000 * DAY + random.u64(..DAY));
        let types = time_types();
        let time = types[case % types.len()].clone();
        let options = clock
            .options()
            .durability(Durability::Off)
            .file_rows([30, 1 << 20][random.usize(..2)])
            .merge_files(random.usize(2..5))
            .bulk_rows([1, 20, 1 << 20][random.usize(..3)])
            .flush_bytes([3000, 1 << 28][random.usize(..2)])
            .deleted_percent(random.u32(1..60));
        let cluster = [&[][..], &["n"], &["ts"]][random.usize(..3)];
        let table = Table::create_clustered(folder, &schema(&time), &["id"], cluster, options.clone()).unwrap();
        table.keep_changes(ChangeRetention::new()).unwrap();
        let resume_at = table.snapshot().unwrap().version();
        Self {
            random,
            time,
            clock,
            options,
            table: Some(table),
            model: Rows::new(),
            rule: None,
            name: "ts",
            indexes: BTreeSet::new(),
            replica: Rows::new(),
            resume_at,
            named: None,
            held: Vec::new(),
            steps: Vec::new(),
        }
    }

    fn table(&self) -> Table {
        self.table.clone().unwrap()
    }

    fn run(mut self, folder: &std::path::Path) {
        for step in 0..70 {
            let what = self.step();
            self.steps.push(what);
            if step % 3 == 0 || step == 69 {
                self.compare_all();
            }
        }
        self.held.clear();
        let report = self.table().check().unwrap();
        assert!(report.is_intact(), "{report:?} after {:?}", self.steps);
        let exported = self.table().snapshot().unwrap().export(folder.join("plain")).unwrap();
        assert_eq!(exported.rows, self.model.len() as u64);
        let exported = self.table().snapshot().unwrap().export_with_deletes(folder.join("own"), None).unwrap();
        assert_eq!(exported.rows, self.model.len() as u64, "{:?}", self.steps);
    }

    fn step(&mut self) -> String {
        let table = self.table();
        match self.random.u8(..30) {
            0..=4 => {
                let new = self.random_rows();
                let done = table.upsert(&self.batch(&new));
                format!("upsert {}, {}", new.len(), self.apply(new, done))
            }
            5 | 6 => {
                let new = self.random_rows();
                let ids: BTreeSet<i64> = new.iter().map(|(id, _)| *id).collect();
                let is_new = ids.len() == new.len() && ids.iter().all(|id| !self.model.contains_key(id));
                match table.insert(&self.batch(&new)) {
                    Err(Error::DuplicateKey { .. }) => assert!(!is_new, "after {:?}", self.steps),
                    done => {
                        assert!(is_new, "after {:?}", self.steps);
                        self.apply(new, done);
                    }
                }
                "insert".to_owned()
            }
            7 => {
                let new = self.random_rows();
                let updates = self.batch(&new).project(&[1, 3]).unwrap();
                let done = table.update(&updates).unwrap();
                let mut changed = BTreeSet::new();
                for (id, row) in new {
                    if let Some(old) = self.model.get_mut(&id) {
                        old.n = row.n;
                        changed.insert(id);
                    }
                }
                assert_eq!(done.rows, changed.len() as u64, "after {:?}", self.steps);
                "update".to_owned()
            }
            8 => {
                let new = self.random_rows();
                let ids: BTreeSet<i64> = new.iter().map(|(id, _)| *id).collect();
                let matched = ids.iter().filter(|id| self.model.contains_key(id)).count() as u64;
                let when = MergeWhen::new().matched(WhenMatched::Delete);
                let new: Vec<_> = new
                    .into_iter()
                    .map(|(id, row)| (id, Row { code: None, ..row }))
                    .collect::<Rows>()
                    .into_iter()
                    .collect();
                let done = table.merge(&self.batch(&new), &when).unwrap();
                assert_eq!(
                    (done.deleted, done.inserted),
                    (matched, ids.len() as u64 - matched),
                    "after {:?}",
                    self.steps
                );
                for (id, row) in new {
                    if self.model.remove(&id).is_none() {
                        self.model.insert(id, row);
                    }
                }
                self.expire();
                "merge".to_owned()
            }
            9 | 10 => {
                let ids: Vec<i64> = (0..self.random.usize(..10)).map(|_| self.random.i64(..80)).collect();
                ids.iter().for_each(|id| drop(self.model.remove(id)));
                table.delete(ids).unwrap();
                "delete".to_owned()
            }
            11 => {
                let n = self.random.i64(..20);
                let before = self.model.len();
                self.model.retain(|_, row| row.n != n);
                let deleted = table.delete_where(&column("n").eq(n)).unwrap();
                assert_eq!(deleted, (before - self.model.len()) as u64, "after {:?}", self.steps);
                "delete where".to_owned()
            }
            12..=14 => format!("{:?}", table.flush().unwrap()),
            15 | 16 => format!("{:?}", table.compact().unwrap()),
            17 => format!("vacuum {}", table.vacuum().unwrap()),
            18..=21 => {
                let seconds = [1, 3600, DAY, 5 * DAY, 40 * DAY][self.random.usize(..5)];
                self.clock.advance(seconds);
                self.expire();
                format!("{seconds} s later")
            }
            22 | 23 => self.change_rule(),
            24 => self.create_or_drop_index(),
            25 => {
                let folder = table.folder().to_owned();
                drop((self.table.take(), table));
                self.held.clear();
                self.table = Some(Table::open(folder, self.options.clone()).unwrap());
                "reopen".to_owned()
            }
            26 => {
                match self.named.take() {
                    Some(_) => table.drop_snapshot("monday").unwrap(),
                    None => {
                        table.keep_snapshot("monday").unwrap();
                        self.named = Some((self.model.clone(), self.rule));
                    }
                }
                "snapshot".to_owned()
            }
            27 => {
                self.held.push((table.snapshot().unwrap(), self.model.clone()));
                "hold".to_owned()
            }
            _ => self.transaction(),
        }
    }

    fn batch(&self, new: &[(i64, Row)]) -> RecordBatch {
        let batch = batch(&self.time, new);
        let mut fields: Vec<_> = batch.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        fields[0].set_name(self.name);
        RecordBatch::try_new(std::sync::Arc::new(arrow_schema::Schema::new(fields)), batch.columns().to_vec()).unwrap()
    }

    fn random_rows(&mut self) -> Vec<(i64, Row)> {
        let now = self.clock.now();
        let is_date = matches!(self.time, DataType::Date32 | DataType::Date64);
        let mut row = || {
            let ts = (self.random.u8(..8) > 0).then(|| now - 60 * DAY + self.random.u64(..70 * DAY));
            let ts = ts.map(|ts| if is_date { ts - ts % DAY } else { ts });
            let code = (self.random.u8(..3) > 0).then(|| format!("c{}", self.random.u32(..1000)));
            (self.random.i64(..80), Row { ts, code, n: self.random.i64(..20) })
        };
        (0..[3, 40][usize::from(now.is_multiple_of(3))]).map(|_| row()).collect()
    }

    fn expire(&mut self) {
        self.model = live(&self.model, self.rule, self.clock.now());
    }

    /// Puts rows into the model, unless a unique index forbids them.
    fn apply(&mut self, new: Vec<(i64, Row)>, done: lath_table::Result<()>) -> &'static str {
        let new: Rows = new.into_iter().collect();
        let mut after = self.model.clone();
        after.extend(new);
        let mut codes = BTreeSet::new();
        let is_unique = after.values().filter_map(|row| row.code.as_ref()).all(|code| codes.insert(code));
        if self.indexes.contains("by code") && !is_unique {
            assert!(matches!(done, Err(Error::NotUnique { .. })), "{done:?} after {:?}", self.steps);
            return "refused";
        }
        done.unwrap_or_else(|error| panic!("{error} after {:?}", self.steps));
        self.model = after;
        self.expire();
        "done"
    }

    fn change_rule(&mut self) -> String {
        let table = self.table();
        if self.random.u8(..4) == 0 {
            let name = ["ts", "expires at"][self.random.usize(..2)];
            table.rename_column(self.name, name).unwrap();
            self.name = name;
            return format!("rename to {name}");
        }
        let days = self.random.u64(..30);
        self.rule = (self.random.u8(..5) > 0).then_some(days * DAY);
        match self.rule {
            Some(lifetime) => table.set_ttl(self.name, Duration::from_secs(lifetime)).unwrap(),
            None => table.drop_ttl().unwrap(),
        }
        let ttl = self.rule.map(|lifetime| TimeToLive::new(self.name, Duration::from_secs(lifetime)));
        assert_eq!(table.snapshot().unwrap().ttl(), ttl);
        self.expire();
        format!("{:?}", self.rule)
    }

    fn create_or_drop_index(&mut self) -> String {
        let table = self.table();
        let name = ["by code", "by n"][self.random.usize(..2)];
        if self.indexes.remove(name) {
            table.drop_index(name).unwrap();
            return format!("drop {name}");
        }
        let created = table.create_index(name, &[&name[3..]], name == "by code");
        let mut codes = BTreeSet::new();
        let is_unique = self.model.values().filter_map(|row| row.code.as_ref()).all(|code| codes.insert(code));
        if name == "by code" && !is_unique {
            assert!(matches!(created, Err(Error::NotUnique { .. })));
            return "not unique".to_owned();
        }
        created.unwrap_or_else(|error| panic!("{error} after {:?}", self.steps));
        self.indexes.insert(name);
        format!("create {name}")
    }

    /// A transaction reads by the clock of its beginning.
    fn transaction(&mut self) -> String {
        let table = self.table();
        let mut transaction = table.begin().unwrap();
        let before = self.clock.now();
        self.clock.advance(3 * DAY);
        let n = self.random.i64(..20);
        self.model.retain(|_, row| row.n != n);
        transaction.delete_where(&column("n").eq(n)).unwrap();
        let new: Vec<_> = self.random_rows().into_iter().map(|(id, row)| (id, Row { code: None, ..row })).collect();
        transaction.upsert(&self.batch(&new)).unwrap();
        self.model.extend(new);
        self.model = live(&self.model, self.rule, before);
        let found = transaction.scan().build().unwrap().flat_map(|batch| self.rows(&batch.unwrap())).collect::<Rows>();
        assert!(found == self.model, "within a transaction after {:?}", self.steps);
        assert_eq!(transaction.count().unwrap(), self.model.len() as u64);
        transaction.commit().unwrap();
        self.expire();
        "transaction".to_owned()
    }

    fn rows(&self, batch: &RecordBatch) -> Vec<(i64, Row)> {
        let mut fields: Vec<_> = batch.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        if let Some(field) = fields.iter_mut().find(|field| field.name() == "expires at") {
            field.set_name("ts");
        }
        let schema = std::sync::Arc::new(arrow_schema::Schema::new(fields));
        rows(&RecordBatch::try_new(schema, batch.columns().to_vec()).unwrap())
    }

    fn compare_all(&mut self) {
        self.follow();
        let table = self.table();
        let snapshot = table.snapshot().unwrap();
        self.compare(&snapshot, &self.model.clone(), "now");
        if let Some((rows, rule)) = &self.named {
            let rows = live(rows, *rule, self.clock.now());
            self.compare(&snapshot.snapshot_named("monday").unwrap(), &rows, "on monday");
        }
        for (snapshot, rows) in self.held.clone() {
            self.compare(&snapshot, &rows, "held");
        }
    }

    fn compare(&mut self, snapshot: &Snapshot, model: &Rows, what: &str) {
        let what = format!("{what} after {:?}", self.steps);
        let all = |batches: &mut dyn Iterator<Item = lath_table::Result<RecordBatch>>| -> Vec<(i64, Row)> {
            batches.flat_map(|batch| self.rows(&batch.unwrap())).collect()
        };
        assert_eq!(snapshot.count().unwrap(), model.len() as u64, "count {what}");
        assert_eq!(snapshot.statistics().unwrap().rows, model.len() as u64, "statistics {what}");
        let scanned = all(&mut snapshot.scan().build().unwrap());
        assert_eq!(scanned.len(), model.len(), "scan {what}");
        assert!(scanned.into_iter().collect::<Rows>() == *model, "scan {what}");
        let ordered = all(&mut snapshot.range::<i64>(..).unwrap().build().unwrap());
        assert!(ordered.iter().map(|(id, row)| (id, row)).eq(model), "range {what}");
        let first = all(&mut snapshot.range(20..).unwrap().limit(7).build().unwrap());
        assert!(first.iter().map(|(id, row)| (id, row)).eq(model.range(20..).take(7)), "short range {what}");
        assert_eq!(snapshot.range(20..60).unwrap().count().unwrap(), model.range(20..60).count() as u64, "{what}");
        let n = self.random.i64(..20);
        let expected = model.values().filter(|row| row.n == n).count() as u64;
        assert_eq!(snapshot.scan().predicate(column("n").eq(n)).count().unwrap(), expected, "{what}");
        let no_rows = snapshot.scan().predicate(Predicate::parse("n = 1 AND n = 2").unwrap()).count().unwrap();
        assert_eq!(no_rows, 0);
        let limited: usize = snapshot.scan().limit(5).build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(limited, model.len().min(5), "{what}");
        let ids: Vec<i64> = (0..80).collect();
        let found = snapshot.get_many(ids.clone()).unwrap();
        let found_rows = self.rows(found.rows());
        for (id, place) in ids.iter().zip(found.places()) {
            let row = place.map(|place| &found_rows[place]);
            assert_eq!(row.map(|(_, row)| row), model.get(id), "get_many {what}");
            let row = snapshot.get(*id).unwrap().map(|row| self.rows(&row).remove(0).1);
            assert_eq!(row.as_ref(), model.get(id), "get {what}");
        }
        if snapshot.indexes().iter().any(|index| index.name == "by n") {
            let found = snapshot.get_by_index("by n", n).unwrap();
            let found_ids = found.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec();
            let expected: Vec<i64> = model.iter().filter(|(_, row)| row.n == n).map(|(id, _)| *id).collect();
            assert_eq!(found_ids, expected, "index {what}");
            assert_eq!(snapshot.count_by_index("by n", n).unwrap(), expected.len() as u64);
            let ranged: usize =
                snapshot.range_by_index::<i64>("by n", ..).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(ranged, model.len(), "index range {what}");
        }
    }

    /// Applies the changes to the copy, which expires its own rows.
    fn follow(&mut self) {
        let mut changes = self.table().snapshot().unwrap().changes(self.resume_at).unwrap();
        for batch in &mut changes {
            let batch = batch.unwrap();
            let kinds = batch.column_by_name("_change").unwrap().as_string::<i32>();
            let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>();
            let columns: Vec<usize> = (2..batch.num_columns()).collect();
            let is_put: Vec<bool> = kinds.iter().map(|kind| kind != Some("delete")).collect();
            let filled = batch.project(&columns).unwrap();
            for (at, is_put) in is_put.iter().enumerate() {
                self.replica.remove(&ids.value(at));
                if *is_put {
                    self.replica.extend(self.rows(&filled.slice(at, 1)));
                }
            }
            assert!(!ids.is_nullable());
        }
        self.resume_at = changes.resume_at();
        // Rows that had expired before the rule was changed never come back.
        let replica = live(&self.replica, self.rule, self.clock.now());
        for (id, row) in &self.model {
            assert_eq!(replica.get(id), Some(row), "copy after {:?}", self.steps);
        }
    }
}
