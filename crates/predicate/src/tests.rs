//! Evaluates expressions on rows with obvious answers.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray, StructArray,
    Time64MicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use lath_kernels::compare::Comparison;

mod oracle;

use crate::{BindContext, Constant, Error, Literal, Predicate, Support, Test, Value, ValueTest, column};

/// Four rows; the last is null in every nullable column.
fn rows() -> RecordBatch {
    let mut fields: Vec<FieldRef> = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut add = |name: &str, array: ArrayRef| {
        fields.push(Arc::new(Field::new(name, array.data_type().clone(), true)));
        columns.push(array);
    };
    add("n", Arc::new(Int64Array::from(vec![0, 1, 2, 3])));
    add("small", Arc::new(Int8Array::from(vec![Some(-128), Some(0), Some(127), None])));
    add("large", Arc::new(UInt64Array::from(vec![Some(0), Some(1), Some(u64::MAX), None])));
    let prices = Decimal128Array::from(vec![Some(1000), Some(1005), Some(-250), None]);
    add("price", Arc::new(prices.with_precision_and_scale(9, 2).unwrap()));
    add("ratio", Arc::new(Float64Array::from(vec![Some(-0.0), Some(f64::NAN), Some(1.5), None])));
    add("single", Arc::new(Float32Array::from(vec![Some(0.1), Some(f32::NEG_INFINITY), Some(-f32::NAN), None])));
    add("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), Some(true), None])));
    add("name", Arc::new(StringViewArray::from(vec![Some("Oslo"), Some("oslo_50%"), Some("a\\b"), None])));
    add("text", Arc::new(StringArray::from(vec![Some(""), Some("b"), Some("Öl"), None])));
    let mut city = StringDictionaryBuilder::<Int32Type>::new();
    city.extend([Some("x"), Some("y"), Some("x"), None]);
    add("city", Arc::new(city.finish()));
    add("bytes", Arc::new(BinaryArray::from(vec![Some(&b"\x00\xff"[..]), Some(b"ab"), Some(b""), None])));
    add("day", Arc::new(Date32Array::from(vec![Some(0), Some(20_089), Some(-1), None])));
    add("time", Arc::new(Time64MicrosecondArray::from(vec![Some(0), Some(60_000_000), Some(86_399_999_999), None])));
    let moments = vec![Some(0), Some(1_735_689_600_000), Some(-1), None];
    add("local", Arc::new(TimestampMillisecondArray::from(moments)));
    let moments = TimestampNanosecondArray::from(vec![Some(0), Some(1_735_689_600_000_000_001), Some(i64::MAX), None]);
    add("moment", Arc::new(moments.with_timezone("UTC")));
    let mut tags = ListBuilder::new(arrow_array::builder::Int32Builder::new());
    tags.extend([Some(vec![Some(1)]), Some(vec![]), Some(vec![None]), None]);
    add("tags", Arc::new(tags.finish()));
    let mut ages = MapBuilder::new(None, StringBuilder::new(), arrow_array::builder::Int32Builder::new());
    for (key, value, is_valid) in [("x", Some(1), true), ("y", Some(2), true), ("x", None, true), ("x", Some(1), false)]
    {
        ages.keys().append_value(key);
        ages.values().append_option(value);
        ages.append(is_valid).unwrap();
    }
    add("ages", Arc::new(ages.finish()));
    add("nothing", Arc::new(arrow_array::NullArray::new(4)));
    let age = Int32Array::from(vec![Some(30), None, Some(50), Some(60)]);
    let age_field = Arc::new(Field::new("age", DataType::Int32, true));
    let rider = StructArray::new(
        vec![age_field].into(),
        vec![Arc::new(age)],
        Some(NullBuffer::from(vec![true, true, true, false])),
    );
    add("rider", Arc::new(rider));
    let ids = vec![Some([0u8; 16]), Some([0x11; 16]), Some([0xff; 16]), None];
    let ids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(ids.into_iter(), 16).unwrap();
    fields.push(Arc::new(Field::new("id", DataType::FixedSizeBinary(16), true).with_extension_type(Uuid)));
    columns.push(Arc::new(ids));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn find(expression: &str) -> Result<Vec<usize>, String> {
    let rows = rows();
    let filter = Predicate::parse(expression).and_then(|predicate| predicate.filter(&rows.schema()));
    match filter.and_then(|filter| filter.evaluate(&rows)) {
        Ok(truths) => Ok((0..rows.num_rows()).filter(|&row| truths.is_valid(row) && truths.value(row)).collect()),
        Err(error @ (Error::Arrow { .. } | Error::Kernel { .. })) => panic!("{expression}: {error}"),
        Err(error) => Err(error.to_string()),
    }
}

#[track_caller]
fn check(cases: &[(&str, &[usize])]) {
    for (expression, expected) in cases {
        assert_eq!(find(expression).as_deref(), Ok(*expected), "{expression}");
    }
}

#[test]
fn integers_compare_with_numbers_of_any_size_and_precision() {
    check(&[
        ("n = 2", &[2]),
        ("n <> 2", &[0, 1, 3]),
        ("2 < n", &[3]),
        ("n >= 1.5", &[2, 3]),
        ("n < 1.5", &[0, 1]),
        ("n = 1.5", &[]),
        ("n <> 1.5", &[0, 1, 2, 3]),
        ("n = 1e0", &[1]),
        ("small < 1000", &[0, 1, 2]),
        ("small > -1e99", &[0, 1, 2]),
        ("small = 1000", &[]),
        ("small <> 1000", &[0, 1, 2]),
        ("small <= -127.5", &[0]),
        ("large > 9223372036854775807", &[2]),
        ("large = 18446744073709551615", &[2]),
        ("large > -1", &[0, 1, 2]),
        ("n BETWEEN 1 AND 2", &[1, 2]),
        ("n NOT BETWEEN 1 AND 2", &[0, 3]),
        ("n IN (0, 3, 7)", &[0, 3]),
        ("n NOT IN (0, 3)", &[1, 2]),
    ]);
}

#[test]
fn decimals_compare_exactly() {
    check(&[
        ("price = 10", &[0]),
        ("price = 10.05", &[1]),
        ("price = 10.050", &[1]),
        ("price > 10.049", &[1]),
        ("price = 10.051", &[]),
        ("price < 10.051", &[0, 1, 2]),
        ("price < -2.495", &[2]),
        ("price >= -2.5", &[0, 1, 2]),
        ("price < 1e60", &[0, 1, 2]),
    ]);
}

#[test]
fn floats_have_one_zero_and_nan_is_above_all() {
    check(&[
        ("ratio = 0", &[0]),
        ("ratio >= 0", &[0, 1, 2]),
        ("ratio < 0", &[]),
        ("ratio = 'NaN'", &[1]),
        ("ratio > 1e308", &[1]),
        ("ratio <= 1.5", &[0, 2]),
        ("single = 0.1", &[0]),
        ("single = '-Infinity'", &[1]),
        ("single = 'nan'", &[2]),
        ("single < -1", &[1]),
    ]);
}

#[test]
fn strings_compare_by_bytes_and_match_patterns() {
    check(&[
        ("name = 'Oslo'", &[0]),
        ("name > 'a'", &[1, 2]),
        ("text = ''", &[0]),
        ("text >= 'b'", &[1, 2]),
        ("city = 'x'", &[0, 2]),
        ("city IN ('y', 'z')", &[1]),
        ("name LIKE 'O%'", &[0]),
        ("name LIKE '%slo%'", &[0, 1]),
        ("name LIKE '_slo'", &[0]),
        ("name NOT LIKE '%o'", &[1, 2]),
        ("name ILIKE 'oSL%'", &[0, 1]),
        ("name LIKE '%50!%' ESCAPE '!'", &[1]),
        ("name LIKE 'a\\b'", &[2]),
        ("text LIKE '_l'", &[2]),
        ("city LIKE 'x%'", &[0, 2]),
        ("bytes LIKE 'a_'", &[1]),
    ]);
}

#[test]
fn byte_strings_and_uuids_compare_with_their_literals() {
    check(&[
        ("bytes = X'00FF'", &[0]),
        ("bytes = 'ab'", &[1]),
        ("bytes < X'61'", &[0, 2]),
        ("id = '11111111-1111-1111-1111-111111111111'", &[1]),
        ("id = UUID '11111111-1111-1111-1111-111111111111'", &[1]),
        ("id = X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'", &[2]),
        ("id IN ('00000000000000000000000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')", &[0, 2]),
    ]);
}

#[test]
fn dates_times_and_timestamps_compare_whatever_their_units() {
    check(&[
        ("day = DATE '2025-01-01'", &[1]),
        ("day = '2025-01-01'", &[1]),
        ("day < TIMESTAMP '1970-01-01 12:00:00'", &[0, 2]),
        ("day = TIMESTAMP '1970-01-01 12:00:00'", &[]),
        ("time = TIME '00:01'", &[1]),
        ("time > '23:59:59.9999985'", &[2]),
        ("time = TIME '00:01:00.0000001'", &[]),
        ("local = TIMESTAMP '2025-01-01'", &[1]),
        ("local >= DATE '1970-01-01'", &[0, 1]),
        ("local < '1970-01-01'", &[2]),
        ("local > TIMESTAMP '1969-12-31 23:59:59.9995'", &[0, 1]),
        ("moment = TIMESTAMP '2025-01-01 00:00:00.000000001'", &[1]),
        ("moment = '2025-01-01T01:00:00.000000001+01:00'", &[1]),
        ("moment < TIMESTAMP '9999-12-31'", &[0, 1, 2]),
        ("moment > TIMESTAMP '0001-01-01'", &[0, 1, 2]),
    ]);
}

#[test]
fn nulls_are_neither_true_nor_false() {
    check(&[
        ("price = NULL", &[]),
        ("NOT (price = NULL)", &[]),
        ("price IS NULL", &[3]),
        ("price IS NOT NULL", &[0, 1, 2]),
        ("NOT (price = 10)", &[1, 2]),
        ("price = 10 OR n = 3", &[0, 3]),
        ("price = 10 OR NULL", &[0]),
        ("price < 0 AND NULL", &[]),
        ("price NOT IN (10, NULL)", &[]),
        ("price IN (10, NULL)", &[0]),
        ("(price = 10) IS NULL", &[3]),
        ("(price = 10) IS UNKNOWN", &[3]),
        ("(price = 10) IS NOT TRUE", &[1, 2, 3]),
        ("(price = 10) IS NOT FALSE", &[0, 3]),
        ("price IS DISTINCT FROM 10", &[1, 2, 3]),
        ("price IS NOT DISTINCT FROM NULL", &[3]),
        ("price IS DISTINCT FROM NULL", &[0, 1, 2]),
        ("price IS DISTINCT FROM 10 AND n = 3", &[3]),
        ("n = 0 OR price IS NOT DISTINCT FROM NULL AND flag IS NULL", &[0, 3]),
        ("nothing IS NULL", &[0, 1, 2, 3]),
        ("nothing = 1", &[]),
        ("tags IS NULL", &[3]),
        ("rider IS NOT NULL", &[0, 1, 2]),
        ("rider.age IS NULL", &[1, 3]),
        ("TRUE", &[0, 1, 2, 3]),
        ("FALSE OR NULL", &[]),
    ]);
}

#[test]
fn booleans_stand_for_themselves() {
    check(&[
        ("flag", &[0, 2]),
        ("NOT flag", &[1]),
        ("flag = FALSE", &[1]),
        ("flag IS TRUE", &[0, 2]),
        ("flag IS NOT TRUE", &[1, 3]),
        ("flag AND n > 0", &[2]),
        ("n = 0 OR n = 1 AND NOT flag", &[0, 1]),
        ("(n = 0 OR n = 1) AND NOT flag", &[1]),
    ]);
}

#[test]
fn booleans_of_a_struct_with_nulls_are_found_in_a_slice_that_begins_within_a_byte() {
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true; 30]));
    let fields = vec![Field::new("flag", DataType::Boolean, true)].into();
    let nulls = NullBuffer::from((0..30).map(|row| row % 2 == 0).collect::<Vec<_>>());
    let column: ArrayRef = Arc::new(StructArray::new(fields, vec![flags], Some(nulls)));
    let rows = RecordBatch::try_from_iter([("s", column)]).unwrap().slice(5, 20);
    let filter = Predicate::parse("s.flag").unwrap().filter(rows.schema_ref()).unwrap();
    let kept = filter.evaluate(&rows).unwrap();
    assert_eq!((kept.len(), kept.true_count()), (20, 10));
}

