//! Deletion vectors, column mapping and wider types.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema};
use serde_json::{Value, json};

use crate::delta_table::{
    Table, field, mapped, metadata, protocol, remove, rows, vector_bytes, vector_file, with_vector, z85,
};

const IDS: [u8; 16] = [0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b, 1, 2, 3, 4, 5, 6, 7, 8];

fn table_with_vectors() -> Table {
    let table = Table::empty();
    let fields = [field("id", json!("long")), field("text", json!("string"))];
    table.commit(0, &[protocol(3, Some(&["deletionVectors"])), metadata(&fields, &[], json!({}))]);
    table
}

#[test]
fn deletion_vectors_delete_rows_by_their_place_in_the_file() {
    let table = table_with_vectors();
    let all: Vec<(i64, &str)> = (0..1000).map(|id| (id, if id % 2 == 0 { "even" } else { "odd" })).collect();
    let (one, two, three) =
        (table.file("one.parquet", &all), table.file("two.parquet", &all), table.file("three.parquet", &all));
    // Two vectors in one file, in a folder of a random prefix, and one in the log.
    let (first, second) = (vector_bytes(&(0..990).collect::<Vec<_>>()), vector_bytes(&[5, 999]));
    let (bytes, offsets) = vector_file(&[first.clone(), second.clone()]);
    fs::create_dir(table.path().join("ab")).unwrap();
    let name = "deletion_vector_864fd26f-b559-f75b-0102-030405060708.bin";
    fs::write(table.path().join("ab").join(name), &bytes).unwrap();
    let path = format!("ab{}", z85(&IDS));
    let stored = |storage: &str, path: &str, offset: Option<u64>, bytes: &[u8], rows: u64| json!({ "storageType": storage, "pathOrInlineDv": path, "offset": offset, "sizeInBytes": bytes.len(), "cardinality": rows });
    let one_vector = stored("u", &path, Some(offsets[0]), &first, 990);
    let two_vector = stored("u", &path, Some(offsets[1]), &second, 2);
    let mut short = vector_bytes(&[1, 2, 3]);
    let inline_len = short.len();
    short.resize(inline_len.next_multiple_of(4), 0);
    let three_vector = json!({
        "storageType": "i", "pathOrInlineDv": z85(&short), "sizeInBytes": inline_len, "cardinality": 3
    });
    table.commit(1, &[one.clone(), two.clone(), three.clone()]);
    let (one_deleted, two_deleted, three_deleted) = (
        with_vector(one.clone(), &one_vector),
        with_vector(two.clone(), &two_vector),
        with_vector(three.clone(), &three_vector),
    );
    table.commit(2, &[remove(&one), one_deleted.clone(), remove(&two), two_deleted, remove(&three), three_deleted]);

    let lake = table.open(None).unwrap();
    assert_eq!(lake.dataset().scan().count().unwrap(), 10 + 998 + 997);
    let found = |condition| rows(lake.dataset().scan().filter(condition).unwrap()).unwrap();
    assert_eq!(found("id < 6 AND text = 'odd'"), ["1 odd", "3 odd", "5 odd"]);
    assert_eq!(found("id = 999"), ["999 odd", "999 odd"]);
    assert_eq!(lake.dataset().scan().filter("id >= 990").unwrap().count().unwrap(), 29);
    assert_eq!(table.open(Some(lath_lake::At::Version(1))).unwrap().dataset().scan().count().unwrap(), 3000);

    // Another vector of the same file, whose path is absolute.
    let more = vector_bytes(&(0..995).collect::<Vec<_>>());
    let (bytes, offsets) = vector_file(std::slice::from_ref(&more));
    let file = table.path().join("more vectors.bin");
    fs::write(&file, &bytes).unwrap();
    let uri = format!("file://{}", file.to_str().unwrap().replace(' ', "%20"));
    let more_vector = stored("p", &uri, Some(offsets[0]), &more, 995);
    table.commit(3, &[remove(&one_deleted), with_vector(one, &more_vector)]);
    assert_eq!(table.open(None).unwrap().dataset().scan().count().unwrap(), 5 + 998 + 997);
}

#[test]
fn a_damaged_deletion_vector_is_an_error() {
    let table = table_with_vectors();
    let add = table.file("one.parquet", &[(1, "a"), (2, "b")]);
    let vector = vector_bytes(&[1]);
    let (bytes, _) = vector_file(std::slice::from_ref(&vector));
    let path = table.path().join("deletion_vector_864fd26f-b559-f75b-0102-030405060708.bin");
    let with = |size: usize, cardinality: u64| {
        let id = z85(&IDS);
        json!({ "storageType": "u", "pathOrInlineDv": id, "offset": 1, "sizeInBytes": size, "cardinality": cardinality })
    };
    let commit = |vector: &Value| table.commit(1, &[with_vector(add.clone(), vector)]);
    commit(&with(vector.len(), 1));
    assert!(table.error().contains("deletion_vector_864fd26f"), "{}", table.error());
    fs::write(&path, &bytes).unwrap();
    assert_eq!(table.rows(None).unwrap(), ["1 a"]);
    let mut damaged = bytes.clone();
    damaged[bytes.len() - 6] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert!(table.error().contains("checksum"), "{}", table.error());
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(table.error().contains("outside of its file"), "{}", table.error());
    fs::write(&path, [&[2], &bytes[1..]].concat()).unwrap();
    assert!(table.error().contains("not of version 1"), "{}", table.error());
    fs::write(&path, &bytes).unwrap();
    commit(&with(vector.len(), 2));
    assert!(table.error().contains("expects 2 rows"), "{}", table.error());
    commit(&with(vector.len() - 1, 1));
    assert!(table.error().contains("deletion vector of"), "{}", table.error());
    let mut other = vector;
    other[..4].copy_from_slice(&1_681_511_376u32.to_le_bytes());
    fs::write(&path, vector_file(&[other.clone()]).0).unwrap();
    commit(&with(other.len(), 1));
    assert!(table.error().contains("1681511376"), "{}", table.error());
}

