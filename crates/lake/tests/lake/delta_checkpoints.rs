//! Checkpoints of both formats, in one file and several, and compacted logs.

use std::fs;
use std::sync::Arc;

use arrow_json::ReaderBuilder;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use lath_parquet::Predicate;
use serde_json::{Value, json};

use crate::delta_table::{Table, field, metadata, protocol, remove, rows, vector_bytes, with_vector, write, z85};

/// The columns of a checkpoint, with some that readers do not need.
fn checkpoint_schema(has_vectors: bool, parsed: Option<Field>) -> Arc<Schema> {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let long = |name: &str| Field::new(name, DataType::Int64, true);
    let texts = |name: &str| Field::new(name, DataType::List(Arc::new(text("element"))), true);
    let map = |name: &str| {
        let entries = Fields::from(vec![Field::new("key", DataType::Utf8, false), text("value")]);
        Field::new(
            name,
            DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entries), false)), false),
            true,
        )
    };
    let group = |name: &str, fields: Vec<Field>| Field::new(name, DataType::Struct(fields.into()), true);
    let integer = |name: &str| Field::new(name, DataType::Int32, true);
    let vector = group(
        "deletionVector",
        vec![
            text("storageType"),
            text("pathOrInlineDv"),
            integer("offset"),
            integer("sizeInBytes"),
            long("cardinality"),
        ],
    );
    let mut add = vec![text("path"), map("partitionValues"), long("size"), long("modificationTime")];
    add.push(parsed.unwrap_or_else(|| text("stats")));
    add.extend(has_vectors.then_some(vector));
    Arc::new(Schema::new(vec![
        group("txn", vec![text("appId"), long("version")]),
        group("add", add),
        group("remove", vec![text("path"), long("deletionTimestamp")]),
        group(
            "metaData",
            vec![
                text("id"),
                group("format", vec![text("provider"), map("options")]),
                text("schemaString"),
                texts("partitionColumns"),
                map("configuration"),
            ],
        ),
        group("protocol", vec![integer("minReaderVersion"), integer("minWriterVersion"), texts("readerFeatures")]),
        group("sidecar", vec![text("path"), long("sizeInBytes")]),
    ]))
}

/// Writes actions as a Parquet file of the log.
fn checkpoint(table: &Table, name: &str, actions: &[Value]) {
    let has_vectors = actions.iter().any(|action| action["add"].get("deletionVector").is_some());
    write_checkpoint(table, name, checkpoint_schema(has_vectors, None), actions);
}

fn write_checkpoint(table: &Table, name: &str, schema: Arc<Schema>, actions: &[Value]) {
    let mut decoder = ReaderBuilder::new(schema).build_decoder().unwrap();
    let text: String = actions.iter().map(|action| format!("{action}\n")).collect();
    assert_eq!(decoder.decode(text.as_bytes()).unwrap(), text.len());
    write(&table.log(name), &decoder.flush().unwrap().unwrap());
}

/// Writes actions that readers do not need, as a Parquet file of the log that lacks the columns of others.
fn checkpoint_of_transactions(table: &Table, name: &str) {
    let all = checkpoint_schema(false, None);
    let schema = Arc::new(Schema::new(vec![all.field_with_name("txn").unwrap().clone()]));
    let mut decoder = ReaderBuilder::new(schema).build_decoder().unwrap();
    decoder.decode(b"{\"txn\":{\"appId\":\"x\",\"version\":1}}\n").unwrap();
    write(&table.log(name), &decoder.flush().unwrap().unwrap());
}

fn setup() -> [Value; 2] {
    [protocol(1, None), metadata(&[field("id", json!("long")), field("text", json!("string"))], &["text"], json!({}))]
}

fn file(table: &Table, id: i64, partition: Option<&str>) -> Value {
    let mut add = table.file(&format!("{id}.parquet"), &[(id, "in the file")]);
    add["add"]["partitionValues"] = json!({ "text": partition });
    add
}

