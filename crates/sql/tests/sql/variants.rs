//! Columns of Variants in queries: every file of the collection, shredded or not, and a small one.

use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use lath_sql::Session;
use lath_testkit::parquet_test_data;
use parquet_variant::{Variant, VariantMetadata};
use parquet_variant_json::VariantToJson;
use serde_json::Value;

use crate::{answer, wait};

/// The Variant that a file of the collection has: its metadata, and then its value.
fn expected(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap();
    let metadata = VariantMetadata::try_new(&bytes).unwrap();
    let value = Variant::try_new_with_metadata(metadata.clone(), &bytes[metadata.size()..]).unwrap();
    with_plain_numbers(serde_json::from_str(&value.to_json_string().unwrap()).unwrap())
}

/// The value with whole numbers in one form: 1.0 is 1.
fn with_plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(values) => values.into_iter().map(with_plain_numbers).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, with_plain_numbers(value))).collect(),
        other => other,
    }
}

fn texts(batches: &[RecordBatch], column: usize) -> Vec<Option<String>> {
    let column = batches.iter().map(|batch| batch.column(column));
    column
        .flat_map(|texts| {
            let texts = cast(texts, &DataType::Utf8).unwrap();
            texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        })
        .collect()
}

/// A scalar as the list of the collection writes it: `Variant(type=INT8, value=34)`.
fn listed_scalar(case: &Value) -> Option<&str> {
    let (_, scalar) = case["variant"].as_str()?.split_once("value=Variant(type=")?;
    let (data_type, value) = scalar.split_once(", value=")?;
    (!data_type.starts_with("TIME") && data_type != "BINARY").then(|| value.trim_end_matches("))"))
}

/// Whether the collection, or the specification of shredding, has no value for a file.
///
/// The names of three files say that they are invalid, and that an implementation may raise an error or read their shredded value. In two
/// of them, `value` has a field that is shredded, too; the specification calls reads of it inconsistent, so they are refused. In the third
/// one, the groups of shredded fields are optional instead of required; its values are whole, and are read.
fn is_refused(case: &Value, file: &str) -> bool {
    case.get("error_message").is_some() || ["case-043-INVALID.parquet", "case-125-INVALID.parquet"].contains(&file)
}

#[test]
fn every_file_of_the_collection_is_read_as_json() {
    let Some(folder) = parquet_test_data() else { return };
    let folder = folder.join("shredded_variant");
    let cases: Value = serde_json::from_str(&fs::read_to_string(folder.join("cases.json")).unwrap()).unwrap();
    let (mut read, mut refused, mut scalars) = (0, 0, 0);
    for case in cases.as_array().unwrap() {
        let Some(file) = case["parquet_file"].as_str() else { continue };
        let query = format!(
            "SELECT var::json, var -> '$', var ->> '$', CAST(var AS VARCHAR) FROM '{}' ORDER BY id",
            folder.join(file).display()
        );
        let session = Session::new();
        if is_refused(case, file) {
            let answered =
                wait(async { session.sql(&query).await?.collect().await.map(drop).map_err(lath_sql::Error::from) });
            let error = answered.expect_err(file).to_string();
            assert!(error.to_lowercase().contains("variant"), "{file}: {error}");
            refused += 1;
            continue;
        }
        let batches = wait(answer(&session, &query));
        let (json, plain) = (texts(&batches, 0), texts(&batches, 2));
        assert_eq!(texts(&batches, 1), json, "{file}");
        assert_eq!(texts(&batches, 3), plain, "{file}");
        let names = match &case["variant_files"] {
            Value::Array(names) => names.iter().map(Value::as_str).collect(),
            _ => vec![case["variant_file"].as_str()],
        };
        assert_eq!(json.len(), names.len(), "{file}");
        for (text, name) in json.iter().zip(names) {
            let value: Option<Value> =
                text.as_ref().map(|text| with_plain_numbers(serde_json::from_str(text).unwrap()));
            assert_eq!(value, name.map(|name| expected(&folder.join(name))), "{file}");
        }
        if let Some(scalar) = listed_scalar(case) {
            assert_eq!(plain[0].as_deref(), Some(scalar).filter(|&scalar| scalar != "null"), "{file}");
            scalars += 1;
        }
        read += 1;
    }
    assert_eq!((read, refused), (129, 8));
    assert!(scalars > 20, "{scalars}");
}

