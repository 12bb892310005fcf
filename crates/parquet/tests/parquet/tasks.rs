//! Tasks return the same rows as their scan: here, in any order, split, serialised, and in another process. Rows that
//! are deleted or excluded while a scan runs are the only ones missing.
//!
//! `LATH_CASES` sets the number of datasets, `LATH_SEED` repeats a run.

use std::collections::HashSet;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{env, fs};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StructArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lath_parquet::{
    ChecksummedWriter, Dataset, DatasetOptions, DeleteMask, DynamicFilter, Need, ParquetFile, PlanStep, Predicate,
    Runtime, Scan, ScanPlan, ScanTask, SortingColumn, Strings,
};
use lath_testkit::Seeded;
use lath_testkit::random::{FileShape, RandomFile};
use lath_writer::{ParquetWriter, WriteOptions};

use crate::scan::{cases, collect, conditions, expected, has_narrow_keys, numbered_bytes, paths};

/// The variable with which a process gets its tasks, one on each line.
const TASKS: &str = "LATH_TEST_TASKS";

fn json(task: &ScanTask) -> String {
    serde_json::to_string(task).unwrap_or_else(|error| panic!("{task:?}: {error}"))
}

fn run(task: &ScanTask) -> RecordBatch {
    collect(task.execute(&Runtime::global()).unwrap()).unwrap_or_else(|error| panic!("{task:?}: {error}"))
}

/// A scan of files in partitions, and its plan.
struct Case {
    scan: Scan,
    whole: RecordBatch,
    context: String,
}

/// A dataset of two partitions with the same file, and some scans of it.
fn random_cases(random: &mut fastrand::Rng, folder: &Path, scans: usize) -> Vec<Case> {
    let written = RandomFile::new(random, FileShape::default());
    for part in ["part=1", "part=two words"] {
        fs::create_dir_all(folder.join(part)).unwrap();
        fs::write(folder.join(part).join("a.parquet"), &written.bytes).unwrap();
    }
    let dataset = Dataset::open([folder], DatasetOptions::new().union_schemas(random.bool())).unwrap();
    let strings = if random.bool() { Strings::Views } else { Strings::Offsets };
    let all = dataset.scan().strings(strings).build().unwrap();
    let schema = all.schema();
    if schema.fields().iter().any(|field| has_narrow_keys(field.data_type())) {
        return Vec::new();
    }
    let all = concat_batches(&schema, &all.map(Result::unwrap).collect::<Vec<_>>()).unwrap();
    let conditions = conditions(random, &all);
    let mut cases = Vec::new();
    for _ in 0..scans {
        let mut scan = dataset.scan().strings(strings).threads(random.usize(1..3)).batch_size(random.usize(1..500));
        let mut context = String::new();
        if random.u8(..4) > 0 {
            let count = random.usize(1..4).min(conditions.len());
            let joint = if random.u8(..4) > 0 { " AND " } else { " OR " };
            context = random.choose_multiple(&conditions, count).into_iter().cloned().collect::<Vec<_>>().join(joint);
            let predicate = Predicate::parse(&context).unwrap();
            if expected(&all, &predicate).is_err() {
                continue;
            }
            scan = scan.predicate(predicate);
        }
        if random.bool() {
            scan = scan.file_name_column("its file").row_number_column("its row");
        }
        if random.bool() {
            let mut paths = paths(random, &schema);
            if random.bool() {
                paths.push("part".to_owned());
            }
            scan = scan.select(paths);
        }
        if random.u8(..3) == 0 {
            let rows = written.row_count() as u64 + 1;
            let mut deleted: DeleteMask = (0..rows).filter(|_| random.u8(..3) == 0).collect();
            deleted.insert_range(random.u64(..rows)..random.u64(..rows));
            scan = scan.deleted([(random.usize(..2), deleted)]);
        }
        let whole = collect(scan.clone().build().unwrap()).unwrap_or_else(|error| panic!("{context}: {error}"));
        cases.push(Case { scan, whole, context });
    }
    cases
}