#[test]
fn fields_of_structs_and_names_in_quotes_are_found() {
    check(&[("rider.age > 40", &[2]), ("RIDER.Age = 30", &[0]), ("\"rider\".\"age\" = 30", &[0])]);
    assert!(find("\"RIDER\".age = 30").unwrap_err().contains("there is no column \"RIDER\""));
}

#[test]
fn columns_compare_with_columns_of_kindred_types() {
    check(&[
        ("small < large", &[0, 1, 2]),
        ("n = small", &[]),
        ("n < price", &[0, 1]),
        ("ratio < n", &[2]),
        ("name < text", &[2]),
        ("day = local", &[0, 1]),
        ("moment > local", &[1, 2]),
        ("rider.age > n", &[0, 2]),
    ]);
}

#[test]
fn maps_are_looked_into_and_lists_are_searched() {
    check(&[
        ("ages['x'] = 1", &[0]),
        ("ages['x'] IS NULL", &[1, 2, 3]),
        ("ages['z'] IS NOT NULL", &[]),
        ("AGES['y'] IN (1, 2)", &[1]),
        ("list_contains(tags, 1)", &[0]),
        ("NOT array_contains(tags, 1)", &[1, 2]),
        ("1 = ANY(tags)", &[0]),
        ("list_contains(tags, 1.5) IS FALSE", &[0, 1, 2]),
        ("list_contains(tags, NULL) IS NULL", &[0, 1, 2, 3]),
    ]);
}

