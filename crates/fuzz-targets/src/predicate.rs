//! An expression as text, evaluated on a small table of many types; printing and parsing it gives the same.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int8Array, Int64Array, RecordBatch, StringArray, StringViewArray, StructArray,
    Time64MicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use lath_parquet::Predicate;

/// Four rows; the last is null.
static ROWS: LazyLock<RecordBatch> = LazyLock::new(|| {
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.extend([Some(vec![Some(1), None]), Some(vec![]), Some(vec![Some(2)]), None]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..4 {
        maps.keys().append_value("k");
        maps.values().append_value(row);
        maps.append(row < 3).expect("as many keys as values");
    }
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    dictionary.extend([Some("x"), Some("y"), Some("x"), None]);
    let prices = Decimal128Array::from(vec![Some(1000), Some(-1), Some(i128::from(u64::MAX)), None]);
    let age: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(i64::MIN), None]));
    let ids = [Some([0u8; 16]), Some([0x11; 16]), Some([0xff; 16]), None];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Int8Array::from(vec![Some(-128), Some(0), Some(127), None]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), Some(true), None]))),
        ("c", Arc::new(UInt64Array::from(vec![Some(0), Some(1), Some(u64::MAX), None]))),
        ("d", Arc::new(prices.with_precision_and_scale(30, 2).expect("a sound decimal"))),
        ("e", Arc::new(Float32Array::from(vec![Some(-0.0), Some(f32::NAN), Some(f32::INFINITY), None]))),
        ("f", Arc::new(Float64Array::from(vec![Some(0.1), Some(-f64::NAN), Some(1e300), None]))),
        ("s", Arc::new(StringArray::from(vec![Some(""), Some("Öl"), Some("abc"), None]))),
        (
            "v",
            Arc::new(StringViewArray::from(vec![
                Some("12"),
                Some("2025-01-31"),
                Some("longer than a view holds"),
                None,
            ])),
        ),
        ("y", Arc::new(BinaryArray::from(vec![Some(&b""[..]), Some(b"\xff\xfe"), Some(b"abc"), None]))),
        ("g", Arc::new(dictionary.finish())),
        ("t", Arc::new(Date32Array::from(vec![Some(0), Some(i32::MAX), Some(i32::MIN), None]))),
        ("u", Arc::new(TimestampMillisecondArray::from(vec![Some(0), Some(i64::MAX), Some(i64::MIN), None]))),
        (
            "w",
            Arc::new(
                TimestampNanosecondArray::from(vec![Some(0), Some(i64::MAX), Some(i64::MIN), None])
                    .with_timezone("+01:00"),
            ),
        ),
        ("x", Arc::new(Time64MicrosecondArray::from(vec![Some(0), Some(i64::MAX), Some(-1), None]))),
        ("l", Arc::new(lists.finish())),
        ("m", Arc::new(maps.finish())),
        ("r", Arc::new(StructArray::try_from(vec![("age", age)]).expect("columns of one length"))),
        (
            "i",
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(ids.into_iter(), 16).expect("16 bytes each")),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .expect("columns of one length")
});

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(predicate) = Predicate::parse(text) else { return };
    let printed = predicate.to_string();
    let again = Predicate::parse(&printed).expect("what is printed can be read");
    assert_eq!(again, predicate, "{printed}");
    let rows = &*ROWS;
    if let Ok(filter) = predicate.filter(&rows.schema())
        && let Ok(truths) = filter.evaluate(rows)
    {
        assert_eq!(truths.into_parts().0.len(), rows.num_rows());
    }
}