#[test]
fn a_checkpoint_stands_for_all_commits_before() {
    for count in [1, 3] {
        let table = Table::empty();
        let files = [file(&table, 1, Some("a")), file(&table, 2, None), file(&table, 3, Some("ü b"))];
        // The commits before are gone, and a removed file is in the checkpoint.
        let [protocol, metadata] = setup();
        let gone = file(&table, 9, None);
        let actions =
            [&[protocol, remove(&gone), json!({ "txn": { "appId": "x", "version": 1 } })][..], &files, &[metadata]]
                .concat();
        if count == 1 {
            checkpoint(&table, &format!("{:020}.checkpoint.parquet", 4), &actions);
        } else {
            for (part, actions) in actions.chunks(actions.len().div_ceil(count)).enumerate() {
                checkpoint(&table, &format!("{:020}.checkpoint.{:010}.{count:010}.parquet", 4, part + 1), actions);
            }
        }
        let expected = ["1 a", "2 -", "3 ü b"];
        assert_eq!(table.rows(None).unwrap(), expected);
        table.commit(5, &[remove(&files[0]), file(&table, 4, Some("a"))]);
        assert_eq!(table.rows(None).unwrap(), ["2 -", "3 ü b", "4 a"]);
        assert_eq!(table.rows(Some(4)).unwrap(), expected);
        // A hint of the latest checkpoint: right, of one that is gone, and damaged.
        for hint in ["{\"version\":4,\"size\":7}", "{\"version\":2,\"size\":7}", "{\"version\":", ""] {
            fs::write(table.log("_last_checkpoint"), hint).unwrap();
            assert_eq!(table.rows(None).unwrap().len(), 3, "{hint}");
            assert_eq!(table.rows(Some(4)).unwrap(), expected, "{hint}");
        }
        let removed = table.rows(Some(3)).unwrap_err().to_string();
        assert!(removed.contains("the first version that can be read is 4"), "{removed}");
    }
}

#[test]
fn a_part_of_a_checkpoint_may_lack_the_columns_of_other_parts() {
    let table = Table::empty();
    let part = |number: u32| format!("{:020}.checkpoint.{number:010}.{:010}.parquet", 4, 2);
    let [protocol, metadata] = setup();
    checkpoint(&table, &part(1), &[protocol, metadata, file(&table, 1, Some("a"))]);
    checkpoint_of_transactions(&table, &part(2));
    assert_eq!(table.rows(None).unwrap(), ["1 a"]);
    let other = table.file("other.parquet", &[(1, "x")]);
    fs::copy(table.path().join(other["add"]["path"].as_str().unwrap()), table.log(&part(2))).unwrap();
    assert!(table.error().contains("a checkpoint without actions"), "{}", table.error());
}

#[test]
fn a_damaged_checkpoint_is_an_error() {
    let table = Table::empty();
    let [protocol, metadata] = setup();
    let name = format!("{:020}.checkpoint.parquet", 4);
    checkpoint(&table, &name, &[protocol.clone(), metadata, file(&table, 1, None)]);
    let bytes = fs::read(table.log(&name)).unwrap();
    for len in [0, 4, bytes.len() / 2, bytes.len() - 1] {
        fs::write(table.log(&name), &bytes[..len]).unwrap();
        assert!(table.error().contains(".checkpoint.parquet"), "{len}: {}", table.error());
    }
    checkpoint(&table, &name, &[protocol, file(&table, 1, None)]);
    assert!(table.error().contains("no metadata"), "{}", table.error());
}

#[test]
fn a_checkpoint_of_format_2_has_its_files_in_sidecars() {
    for is_json in [false, true] {
        let table = Table::empty();
        let files: Vec<Value> = (0..6).map(|id| file(&table, id, (id % 2 == 0).then_some("even"))).collect();
        fs::create_dir(table.log("_sidecars")).unwrap();
        checkpoint(&table, "_sidecars/one.parquet", &files[..4]);
        checkpoint(&table, "_sidecars/two three.parquet", &files[4..]);
        let [_, metadata] = setup();
        let absolute = table.log("_sidecars/two three.parquet");
        let absolute = format!("file://{}", absolute.to_str().unwrap().replace(' ', "%20"));
        let actions = [
            json!({ "checkpointMetadata": { "version": 2 } }),
            protocol(3, Some(&["v2Checkpoint"])),
            metadata,
            json!({ "sidecar": { "path": "one.parquet", "sizeInBytes": 1, "modificationTime": 0 } }),
            json!({ "sidecar": { "path": absolute, "sizeInBytes": 1, "modificationTime": 0 } }),
        ];
        let id = "80a083e8-7026-4e79-81be-64bd76c43a11";
        match is_json {
            true => table.write_log(&format!("{:020}.checkpoint.{id}.json", 7), &actions),
            false => checkpoint(&table, &format!("{:020}.checkpoint.{id}.parquet", 7), &actions),
        }
        // The folder is recognized by the commits.
        table.commit(8, &[remove(&files[0]), remove(&files[5])]);
        assert_eq!(table.rows(None).unwrap(), ["1 -", "2 even", "3 -", "4 even"], "{is_json}");
        assert_eq!(table.rows(Some(7)).unwrap().len(), 6);
        fs::remove_file(table.log("_sidecars/one.parquet")).unwrap();
        assert!(table.error().contains("one.parquet"), "{}", table.error());
    }
}