#[test]
fn casts_keep_their_promises() {
    check(&[
        ("CAST(n AS SMALLINT) = 2", &[2]),
        ("n::DECIMAL(20, 2) >= 1.5", &[2, 3]),
        ("CAST(price AS INTEGER) = 10", &[0, 1]),
        // 10.05 becomes 10.1, and -2.5 becomes -3: halves round away from zero.
        ("CAST(price AS DECIMAL(5, 1)) = 10.1", &[1]),
        ("CAST(price AS INTEGER) = -3", &[2]),
        // Halves of floats round to even.
        ("TRY_CAST(ratio AS INTEGER) = 2", &[2]),
        ("TRY_CAST(ratio AS INTEGER) IS NULL", &[1, 3]),
        ("CAST(n AS VARCHAR) LIKE '2%'", &[2]),
        ("CAST(id AS VARCHAR) = '11111111-1111-1111-1111-111111111111'", &[1]),
        ("CAST(local AS DATE) = DATE '1969-12-31'", &[2]),
        ("CAST(moment AS TIMESTAMP(0)) = TIMESTAMP '2025-01-01'", &[1]),
        ("day::TIMESTAMP < TIMESTAMP '1970-01-01 12:00:00'", &[0, 2]),
        ("TRY_CAST(name AS BOOLEAN) IS NULL", &[0, 1, 2, 3]),
        ("n = CAST('2' AS INTEGER)", &[2]),
        ("day = CAST('2025-01-01' AS DATE)", &[1]),
        ("TRY_CAST('x' AS INTEGER) = n", &[]),
        ("CAST(flag AS INTEGER) = 1", &[0, 2]),
        ("CAST(bytes AS VARCHAR) = 'ab' OR TRUE", &[0, 1, 2, 3]),
        ("TRY_CAST(bytes AS VARCHAR) = 'ab'", &[1]),
        ("CAST(large AS DOUBLE) > 1e19", &[2]),
    ]);
    assert!(find("CAST(large AS BIGINT) > 0").unwrap_err().contains("cannot be cast to BIGINT"));
}