#[test]
fn with_a_limit_as_many_files_are_opened_as_are_needed() {
    let folder = tempfile::tempdir().unwrap();
    for file in 0..40 {
        let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(file * 10..file * 10 + 10));
        let batch = RecordBatch::try_from_iter([("number", rows)]).unwrap();
        let path = folder.path().join(format!("{file:02}.parquet"));
        let mut writer = ParquetWriter::create(path, &batch.schema(), WriteOptions::default()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    let dataset = Dataset::open([folder.path()], DatasetOptions::new()).unwrap();
    for (limit, condition, opened) in [
        (0, "TRUE", 0),
        (10, "TRUE", 1),
        (11, "TRUE", 2),
        (35, "TRUE", 4),
        (41, "TRUE", 8),
        (1000, "TRUE", 40),
        // The number of matching rows in the first file is known only when it is read.
        (5, "number <> 3", 2),
    ] {
        let scan = dataset.scan().threads(1).limit(limit).filter(condition).unwrap();
        let plan = scan.plan().unwrap();
        assert_eq!(plan.report().files_opened, opened, "{limit} {condition}");
        let rows = collect(plan.scan().unwrap().build().unwrap()).unwrap();
        let expected = (0..400).filter(|number| condition == "TRUE" || *number != 3).take(limit as usize);
        assert!(
            rows.column(0).as_primitive::<Int64Type>().values().iter().copied().eq(expected),
            "{limit} {condition}"
        );
    }
}

#[test]
fn tasks_give_the_rows_of_their_scan_in_any_order_and_in_another_process() {
    let mut random = Seeded::new("tasks_give_the_rows_of_their_scan_in_any_order_and_in_another_process");
    let folder = tempfile::tempdir().unwrap();
    let (mut lines, mut elsewhere) = (Vec::new(), Vec::new());
    let mut checked = 0;
    for case in 0..cases().div_ceil(4) {
        let seed = random.u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for Case { scan, whole, context } in random_cases(&mut random, &folder.path().join(case.to_string()), 6) {
            let context = || format!("{context}\nin case {case} with seed {seed:#x}");
            let plan = scan.clone().plan().unwrap_or_else(|error| panic!("{error}\n{}", context()));
            let schema = plan.schema().clone();
            let joined = |parts: &[RecordBatch]| concat_batches(&schema, parts).unwrap();
            assert_eq!(schema, whole.schema(), "{}", context());
            assert!(plan.row_count() >= whole.num_rows() as u64, "{}", context());
            if plan.is_exact() {
                assert_eq!(plan.row_count(), whole.num_rows() as u64, "{}", context());
            }
            let together = plan.scan().unwrap().threads(random.usize(1..4));
            assert_eq!(together.clone().count().unwrap(), whole.num_rows() as u64, "{}", context());
            assert_eq!(collect(together.build().unwrap()).unwrap(), whole, "together: {}", context());

            // The first rows, from tasks that may not be all.
            let limit = random.usize(..whole.num_rows() + 10);
            let some = scan.clone().limit(limit as u64).plan().unwrap();
            assert!(some.tasks().len() <= plan.tasks().len());
            let first = whole.slice(0, limit.min(whole.num_rows()));
            assert_eq!(collect(some.scan().unwrap().build().unwrap()).unwrap(), first, "first {limit}: {}", context());

            // In any order, split.
            let most = random.u64(1..400);
            let parts: Vec<ScanTask> = plan.tasks().iter().flat_map(|task| task.split(most)).collect();
            let row_count = |rows: &[Range<u64>]| rows.iter().map(|rows| rows.end - rows.start).sum::<u64>();
            assert!(parts.iter().all(|part| row_count(part.rows()) <= most));
            let mut order: Vec<usize> = (0..parts.len()).collect();
            random.shuffle(&mut order);
            let mut found: Vec<(usize, RecordBatch)> = order.into_iter().map(|at| (at, run(&parts[at]))).collect();
            found.sort_by_key(|(at, _)| *at);
            let found: Vec<RecordBatch> = found.into_iter().map(|(_, rows)| rows).collect();
            assert_eq!(joined(&found), whole, "in any order: {}", context());

            // With fewer columns of the same rows.
            let fewer = paths(&mut random, &schema);
            let narrow = plan.select(fewer.clone()).unwrap_or_else(|error| panic!("{fewer:?}: {error}\n{}", context()));
            assert_eq!(narrow.row_count(), plan.row_count(), "{fewer:?}: {}", context());
            let rows = collect(narrow.scan().unwrap().threads(2).build().unwrap()).unwrap();
            let mut roots: Vec<&str> = fewer.iter().map(|path| root_column(path, &schema)).collect();
            let mut known = HashSet::new();
            roots.retain(|root| known.insert(*root));
            assert_eq!(rows.num_rows(), whole.num_rows(), "{fewer:?}: {}", context());
            let fields = rows.schema().fields().clone();
            assert_eq!(fields.iter().map(|field| field.name()).collect::<Vec<_>>(), roots, "{}", context());
            for (field, column) in fields.iter().zip(rows.columns()) {
                let expected = cut(whole.column_by_name(field.name()).unwrap(), field, &fewer, field.name());
                assert_eq!(column, &expected, "{fewer:?}: {}", context());
            }

            // Serialised, task by task and as a plan.
            let again: Vec<RecordBatch> =
                plan.tasks().iter().map(|task| run(&serde_json::from_str(&json(task)).unwrap())).collect();
            assert_eq!(joined(&again), whole, "written: {}", context());
            if !plan.tasks().is_empty() {
                let written = serde_json::to_string(&plan).unwrap();
                let read: ScanPlan = serde_json::from_str(&written).unwrap();
                assert_eq!(serde_json::to_string(&read).unwrap(), written, "{}", context());
                let read = read.open_with(&DatasetOptions::new()).unwrap();
                let rows = collect(read.scan().unwrap().threads(2).build().unwrap()).unwrap();
                assert_eq!(rows, whole, "a written plan: {}", context());
            }
            elsewhere.push((lines.len()..lines.len() + plan.tasks().len(), whole, context()));
            lines.extend(plan.tasks().iter().map(json));
            checked += 1;
        }
    }
    let found = run_elsewhere(&lines);
    for (tasks, whole, context) in elsewhere {
        let found = concat_batches(&whole.schema(), &found[tasks]).unwrap();
        assert_eq!(found, whole, "in another process: {context}");
    }
    assert!(checked > cases() / 2, "{checked} scans");
}

/// The column that a path leads to, or into.
fn root_column<'a>(path: &'a str, schema: &Schema) -> &'a str {
    if schema.column_with_name(path).is_some() { path } else { path.split_once('.').unwrap().0 }
}