#[test]
fn deletion_vectors_are_in_checkpoints_too() {
    let table = Table::empty();
    let mut bytes = vector_bytes(&[0, 2]);
    let len = bytes.len();
    bytes.resize(len.next_multiple_of(4), 0);
    let vector = json!({ "storageType": "i", "pathOrInlineDv": z85(&bytes), "sizeInBytes": len, "cardinality": 2 });
    let mut add = table.file("one.parquet", &[(1, "x"), (2, "x"), (3, "x")]);
    add["add"]["partitionValues"] = json!({ "text": "p" });
    let [_, metadata] = setup();
    let actions =
        [protocol(3, Some(&["deletionVectors"])), metadata, with_vector(add.clone(), &vector), file(&table, 9, None)];
    checkpoint(&table, &format!("{:020}.checkpoint.parquet", 1), &actions);
    assert_eq!(table.rows(None).unwrap(), ["2 p", "9 -"]);
    // Without the vector it would be another file.
    table.commit(2, &[remove(&with_vector(add.clone(), &vector))]);
    assert_eq!(table.rows(None).unwrap(), ["9 -"]);
}

#[test]
fn compacted_commits_are_read_in_place_of_the_commits() {
    let table = Table::empty();
    table.commit(0, &setup());
    let files: Vec<Value> = (0..5).map(|id| file(&table, id, None)).collect();
    table.commit(1, &[files[0].clone(), files[1].clone()]);
    table.commit(2, &[remove(&files[0]), files[2].clone()]);
    table.commit(3, &[files[3].clone()]);
    let expected = table.rows(None).unwrap();
    let compacted = [remove(&files[0]), files[1].clone(), files[2].clone()];
    table.write_log(&format!("{:020}.{:020}.compacted.json", 1, 2), &compacted);
    // The commits may be gone then.
    fs::remove_file(table.log(&format!("{:020}.json", 1))).unwrap();
    fs::remove_file(table.log(&format!("{:020}.json", 2))).unwrap();
    assert_eq!(table.rows(None).unwrap(), expected);
    assert_eq!(expected, ["1 -", "2 -", "3 -"]);
    assert!(table.rows(Some(1)).unwrap_err().to_string().contains("lacks 00000000000000000001.json"));
}

/// Some writers keep each action of the commits, the newest first, and all `remove` before all `add`.
#[test]
fn compacted_commits_may_add_and_remove_the_same_file() {
    let table = Table::empty();
    let mut bytes = vector_bytes(&[0]);
    let len = bytes.len();
    bytes.resize(len.next_multiple_of(4), 0);
    let vector = json!({ "storageType": "i", "pathOrInlineDv": z85(&bytes), "sizeInBytes": len, "cardinality": 1 });
    let mut one = table.file("one.parquet", &[(1, "x"), (2, "x")]);
    one["add"]["partitionValues"] = json!({ "text": "p" });
    let deleted = with_vector(one.clone(), &vector);
    let [_, metadata] = setup();
    table.commit(0, &[protocol(3, Some(&["deletionVectors"])), metadata]);
    table.commit(1, &[one.clone(), file(&table, 3, None)]);
    table.commit(2, &[remove(&one), deleted.clone()]);
    assert_eq!(table.rows(None).unwrap(), ["2 p", "3 -"]);
    for actions in [
        [remove(&one), deleted.clone(), one.clone(), file(&table, 3, None)],
        [one.clone(), file(&table, 3, None), deleted, remove(&one)],
    ] {
        table.write_log(&format!("{:020}.{:020}.compacted.json", 1, 2), &actions);
        assert_eq!(table.rows(None).unwrap(), ["2 p", "3 -"]);
    }
}