#[test]
fn casts_that_change_nothing_leave_the_column_to_pruning() {
    let schema = rows().schema();
    let context = BindContext::new(&schema);
    let casts = |expression: &str| {
        let bound = Predicate::parse(expression).unwrap().bind(&context).unwrap();
        bound.columns.iter().map(|column| column.tested_field().data_type().clone()).collect::<Vec<_>>()
    };
    assert_eq!(casts("CAST(small AS BIGINT) = 1 AND small::DECIMAL(10, 2) > 0.5"), [DataType::Int8]);
    assert_eq!(casts("CAST(n AS SMALLINT) = 1"), [DataType::Int16]);
    assert_eq!(casts("CAST(single AS DOUBLE) = 0.1"), [DataType::Float64]);
    assert_eq!(casts("CAST(local AS TIMESTAMP(9)) = '2025-01-01'").len(), 1);
}

#[test]
fn columns_that_are_constant_fold_into_the_test() {
    let schema = rows().schema();
    let constant = |name: &str, data_type: DataType, value: Option<Value>| Constant {
        name: name.to_owned(),
        field: Arc::new(Field::new(name, data_type, true)),
        value,
    };
    let constants = [
        constant("year", DataType::Int32, Some(Value::Int(2025))),
        constant("land", DataType::Utf8, Some(Value::Bytes("no".into()))),
        constant("lost", DataType::Date32, None),
        constant("price", DataType::Decimal128(9, 2), Some(Value::Int(1005))),
    ];
    let context = BindContext::new(&schema).with_constants(&constants);
    let bind = |expression: &str| Predicate::parse(expression).unwrap().bind(&context);
    for (expression, truth) in [
        ("year = 2025", Some(true)),
        ("YEAR IN (1, 2)", Some(false)),
        ("land LIKE 'n%' AND year < 2025.5", Some(true)),
        ("lost > '2025-01-01'", None),
        ("lost IS NULL AND NOT land IS NULL", Some(true)),
        ("price > year", Some(false)),
        ("CAST(year AS VARCHAR) = '2025'", Some(true)),
        ("year = 2024 AND n = 1", Some(false)),
        ("lost = day", None),
    ] {
        let bound = bind(expression).unwrap();
        assert_eq!((bound.test, bound.columns.len()), (Test::Constant(truth), 0), "{expression}");
    }
    let bound = bind("n < year AND n > 1").unwrap();
    assert_eq!(bound.columns.len(), 1);
    let Test::All(tests) = bound.test else { panic!() };
    let compare = |op, value| Test::Values { column: 0, test: ValueTest::Compare(op, Value::Int(value)) };
    assert_eq!(tests, [compare(Comparison::Less, 2025), compare(Comparison::Greater, 1)]);
    assert!(bind("year = 'x'").unwrap_err().to_string().contains("column \"year\" is a 32-bit integer"));
    assert!(bind("land = n").unwrap_err().to_string().contains("cannot be compared"));
}