/// The column `array` at `path` with only the fields in `paths`.
fn cut(array: &ArrayRef, found: &Field, paths: &[String], path: &str) -> ArrayRef {
    if paths.iter().any(|named| named == path) {
        assert_eq!(array.data_type(), found.data_type(), "all of {path}");
        return Arc::clone(array);
    }
    let (array, DataType::Struct(fields)) = (array.as_struct(), found.data_type()) else {
        panic!("{path} is no struct")
    };
    let below = |field: &FieldRef| {
        let column = array.column_by_name(field.name()).unwrap();
        cut(column, field, paths, &format!("{path}.{}", field.name()))
    };
    let columns = fields.iter().map(below).collect();
    Arc::new(StructArray::new(fields.clone(), columns, array.nulls().cloned()))
}

/// Runs the serialised tasks in a process that has nothing else.
fn run_elsewhere(tasks: &[String]) -> Vec<RecordBatch> {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("tasks");
    fs::write(&list, tasks.join("\n")).unwrap();
    let run = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tasks::run_the_tasks_of_a_list", "--ignored", "--test-threads=1"])
        .env(TASKS, &list)
        .current_dir("/")
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    let read = |task: usize| {
        let file = fs::File::open(folder.path().join(format!("tasks.{task}"))).unwrap();
        let rows = StreamReader::try_new(file, None).unwrap();
        let schema = rows.schema();
        concat_batches(&schema, &rows.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
    };
    (0..tasks.len()).map(read).collect()
}

#[test]
#[ignore = "is run by another test, in a process of its own"]
fn run_the_tasks_of_a_list() {
    let list = env::var(TASKS).expect("the path of a list of tasks");
    for (number, task) in fs::read_to_string(&list).unwrap().lines().enumerate() {
        let task: ScanTask = serde_json::from_str(task).unwrap();
        let rows = run(&task);
        let file = fs::File::create(format!("{list}.{number}")).unwrap();
        let mut writer = StreamWriter::try_new(file, &rows.schema()).unwrap();
        writer.write(&rows).unwrap();
        writer.into_inner().unwrap().flush().unwrap();
    }
}

/// A dataset of one file of 20 row groups, on disk.
fn numbered(folder: &Path) -> Dataset {
    let path = folder.join("numbered.parquet");
    fs::write(&path, numbered_bytes(20_000)).unwrap();
    Dataset::open([path], DatasetOptions::new()).unwrap()
}

/// A file of rows sorted by `key`, then by `then`, with these sorting columns declared.
fn sorted_file(keys: &[Option<i64>], descending: bool) -> ParquetFile {
    let mut rows: Vec<(Option<i64>, i64)> = keys.iter().zip(0..).map(|(key, then)| (*key, then)).collect();
    rows.sort_by_key(|(key, then)| (key.is_none(), key.map(|key| if descending { -key } else { key }), *then));
    let key: Int64Array = rows.iter().map(|(key, _)| *key).collect();
    let then: Int64Array = rows.iter().map(|(_, then)| Some(*then)).collect();
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("key", Arc::new(key) as ArrayRef, true),
        ("then", Arc::new(then) as ArrayRef, true),
    ])
    .unwrap();
    let sorting = [SortingColumn { descending, ..SortingColumn::ascending("key") }, SortingColumn::ascending("then")];
    let mut bytes = Vec::new();
    let options = WriteOptions::default().row_group_rows(100).sorting_columns(sorting);
    let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    ParquetFile::from_bytes(bytes.into()).unwrap()
}