fn with_id(name: &str, data_type: DataType, id: i32) -> Field {
    let metadata = HashMap::from([("PARQUET:field_id".to_owned(), id.to_string())]);
    Field::new(name, data_type, true).with_metadata(metadata)
}

/// A file with physical names: `c1`, `c2` with `c3` and `c4` in it, and `c5`, a list of structs with `c6`.
fn physical_batch() -> RecordBatch {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let number: ArrayRef = Arc::new(Int32Array::from(vec![10, 20]));
    let inner = Fields::from(vec![with_id("c3", DataType::Utf8, 3), with_id("c4", DataType::Int32, 4)]);
    let nested: ArrayRef = Arc::new(StructArray::new(inner.clone(), vec![text, number], None));
    let item = Fields::from(vec![with_id("c6", DataType::Int64, 6)]);
    let items: ArrayRef =
        Arc::new(StructArray::new(item.clone(), vec![Arc::new(Int64Array::from(vec![7, 8])) as ArrayRef], None));
    let element = Arc::new(Field::new("element", DataType::Struct(item), true));
    let offsets = OffsetBuffer::from_lengths([1, 1]);
    let list: ArrayRef = Arc::new(ListArray::new(Arc::clone(&element), offsets, items, None));
    let schema = Schema::new(vec![
        with_id("c1", DataType::Int64, 1),
        with_id("c2", DataType::Struct(inner), 2),
        with_id("c5", DataType::List(element), 5),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(vec![1, 2])), nested, list]).unwrap()
}

#[test]
fn columns_are_found_by_physical_names_and_by_ids() {
    let inner = json!({ "type": "struct", "fields": [
        mapped("number", json!("integer"), "c4", 4), mapped("late", json!("string"), "c8", 8), mapped("label", json!("string"), "c3", 3)
    ] });
    let item = json!({ "type": "struct", "fields": [mapped("value", json!("long"), "c6", 6)] });
    let list = json!({ "type": "array", "elementType": item, "containsNull": true });
    // `id` was once the name of another column, which was dropped.
    let fields = [
        mapped("day", json!("date"), "c9", 9),
        mapped("nested", inner, "c2", 2),
        mapped("id", json!("long"), "c7", 7),
        mapped("key", json!("long"), "c1", 1),
        mapped("items", list, "c5", 5),
    ];
    for mode in ["name", "id"] {
        let table = Table::empty();
        let configuration = json!({ "delta.columnMapping.mode": mode });
        table.commit(0, &[protocol(2, None), metadata(&fields, &["day"], configuration)]);
        let mut add = table.batch("one.parquet", &physical_batch());
        // Values of partitions have the physical name, too.
        add["add"]["partitionValues"] = json!({ "c9": "2024-02-29" });
        table.commit(1, &[add]);
        let expected = [
            "2024-02-29 {number: 10, late: , label: x} - 1 [{value: 7}]",
            "2024-02-29 {number: 20, late: , label: y} - 2 [{value: 8}]",
        ];
        assert_eq!(table.rows(None).unwrap(), expected, "{mode}");
        let lake = table.open(None).unwrap();
        let found = lake.dataset().scan().filter("nested.label = 'y' AND key = 2").unwrap();
        assert_eq!(rows(found.select(["key", "nested.number"])).unwrap(), ["2 {number: 20}"], "{mode}");
        assert_eq!(lake.dataset().scan().filter("id IS NULL").unwrap().count().unwrap(), 2);
        assert_eq!(lake.dataset().scan().filter("day > DATE '2024-02-29'").unwrap().count().unwrap(), 0);
    }
    // Other names than the physical ones in the files, which have IDs.
    let renamed = physical_batch();
    let by_id = Table::empty();
    by_id.commit(
        0,
        &[
            protocol(2, None),
            metadata(&[mapped("key", json!("long"), "other", 1)], &[], json!({ "delta.columnMapping.mode": "id" })),
        ],
    );
    by_id.commit(1, &[by_id.batch("one.parquet", &renamed)]);
    assert_eq!(by_id.rows(None).unwrap(), ["1", "2"]);
    let by_name = Table::empty();
    by_name.commit(
        0,
        &[
            protocol(2, None),
            metadata(&[mapped("key", json!("long"), "other", 1)], &[], json!({ "delta.columnMapping.mode": "name" })),
        ],
    );
    by_name.commit(1, &[by_name.batch("one.parquet", &renamed)]);
    assert_eq!(by_name.rows(None).unwrap(), ["-", "-"]);
}