#[test]
fn a_list_of_a_hundred_thousand_is_read_bound_and_asked_at_once() {
    let rows = rows();
    let list: Vec<String> = (0..100_000).map(|i| (i * 3).to_string()).collect();
    let predicate = Predicate::parse(&format!("n IN ({})", list.join(", "))).unwrap();
    let filter = predicate.filter(&rows.schema()).unwrap();
    assert_eq!(filter.evaluate(&rows).unwrap(), BooleanArray::from(vec![true, false, false, true]));
    let chain = Predicate::parse(&vec!["n = 2"; 5000].join(" OR ")).unwrap();
    assert_eq!(chain.filter(&rows.schema()).unwrap().evaluate(&rows).unwrap().true_count(), 1);
    let chain = Predicate::parse(&vec!["n >= 2"; 5000].join(" AND ")).unwrap();
    assert_eq!(chain.filter(&rows.schema()).unwrap().evaluate(&rows).unwrap().true_count(), 2);
}

#[test]
fn predicates_built_in_rust_are_those_that_are_read() {
    let at = |text: &str| text.parse::<Literal>().unwrap();
    for (built, read) in [
        (column("n").eq(5), "\"n\" = 5"),
        (column("rider.age").gt(-3) & column("flag").is_true(), "\"rider\".\"age\" > -3 AND (\"flag\") IS TRUE"),
        (column("n").is_in([1, 2]) | !column("n").is_null(), "\"n\" IN (1, 2) OR \"n\" IS NOT NULL"),
        (column("ages").at("x").between(at("0.5"), 2u64), "\"ages\"['x'] BETWEEN 0.5 AND 2"),
        (
            column("name").like("a\\%").or(column("name").starts_with("50%")),
            r#""name" LIKE 'a\\%' ESCAPE '\' OR "name" LIKE '50\%%' ESCAPE '\'"#,
        ),
        (column("ratio").lt(f64::NAN), "\"ratio\" < DOUBLE 'NaN'"),
        (column("ratio").lt(0.1), "\"ratio\" < 0.1"),
        (column("bytes").not_eq([0u8, 255]), "\"bytes\" <> X'00FF'"),
        (
            column("day").is_distinct_from(Literal::date(2025, 1, 31).unwrap()),
            "\"day\" IS DISTINCT FROM DATE '2025-01-31'",
        ),
        (column("name").eq("it's"), "\"name\" = 'it''s'"),
        (column("name").eq(None::<&str>), "\"name\" = NULL"),
        (column("n").lt_column(column("small")), "\"n\" < \"small\""),
        (column("tags").contains(1), "list_contains(\"tags\", 1)"),
        (
            column("moment").ge(Literal::timestamp_micros(1_500_000)),
            "\"moment\" >= TIMESTAMP '1970-01-01 00:00:01.500000000'",
        ),
        (column("n").is_in(Vec::<i32>::new()), "\"n\" IN ()"),
    ] {
        assert_eq!(built, Predicate::parse(read).unwrap(), "{read}");
        assert_eq!(built, Predicate::parse(&built.to_string()).unwrap(), "{built}");
        built.filter(&rows().schema()).unwrap();
    }
}