#[test]
fn the_order_of_a_plan_is_what_files_and_their_statistics_say() {
    let keys = |range: Range<i64>| range.map(Some).collect::<Vec<_>>();
    let order = |files: &[ParquetFile], columns: &[&str]| -> Vec<String> {
        let plan = Dataset::of(files.to_vec()).unwrap().scan().select(columns.to_vec()).plan().unwrap();
        let arrow = |descending| if descending { "↓" } else { "↑" };
        plan.ordering().iter().map(|column| format!("{}{}", column.path, arrow(column.descending))).collect()
    };
    let both = ["key", "then"];
    let [up, next] = [0..250, 250..400].map(|range| sorted_file(&keys(range), false));
    assert_eq!(order(std::slice::from_ref(&up), &both), ["key↑", "then↑"]);
    assert_eq!(order(&[up.clone(), next.clone()], &both), ["key↑", "then↑"]);
    assert_eq!(order(&[up.clone(), next.clone()], &["key"]), ["key↑"]);
    assert!(order(&[up.clone(), next.clone()], &["then"]).is_empty());
    assert!(order(&[next.clone(), up.clone()], &both).is_empty());
    let touching = sorted_file(&keys(249..300), false);
    assert_eq!(order(&[up.clone(), touching], &both), ["key↑"]);
    let overlapping = sorted_file(&keys(248..300), false);
    assert!(order(&[up.clone(), overlapping], &both).is_empty());
    let down = [300..400, 0..300].map(|range| sorted_file(&keys(range), true));
    assert_eq!(order(&down, &both), ["key↓", "then↑"]);
    assert!(order(&[down[0].clone(), up.clone()], &both).is_empty());
    // One task may have nulls, several may not.
    let with_null = [None, Some(500), Some(501)];
    assert_eq!(order(&[sorted_file(&with_null, false)], &both), ["key↑", "then↑"]);
    assert!(order(&[up.clone(), sorted_file(&with_null, false)], &both).is_empty());
    let not_said = ParquetFile::from_bytes(numbered_bytes(1000)).unwrap();
    assert!(order(&[not_said], &["number"]).is_empty());
}

#[test]
fn the_tasks_that_an_order_begins_with_come_first() {
    let keys = |range: Range<i64>| range.map(Some).collect::<Vec<_>>();
    let mut nulls = keys(20..30);
    nulls.push(None);
    let files = [keys(0..10), keys(40..50), nulls, keys(5..45)].map(|keys| sorted_file(&keys, false));
    let plan = Dataset::of(files).unwrap().scan().plan().unwrap();
    let order = |descending, nulls_first| -> Vec<i64> {
        let plan = plan.with_likely_first(&SortingColumn { path: "key".to_owned(), descending, nulls_first });
        let first = |task: &ScanTask| run(task).column(0).as_primitive::<Int64Type>().value(0);
        assert_eq!(plan.row_count(), 71);
        plan.tasks().iter().map(first).collect()
    };
    assert_eq!(order(false, false), [0, 5, 20, 40]);
    assert_eq!(order(true, false), [40, 5, 20, 0]);
    assert_eq!(order(false, true), [20, 0, 5, 40]);
    let unknown = plan.with_likely_first(&SortingColumn::ascending("nowhere"));
    assert_eq!(unknown.tasks().len(), 4);
}