#[test]
fn files_may_have_narrower_types_and_lack_columns() {
    let table = Table::empty();
    let features = protocol(3, Some(&["typeWidening", "timestampNtz"]));
    table.commit(0, &[features, metadata(&[field("id", json!("integer"))], &[], json!({}))]);
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![1, -2]));
    let narrow = table.batch("narrow.parquet", &RecordBatch::try_from_iter([("id", narrow)]).unwrap());
    table.commit(1, &[narrow]);
    let fields = [field("id", json!("long")), field("at", json!("timestamp_ntz")), field("text", json!("string"))];
    table.commit(2, &[metadata(&fields, &[], json!({})), table.file("wide.parquet", &[(1 << 40, "w")])]);
    assert_eq!(table.rows(Some(1)).unwrap(), ["-2", "1"]);
    assert_eq!(table.rows(None).unwrap(), ["-2 - -", "1 - -", "1099511627776 - w"]);
    let lake = table.open(None).unwrap();
    assert_eq!(rows(lake.dataset().scan().filter("id > 1000000000000").unwrap()).unwrap(), ["1099511627776 - w"]);
    assert_eq!(rows(lake.dataset().scan().filter("id < 0 OR text = 'w'").unwrap()).unwrap().len(), 2);
}

#[test]
fn variants_are_their_two_parts() {
    let table = Table::empty();
    let fields = [field("id", json!("long")), field("v", json!("variant"))];
    table.commit(0, &[protocol(3, Some(&["variantType"])), metadata(&fields, &[], json!({}))]);
    let bytes = |bytes: &'static [u8]| Arc::new(BinaryArray::from(vec![bytes])) as ArrayRef;
    let field = |name: &str| Field::new(name, DataType::Binary, false);
    let parts = Fields::from(vec![field("value"), field("metadata")]);
    let variant: ArrayRef = Arc::new(StructArray::new(parts, vec![bytes(&[12, 7]), bytes(&[1, 0, 0])], None));
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter_with_nullable([("id", id, true), ("v", variant, true)]).unwrap();
    table.commit(1, &[table.batch("one.parquet", &batch), table.file("two.parquet", &[(2, "without")])]);
    assert_eq!(table.rows(None).unwrap(), ["1 {metadata: 010000, value: 0c07}", "2 -"]);
    let lake = table.open(None).unwrap();
    assert_eq!(lake.schema().field(1).extension_type_name(), Some("arrow.parquet.variant"));
}

#[test]
fn shredded_variants_are_refused() {
    let bytes = |bytes: &'static [u8]| Arc::new(BinaryArray::from(vec![bytes])) as ArrayRef;
    let parts = Fields::from(vec![
        Field::new("metadata", DataType::Binary, false),
        Field::new("value", DataType::Binary, true),
        Field::new("typed_value", DataType::Int64, true),
    ]);
    let number: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    let value: ArrayRef = Arc::new(BinaryArray::from(vec![None::<&[u8]>]));
    let variant: ArrayRef = Arc::new(StructArray::new(parts, vec![bytes(&[1, 0, 0]), value, number], None));
    let list = |array: &ArrayRef| {
        let field = Arc::new(Field::new("element", array.data_type().clone(), true));
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([1]), Arc::clone(array), None)) as ArrayRef
    };
    let array = json!({ "type": "array", "elementType": "variant", "containsNull": true });
    for (data_type, column) in [(json!("variant"), Arc::clone(&variant)), (array, list(&variant))] {
        let table = Table::empty();
        let fields = [field("id", json!("long")), field("v", data_type)];
        table.commit(0, &[protocol(3, Some(&["variantType"])), metadata(&fields, &[], json!({}))]);
        let id: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter_with_nullable([("id", id, true), ("v", column, true)]).unwrap();
        table.commit(1, &[table.batch("one.parquet", &batch)]);
        assert!(table.error().contains("shredded Variant"), "{}", table.error());
    }
}

#[test]
fn features_that_are_not_known_are_named() {
    let table = Table::empty();
    let fields = [field("id", json!("long"))];
    let with = |protocol: Value| {
        table.commit(0, &[protocol, metadata(&fields, &[], json!({}))]);
        table.rows(None).map_err(|error| error.to_string())
    };
    assert_eq!(with(protocol(3, Some(&["columnMapping", "v2Checkpoint", "typeWidening-preview"]))), Ok(Vec::new()));
    let named = with(protocol(3, Some(&["deletionVectors", "teleport", "catalogManaged"]))).unwrap_err();
    assert!(named.contains("catalogManaged, teleport") && !named.contains("deletionVectors"), "{named}");
    assert!(with(protocol(4, None)).unwrap_err().contains("version 4"));
    assert!(with(protocol(3, None)).unwrap_err().contains("no list of reader features"));
    assert!(with(protocol(0, None)).is_err());
}