#[test]
fn constant_predicates_are_those_that_are_read() {
    for (constant, text, count) in
        [(Predicate::TRUE, "TRUE", 4), (Predicate::FALSE, "FALSE", 0), (Predicate::NULL, "NULL", 0)]
    {
        assert_eq!(Predicate::parse(text).unwrap(), constant);
        assert_eq!(constant.to_string(), text);
        assert_eq!(find(text).unwrap().len(), count, "{text}");
        assert_eq!(find(&(!constant).to_string()).unwrap().len(), if text == "FALSE" { 4 } else { 0 }, "NOT {text}");
    }
    let other = || column("n").eq(1);
    assert_eq!(Predicate::TRUE.and(other()), other());
    assert_eq!(other().and(Predicate::TRUE), other());
    assert_eq!(Predicate::FALSE.or(other()), other());
    assert_eq!(other().or(Predicate::FALSE), other());
    assert_eq!(other().and(Predicate::NULL).to_string(), "\"n\" = 1 AND NULL");
    assert_eq!(other().and(Predicate::FALSE).to_string(), "\"n\" = 1 AND FALSE");
}

#[test]
fn constants_fold_by_the_rules_of_three_values() {
    let constants = [Some(true), Some(false), None];
    let column = || Test::Values { column: 0, test: ValueTest::Truth };
    for left in constants {
        assert_eq!(Test::Not(Box::new(Test::Constant(left))).simplify(), Test::Constant(left.map(|truth| !truth)));
        for right in constants {
            let pair = || vec![Test::Constant(left), Test::Constant(right)];
            let and = if left == Some(false) || right == Some(false) { Some(false) } else { left.and(right) };
            let or = if left == Some(true) || right == Some(true) {
                Some(true)
            } else if left.is_none() {
                None
            } else {
                right
            };
            assert_eq!(Test::All(pair()).simplify(), Test::Constant(and), "{left:?} AND {right:?}");
            assert_eq!(Test::Any(pair()).simplify(), Test::Constant(or), "{left:?} OR {right:?}");
            assert_eq!(Test::Is(Box::new(Test::Constant(left)), right).simplify(), Test::Constant(Some(left == right)));
        }
        let with_column = |truth| vec![column(), Test::Constant(truth)];
        let expected = match left {
            Some(true) => column(),
            Some(false) => Test::Constant(Some(false)),
            None => Test::All(with_column(None)),
        };
        assert_eq!(Test::All(with_column(left)).simplify(), expected);
    }
}