#[test]
fn a_file_that_has_changed_is_an_error_of_its_task() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = numbered(folder.path());
    let plan = dataset.scan().plan().unwrap();
    let written = json(&plan.tasks()[3]);
    fs::write(folder.path().join("numbered.parquet"), numbered_bytes(20_001)).unwrap();
    let task: ScanTask = serde_json::from_str(&written).unwrap();
    let error = task.execute(&Runtime::global()).and_then(collect).unwrap_err().to_string();
    assert!(error.contains("has changed since"), "{error}");
    fs::remove_file(folder.path().join("numbered.parquet")).unwrap();
    assert!(serde_json::from_str::<ScanTask>(&written).unwrap().execute(&Runtime::global()).and_then(collect).is_err());
}

#[test]
fn checksums_of_a_file_travel_with_its_tasks_and_verify_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = numbered(folder.path()).files()[0].clone();
    let mut writer = ChecksummedWriter::new(Vec::new());
    writer.write_all(&numbered_bytes(20_000)).unwrap();
    let dataset = Dataset::from_files([file.verified(Arc::new(writer.finish().1))], DatasetOptions::new()).unwrap();
    let plan = dataset.scan().filter("key < 30").unwrap().plan().unwrap();
    let written = json(&plan.tasks()[0]);
    assert_eq!(run(&serde_json::from_str(&written).unwrap()), run(&plan.tasks()[0]));
    let mut task: serde_json::Value = serde_json::from_str(&written).unwrap();
    let checksums = BASE64_STANDARD.decode(task["file"]["checksums"][1].as_str().unwrap()).unwrap();
    let with = |task: &mut serde_json::Value, checksums: &[u8]| {
        task["file"]["checksums"][1] = BASE64_STANDARD.encode(checksums).into();
        serde_json::from_value::<ScanTask>(task.clone())
    };
    // As if each block had changed; the footer alone may come from a cache.
    let changed: Vec<u8> = checksums.iter().map(|byte| byte ^ 1).collect();
    let task_of_changed = with(&mut task, &changed).unwrap();
    let error = task_of_changed.execute(&Runtime::global()).and_then(collect).unwrap_err().to_string();
    assert!(error.contains("numbered.parquet") && error.contains("changed"), "{error}");
    for wrong in [&checksums[4..], &checksums[1..], &[]] {
        assert!(with(&mut task, wrong).is_err());
    }
}

#[test]
fn a_file_that_was_given_open_cannot_be_written_into_a_task() {
    let file = ParquetFile::from_bytes(numbered_bytes(2000)).unwrap();
    let plan = file.scan().plan().unwrap();
    assert_eq!(plan.tasks().len(), 2);
    let error = serde_json::to_string(&plan).unwrap_err().to_string();
    assert!(error.contains("given open"), "{error}");
    assert_eq!(run(&plan.tasks()[1]).num_rows(), 1000);
}

#[test]
fn what_is_no_task_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = numbered(folder.path()).scan().filter("key = 3").unwrap().plan().unwrap();
    let written = json(&plan.tasks()[0]);
    let good: serde_json::Value = serde_json::from_str(&written).unwrap();
    let with = |path: &str, value: serde_json::Value| {
        let mut task = good.clone();
        *task.pointer_mut(path).unwrap_or_else(|| panic!("{path} in {good}")) = value;
        serde_json::from_value::<ScanTask>(task)
    };
    for (path, value) in [
        ("/lath_scan_task", 2.into()),
        ("/scan/schema", "AAAA".into()),
        ("/scan/columns", "no base64".into()),
        ("/scan/predicate", "key = ".into()),
        ("/scan/batch_size", 0.into()),
        ("/rows/ranges", serde_json::json!([[5, 3]])),
        ("/rows/ranges", serde_json::json!([[5, 8], [7, 9]])),
    ] {
        assert!(with(path, value.clone()).is_err(), "{path} {value}");
    }
    // Known only once the file is open.
    for (path, value) in [
        ("/rows/row_group", 20.into()),
        ("/rows/ranges", serde_json::json!([[0, 1001]])),
        ("/rows/row_group", u64::MAX.into()),
        ("/file/version/local/len", 7.into()),
    ] {
        let task = with(path, value.clone()).unwrap();
        assert!(task.execute(&Runtime::global()).and_then(collect).is_err(), "{path} {value}");
    }
    let mut unknown = good.clone();
    unknown["scan"]["limit"] = 3.into();
    assert!(serde_json::from_value::<ScanTask>(unknown).is_err());
}