/// Files of numbers, whose statistics a checkpoint has in columns alone, or (`has_json`) in a column of JSON without values as well.
fn with_parsed_statistics(has_json: bool) -> Table {
    let table = Table::empty();
    let types = [
        ("id", json!("long"), DataType::Int64),
        ("text", json!("string"), DataType::Utf8),
        ("at", json!("timestamp"), DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        ("day", json!("date"), DataType::Date32),
        ("price", json!("decimal(7,2)"), DataType::Decimal128(7, 2)),
        ("size", json!("double"), DataType::Float64),
        ("is", json!("boolean"), DataType::Boolean),
    ];
    let fields: Vec<Field> =
        types.iter().map(|(name, _, data_type)| Field::new(*name, data_type.clone(), true)).collect();
    let inner = Field::new("in", DataType::Struct(vec![Field::new("n", DataType::Int32, true)].into()), true);
    let columns: Fields = fields.into_iter().chain([inner]).collect::<Vec<_>>().into();
    let counts = |name: &str| Field::new(name, DataType::Int64, true);
    let mut null_counts: Vec<Field> = types.iter().map(|(name, ..)| counts(name)).collect();
    null_counts.push(Field::new("in", DataType::Struct(vec![counts("n")].into()), true));
    let group = |name: &str, fields: Fields| Field::new(name, DataType::Struct(fields), true);
    let statistics = vec![
        counts("numRecords"),
        group("minValues", columns.clone()),
        group("maxValues", columns.clone()),
        group("nullCount", null_counts.into()),
        Field::new("tightBounds", DataType::Boolean, true),
    ];
    let inner = json!({ "type": "struct", "fields": [field("n", json!("integer"))] });
    let mut table_fields: Vec<Value> = types.iter().map(|(name, json, _)| field(name, json.clone())).collect();
    table_fields.push(field("in", inner));
    let mut actions = vec![protocol(1, None), metadata(&table_fields, &[], json!({}))];
    let row = |file: i64| {
        json!({
            "id": file, "text": format!("t\"{file}\""), "at": format!("185{file}-01-01T00:00:00.123456Z"), "day": format!("000{file}-01-01"),
            "price": format!("-{file}.25"), "size": 3.0 / file as f64, "is": file % 2 == 1, "in": { "n": file }
        })
    };
    for file in 1..4 {
        let schema = Arc::new(Schema::new(columns.clone()));
        let mut decoder = ReaderBuilder::new(schema).build_decoder().unwrap();
        decoder.decode(row(file).to_string().as_bytes()).unwrap();
        let mut add = table.batch(&format!("{file}.parquet"), &decoder.flush().unwrap().unwrap());
        let nulls = json!({ "id": 0, "text": 0, "at": 0, "day": 0, "price": 0, "size": 0, "is": 0, "in": { "n": 0 } });
        add["add"]["stats_parsed"] = json!({ "numRecords": 1, "minValues": row(file), "maxValues": row(file), "nullCount": nulls, "tightBounds": true });
        actions.push(add);
    }
    let mut schema = checkpoint_schema(false, Some(group("stats_parsed", statistics.into())));
    if has_json {
        let add = |field: &FieldRef| match field.data_type() {
            DataType::Struct(fields) if field.name() == "add" => {
                let stats = Arc::new(Field::new("stats", DataType::Utf8, true));
                Field::new("add", DataType::Struct(fields.iter().cloned().chain([stats]).collect()), true)
            }
            _ => field.as_ref().clone(),
        };
        schema = Arc::new(Schema::new(schema.fields().iter().map(add).collect::<Vec<_>>()));
    }
    write_checkpoint(&table, &format!("{:020}.checkpoint.parquet", 4), schema, &actions);
    table.commit(5, &[remove(&actions[4])]);
    table
}

/// The files that a condition rules out are gone, so that opening one of them is an error.
#[test]
fn statistics_in_columns_of_checkpoints_rule_files_out() {
    for has_json in [false, true] {
        let table = with_parsed_statistics(has_json);
        let conditions = [
            "id = 2",
            "text = 't\"2\"'",
            "at >= '1852-01-01'",
            "day > '0001-06-01'",
            "price < -2",
            "size < 2",
            "\"is\" = false",
            "\"in\".n = 2",
        ];
        let find = |condition: &str| {
            let scan = table.open(None).unwrap().dataset().scan().predicate(Predicate::parse(condition).unwrap());
            rows(scan.select(["id"]))
        };
        for condition in conditions {
            assert_eq!(find(condition).unwrap(), ["2"], "{condition}");
        }
        fs::remove_file(table.path().join("1.parquet")).unwrap();
        let opened: Vec<_> = conditions.iter().filter(|condition| find(condition).is_err()).collect();
        assert!(opened.is_empty(), "{opened:?}");
        assert!(find("id IS NULL").unwrap().is_empty());
        // The file that is removed from the table, and the one that is only gone.
        fs::remove_file(table.path().join("3.parquet")).unwrap();
        assert!(find("id < 3").is_err());
    }
}