#[test]
fn a_mismatch_of_types_names_the_column_and_its_type() {
    for (expression, parts) in [
        ("price = 'abc'", ["column \"price\" is a decimal(9, 2)", "the string 'abc'"]),
        ("name = 5", ["column \"name\" is a string", "the number 5"]),
        ("n = TRUE", ["column \"n\" is a 64-bit integer", "TRUE"]),
        ("day = 5", ["column \"day\" is a date", "DATE '2025-01-31'"]),
        ("day = 'soon'", ["column \"day\" is a date", "the string 'soon'"]),
        ("moment = TIME '10:00'", ["a timestamp in nanoseconds, time zone UTC", "a TIME"]),
        ("id = 'xyz'", ["column \"id\" is a UUID", "the string 'xyz'"]),
        ("tags = 1", ["column \"tags\" is a list", "IS NULL"]),
        ("list_contains(n, 1)", ["column \"n\" is a 64-bit integer", "only lists contain"]),
        ("list_contains(tags, 'x')", ["column \"tags\" is a list whose element is a 32-bit integer", "the string 'x'"]),
        ("name['x'] = 1", ["column \"name\" is a string", "only maps have keys"]),
        ("ages[1] = 1", ["column \"ages\" is a map whose key is a string", "the number 1"]),
        ("CAST(tags AS INTEGER) = 1", ["column \"tags\" is a list", "cannot be cast to INTEGER"]),
        ("CAST(n AS DATE) = '2025-01-01'", ["column \"n\" is a 64-bit integer", "cannot be cast to DATE"]),
        ("CAST(name AS INTEGER) = 1", ["column \"name\" cannot be cast to INTEGER: 'Oslo'", "TRY_CAST"]),
        ("CAST(n AS GEOMETRY) = 1", ["the type GEOMETRY", "not supported"]),
        ("rider = 1", ["column \"rider\" is a struct", "the number 1"]),
        ("n", ["column \"n\" is a 64-bit integer", "neither true nor false"]),
        ("n LIKE '1%'", ["column \"n\" is a 64-bit integer", "LIKE is for strings"]),
        ("n = name", ["column \"n\" is a 64-bit integer", "column \"name\""]),
        ("n.x = 1", ["column \"n\" is a 64-bit integer", "only structs"]),
        ("missing = 1", ["there is no column \"missing\"", "there are n, small"]),
        ("rider.name = 'x'", ["there is no column \"name\" in \"rider\"", "there are age"]),
        ("1 = 2", ["the number 1", "a comparison needs a column"]),
    ] {
        let message = find(expression).unwrap_err();
        for part in parts {
            assert!(message.contains(part), "{expression}: {message}");
        }
    }
}

#[test]
fn the_columns_of_an_expression_are_known_before_it_is_evaluated() {
    let predicate = Predicate::parse("RIDER.age > 1 AND (n IS NULL OR rider.age < small)").unwrap();
    assert_eq!(predicate.filter(&rows().schema()).unwrap().columns(), ["n", "rider.age", "small"]);
}