/// Numbers within the file of the rows that a scan with `row_number_column("row")` gives.
fn row_numbers(rows: &RecordBatch) -> Vec<i64> {
    rows.column_by_name("row").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn a_dynamic_filter_rules_out_rows_that_fail_it_and_no_others() {
    let mut random = Seeded::new("a_dynamic_filter_rules_out_rows_that_fail_it_and_no_others");
    let mut narrowed = 0;
    for case in 0..cases() {
        let seed = random.u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let written = RandomFile::new(&mut random, FileShape::default());
        let file = ParquetFile::from_bytes(written.bytes.clone()).unwrap();
        if file.schema().fields().iter().any(|field| has_narrow_keys(field.data_type())) {
            // Arrow cannot concatenate their batches.
            continue;
        }
        let Ok(all) = collect(file.scan().row_number_column("row").build().unwrap()) else { continue };
        if all.num_rows() == 0 {
            continue;
        }
        let columns: Vec<usize> = (0..all.num_columns() - 1).collect();
        let conditions = conditions(&mut random, &all.project(&columns).unwrap());
        for _ in 0..6 {
            let mut pick = || Predicate::parse(&conditions[random.usize(..conditions.len())]).unwrap();
            let (before, added) = (pick(), pick());
            let holds = |predicate: &Predicate| expected(&all, predicate);
            let (Ok(before_rows), Ok(_)) = (holds(&before), holds(&added)) else { continue };
            let Ok(both) = holds(&before.clone().and(added.clone())) else { continue };
            let context = || format!("{before} / {added}\nin case {case} with seed {seed:#x}");
            let filter = DynamicFilter::new();
            let scan = file.scan().row_number_column("row").predicate(before.clone()).dynamic_filter(&filter);
            let scan = scan.threads(random.usize(1..4)).batch_size(random.usize(1..200));
            let mut batches = scan.clone().build().unwrap();
            // Known from the start, and while batches come.
            let mut found: Vec<RecordBatch> = Vec::new();
            let from = random.usize(..4);
            for batch in batches.by_ref().take(from) {
                found.push(batch.unwrap());
            }
            filter.set(added.clone());
            found.extend(batches.map(|batch| batch.unwrap_or_else(|error| panic!("{error}\n{}", context()))));
            let found = row_numbers(&concat_batches(&all.schema(), &found).unwrap());
            let (most, fewest) = (row_numbers(&before_rows), row_numbers(&both));
            assert!(found.is_sorted() && found.iter().all(|row| most.binary_search(row).is_ok()), "{}", context());
            assert!(fewest.iter().all(|row| found.binary_search(row).is_ok()), "{}", context());
            if from == 0 {
                assert_eq!(found, fewest, "{}", context());
                assert_eq!(scan.clone().count().unwrap(), fewest.len() as u64, "{}", context());
                narrowed += usize::from(found.len() < most.len());
            }
            // Tasks that were planned without the filter find the same rows.
            let plan = file.scan().row_number_column("row").predicate(before.clone()).plan().unwrap();
            let rows = collect(plan.scan().unwrap().dynamic_filter(&filter).threads(2).build().unwrap()).unwrap();
            assert_eq!(row_numbers(&rows), fewest, "tasks: {}", context());
        }
    }
    assert!(narrowed > cases() / 8, "{narrowed}");
}

#[test]
fn a_dynamic_filter_passes_over_row_groups_and_goes_into_one_that_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = numbered(folder.path());
    let filter = DynamicFilter::new();
    let mut batches = dataset.scan().select(["number"]).batch_size(100).dynamic_filter(&filter).build().unwrap();
    assert_eq!(batches.next().unwrap().unwrap().num_rows(), 100);
    filter.set(Predicate::parse("number < 150 OR number BETWEEN 7500 AND 7502").unwrap());
    let rest: Vec<RecordBatch> = batches.by_ref().map(Result::unwrap).collect();
    let numbers: Vec<i64> =
        rest.iter().flat_map(|rows| rows.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
    assert_eq!(numbers, (100..150).chain(7500..7503).collect::<Vec<_>>());
    let report = batches.report();
    // All but the first and the eighth; nearly all pages of that are pruned.
    assert_eq!(report.pruned_dynamically.statistics.row_groups, 18);
    assert!(report.rows_tested < 400, "{report:?}");

    // A bound that moves, like the bound of the first ten rows of an order.
    let filter = DynamicFilter::new();
    let mut found = 0;
    for batch in dataset.scan().batch_size(100).dynamic_filter(&filter).build().unwrap() {
        found += batch.unwrap().num_rows();
        filter.set(Predicate::parse(&format!("number < {}", 1000 - found.min(900))).unwrap());
    }
    assert!((500..=1000).contains(&found), "{found}");
}

#[test]
fn a_condition_on_a_column_that_there_is_not_is_an_error() {
    let filter = DynamicFilter::new();
    filter.set(Predicate::parse("nowhere = 1").unwrap());
    let file = ParquetFile::from_bytes(numbered_bytes(2000)).unwrap();
    let error = collect(file.scan().dynamic_filter(&filter).build().unwrap()).unwrap_err().to_string();
    assert!(error.contains("nowhere"), "{error}");
}

#[test]
fn rows_that_are_deleted_do_not_come() {
    let mut random = Seeded::new("rows_that_are_deleted_do_not_come");
    for case in 0..cases() {
        let seed = random.u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let written = RandomFile::new(&mut random, FileShape::default());
        let file = ParquetFile::from_bytes(written.bytes.clone()).unwrap();
        if file.schema().fields().iter().any(|field| has_narrow_keys(field.data_type())) {
            // Arrow cannot concatenate their batches.
            continue;
        }
        let dataset = Dataset::of([file.clone(), file.clone()]).unwrap();
        let all = collect(file.scan().row_number_column("row").build().unwrap()).unwrap();
        let rows = all.num_rows() as u64;
        let share = random.u64(1..20);
        let mut deleted: DeleteMask = (0..rows).filter(|_| random.u64(..share) == 0).collect();
        let start = random.u64(..=rows);
        deleted.insert_range(start..start + random.u64(..2000));
        let mask: BooleanArray = (0..rows).map(|row| Some(!deleted.contains(row))).collect();
        let left = filter_record_batch(&all, &mask).unwrap();
        let columns: Vec<usize> = (0..all.num_columns() - 1).collect();
        let conditions = conditions(&mut random, &all.project(&columns).unwrap());
        for _ in 0..4 {
            let predicate = Predicate::parse(&conditions[random.usize(..conditions.len())]).unwrap();
            let (Ok(of_all), Ok(of_left)) = (expected(&all, &predicate), expected(&left, &predicate)) else { continue };
            let scan = dataset.scan().row_number_column("row").deleted([(1, deleted.clone())]);
            let scan = scan.threads(random.usize(1..4)).batch_size(random.usize(1..300));
            for (scan, first, second) in
                [(scan.clone().predicate(predicate.clone()), of_all, of_left), (scan, all.clone(), left.clone())]
            {
                let context = || format!("{predicate}, {deleted:?}\nin case {case} with seed {seed:#x}");
                let found = collect(scan.clone().build().unwrap()).unwrap();
                let expected = [row_numbers(&first), row_numbers(&second)].concat();
                assert_eq!(row_numbers(&found), expected, "{}", context());
                for (at, field) in found.schema().fields().iter().enumerate() {
                    let parts = [first.column(at).as_ref(), second.column(at).as_ref()];
                    let both = arrow_select::concat::concat(&parts).unwrap();
                    assert!(found.column(at) == &both, "{field}: {}", context());
                }
                assert_eq!(scan.count().unwrap(), expected.len() as u64, "{}", context());
            }
        }
    }
}

#[test]
fn a_subset_of_a_dataset_keeps_partitions_and_schema() {
    let folder = tempfile::tempdir().unwrap();
    for (part, rows) in [("a", 10), ("b", 20), ("c", 30)] {
        fs::create_dir(folder.path().join(format!("part={part}"))).unwrap();
        fs::write(folder.path().join(format!("part={part}/x.parquet")), numbered_bytes(rows)).unwrap();
    }
    let dataset = Dataset::open([folder.path()], DatasetOptions::new()).unwrap();
    let subset = dataset.subset([2, 0]).unwrap();
    assert_eq!(subset.schema(), dataset.schema());
    let rows = collect(subset.scan().select(["part", "number"]).build().unwrap()).unwrap();
    let parts: Vec<&str> = rows.column(0).as_string_view().iter().flatten().collect();
    assert_eq!(parts, [vec!["c"; 30], vec!["a"; 10]].concat());
    let numbers: Int64Array = (0..30).chain(0..10).collect();
    assert_eq!(rows.column(1).as_primitive::<Int64Type>(), &numbers);
    assert_eq!(subset.scan().filter("part = 'b'").unwrap().count().unwrap(), 0);
    assert!(dataset.subset([3]).unwrap_err().to_string().contains("no file 3"));
}

/// The tasks of a scan whose planner gets its input in any order, some of it late and some with more bytes around it.
fn planned_in_steps(random: &mut fastrand::Rng, scan: Scan) -> Vec<ScanTask> {
    let mut planner = scan.into_planner().unwrap();
    let dataset = planner.dataset().clone();
    let mut tasks = Vec::new();
    loop {
        match planner.step().unwrap() {
            PlanStep::Done => break,
            PlanStep::Ready(ready) => tasks.extend(ready),
            PlanStep::Needs(mut needs) => {
                random.shuffle(&mut needs);
                needs.truncate(random.usize(1..=needs.len()));
                for need in needs {
                    match need {
                        Need::Source { file } => {
                            planner.give_source(file, dataset.files()[file].source().unwrap()).unwrap();
                            assert!(planner.give_source(file, dataset.files()[file].source().unwrap()).is_err());
                        }
                        Need::Ranges { file, mut ranges } => {
                            random.shuffle(&mut ranges);
                            let source = dataset.files()[file].source().unwrap();
                            for range in ranges {
                                let more = random.u64(..3);
                                let range =
                                    range.start.saturating_sub(more)..source.bytes().len().min(range.end + more);
                                planner
                                    .give_bytes(file, range.start, source.bytes().read(range.clone()).unwrap())
                                    .unwrap();
                            }
                        }
                    }
                }
            }
        }
    }
    tasks.sort_by_key(ScanTask::file_index);
    tasks
}

#[test]
fn a_planner_that_is_given_its_bytes_plans_what_one_plans_that_reads() {
    let mut random = Seeded::new("a_planner_that_is_given_its_bytes_plans_what_one_plans_that_reads");
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for case in 0..cases().div_ceil(4) {
        let seed = random.u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for Case { scan, whole, context } in random_cases(&mut random, &folder.path().join(case.to_string()), 6) {
            let context = || format!("{context}\nin case {case} with seed {seed:#x}");
            let read: Vec<String> = scan.clone().plan().unwrap().tasks().iter().map(json).collect();
            let tasks = planned_in_steps(&mut random, scan);
            assert_eq!(tasks.iter().map(json).collect::<Vec<_>>(), read, "{}", context());
            let rows: Vec<RecordBatch> = tasks.iter().map(run).collect();
            assert_eq!(concat_batches(&whole.schema(), &rows).unwrap(), whole, "{}", context());
            checked += 1;
        }
    }
    assert!(checked > cases() / 4, "{checked}");
}

#[test]
fn a_planner_refuses_what_it_did_not_ask_for_and_reports_damage() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = numbered(folder.path());
    let mut planner = dataset.scan().into_planner().unwrap();
    assert!(
        planner.give_bytes(0, 0, vec![0].into()).is_err()
            && planner.give_source(1, dataset.files()[0].source().unwrap()).is_err()
    );
    assert!(matches!(planner.step().unwrap(), PlanStep::Needs(needs) if needs == [Need::Source { file: 0 }]));
    planner.give_source(0, dataset.files()[0].source().unwrap()).unwrap();
    assert!(planner.give_bytes(0, u64::MAX, vec![0].into()).is_err());
    let error = loop {
        match planner.step() {
            Ok(PlanStep::Needs(needs)) => {
                let [Need::Ranges { file: 0, ranges }] = needs.as_slice() else { panic!("{needs:?}") };
                for range in ranges {
                    let bytes = vec![7; (range.end - range.start) as usize];
                    planner.give_bytes(0, range.start, bytes.into()).unwrap();
                }
            }
            Ok(other) => panic!("{other:?} of no Parquet file"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("Parquet"), "{error}");
}