#[test]
fn variants_are_used_as_json_and_are_copied() {
    let Some(folder) = parquet_test_data() else { return };
    let file = folder.join("shredded_variant/case-083.parquet");
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy.parquet");
    let session = Session::new();
    wait(async {
        answer(&session, &format!("COPY (SELECT * FROM '{}') TO '{}'", file.display(), copy.display())).await;
        for path in [&file, &copy] {
            let found = answer(
                &session,
                &format!(
                    "SELECT var -> 'c' ->> 'b', json_typeof(var), json_keys(var)[1], CAST(var -> 'c' AS VARCHAR) FROM '{}' \
                     WHERE var ->> '$.c.b' = 'iceberg' AND json_type(var, 'c') = 'OBJECT'",
                    path.display()
                ),
            )
            .await;
            let row: Vec<_> = (0..4).map(|column| texts(&found, column)).collect();
            let is = |text: &str| vec![Some(text.to_owned())];
            assert_eq!(row, [is("iceberg"), is("object"), is("c"), is(r#"{"b":"iceberg"}"#)]);
        }
        let number = folder.join("shredded_variant/case-006.parquet");
        let number = number.display();
        let sum = answer(
            &session,
            &format!("SELECT CAST(sum(CAST(var AS INT) + var::DECIMAL(9, 2)) AS VARCHAR) FROM '{number}'"),
        )
        .await;
        assert_eq!(texts(&sum, 0), [Some("68.00".to_owned())]);
        let empty = answer(&session, &format!("SELECT TRY_CAST(var AS DATE) FROM '{number}'")).await;
        assert!(empty[0].column(0).is_null(0));
    });
}

#[test]
fn results_of_expressions_are_variants() {
    let Some(folder) = parquet_test_data() else { return };
    let file = folder.join("shredded_variant/case-083.parquet");
    let place = tempfile::tempdir().unwrap();
    let session = Session::new();
    wait(async {
        let items = [
            ("var", "{}"),
            ("CASE WHEN id > 0 THEN var END", "{}"),
            ("coalesce(var, var)", "{}"),
            ("first(var)", "{}"),
            ("list(var)", "[{}]"),
            ("{'a': var}", "{\"a\":{}}"),
        ];
        let mut plain = String::new();
        for (number, (item, shape)) in items.into_iter().enumerate() {
            let target = place.path().join(format!("{number}.jsonl"));
            let query = format!(
                "COPY (SELECT {item} AS x FROM '{}' WHERE var ->> '$.c.b' = 'iceberg') TO '{}'",
                file.display(),
                target.display()
            );
            answer(&session, &query).await;
            let written = fs::read_to_string(target).unwrap();
            let value = written.trim_end().strip_prefix("{\"x\":").unwrap().strip_suffix('}').unwrap();
            if number == 0 {
                value.clone_into(&mut plain);
            }
            assert_eq!(value, shape.replacen("{}", &plain, 1), "{item}");
        }
        assert!(plain.contains("iceberg"), "{plain}");
        let copy = place.path().join("copy.parquet");
        answer(
            &session,
            &format!("COPY (SELECT coalesce(var, var) AS x FROM '{}') TO '{}'", file.display(), copy.display()),
        )
        .await;
        let found = answer(
            &session,
            &format!("SELECT x -> 'c' ->> 'b' FROM '{}' WHERE x ->> '$.c.b' = 'iceberg'", copy.display()),
        )
        .await;
        assert_eq!(texts(&found, 0), [Some("iceberg".to_owned())]);
        for query in ["max(var)", "greatest(var, var)", "var < var"] {
            let refused = session.sql(&format!("SELECT {query} FROM '{}'", file.display())).await;
            let error = match refused {
                Ok(frame) => frame.collect().await.unwrap_err(),
                Err(error) => error,
            };
            assert!(error.to_string().contains("is a Variant"), "{error}");
        }
    });
}