#[test]
fn dictionaries_of_small_keys_are_compared_by_value() {
    let mut values = StringDictionaryBuilder::<Int8Type>::new();
    values.extend([Some("a"), None, Some("b"), Some("a")]);
    let column: ArrayRef = Arc::new(values.finish());
    let rows = RecordBatch::try_from_iter_with_nullable([("d", column, true)]).unwrap();
    let filter = Predicate::parse("d <> 'b'").unwrap().filter(&rows.schema()).unwrap();
    let expected = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
    assert_eq!(filter.evaluate(&rows).unwrap(), expected);
    assert_eq!(filter.evaluate(&rows).unwrap(), expected, "the second time from memory");
}

#[test]
fn an_engine_may_leave_to_the_filter_what_sql_answers_in_one_way() {
    let schema = rows().schema();
    let supports = |text: &str| {
        let supports = Predicate::parse(text).unwrap().supports(&schema);
        supports.into_iter().map(|conjunct| conjunct.support).collect::<Vec<_>>()
    };
    for text in [
        "n = 5",
        "small < 1e9 OR NOT price = 10.05",
        "name LIKE 'O%'",
        "city IN ('x', NULL)",
        "day BETWEEN '2025-01-01' AND '2025-02-01'",
        "moment > '2900-01-01'",
        "ratio > 0.1",
        "single = 0.5",
        "single < 16777217",
        "flag",
        "(n = 1) IS NOT TRUE",
        "rider.age IS NULL",
        "ages['x'] = 1",
        "list_contains(tags, 1)",
        "1 = ANY(tags)",
        "(list_contains(tags, 1)) IS TRUE",
        "(list_contains(tags, 1)) IS NOT TRUE",
        "CAST(small AS BIGINT) = 1",
        "CAST(n AS SMALLINT) = 1",
        "CAST(moment AS DATE) = '2025-01-01'",
        "n = CAST('2' AS INTEGER)",
        "nothing = 1",
        "small < ratio",
        "price < n",
        "day = local",
    ] {
        assert_eq!(supports(text), [Support::Exact], "{text}");
    }
    // SQL's ANY is null for a list with a null and without a match, and the filter's is false.
    for text in ["NOT list_contains(tags, 1)", "n = 1 OR NOT 1 = ANY(tags)"] {
        assert_eq!(supports(text), [Support::Inexact], "{text}");
    }
    for text in [
        "missing = 1",
        "n = 'x'",
        "CAST(tags AS INTEGER) = 1",
        "(list_contains(tags, 1)) IS UNKNOWN",
        // Engines round these differently.
        "CAST(ratio AS INTEGER) = 1",
        "CAST(price AS DECIMAL(5, 1)) = 10.1",
        "CAST(moment AS TIMESTAMP(0)) = '2025-01-01'",
        "CAST(name AS INTEGER) = 1 OR n = 1",
        // As doubles, these are other numbers.
        "single = 0.1",
        "ratio = 9007199254740993",
        "ratio < n",
        "ratio < price",
        "single < small",
        // Engines differ in the case of letters.
        "name ILIKE 'o%'",
        "bytes LIKE 'a_'",
        "day = '2025-01-01 12:00'",
    ] {
        assert_eq!(supports(text), [Support::No], "{text}");
    }
    let predicate = Predicate::parse("n = 1 AND (name ILIKE 'x' AND NOT (missing = 1 AND n = 2))").unwrap();
    let supports = predicate.supports(&schema);
    let texts: Vec<String> = supports.iter().map(|conjunct| conjunct.conjunct.to_string()).collect();
    assert_eq!(texts, ["n = 1", "name ILIKE 'x'", "NOT (missing = 1 AND n = 2)"]);
    let supports: Vec<Support> = supports.iter().map(|conjunct| conjunct.support).collect();
    assert_eq!(supports, [Support::Exact, Support::No, Support::No]);
}
