//! Rows of other types than the table's are cast if no value is lost; otherwise the error names the value.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    LargeStringArray, NullArray, RecordBatch, StringViewArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use lath_table::{Table, TableOptions};

/// Puts values into a table whose column has the type, and reads them back.
fn put(values: ArrayRef, data_type: DataType) -> Result<ArrayRef, String> {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("v", data_type, true)]);
    let table = Table::create(folder.path().join("t"), &schema, &["id"], TableOptions::new()).unwrap();
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..values.len() as i32));
    let rows = RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("v", values, true)]).unwrap();
    table.upsert(&rows).map_err(|error| error.to_string())?;
    let read = table.scan().unwrap().build().unwrap().next().unwrap().unwrap();
    Ok(Arc::clone(read.column_by_name("v").unwrap()))
}

fn whole(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

#[test]
fn rows_are_cast_where_nothing_is_lost() {
    let ns = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(TimestampNanosecondArray::from(values)) };
    let us = DataType::Timestamp(TimeUnit::Microsecond, None);
    let decimals = |values: Vec<Option<i128>>, precision, scale| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap())
    };
    let numbers = vec![Some(0), None, Some(-5), Some(i64::from(i32::MAX))];
    let texts = vec![Some("a"), None, Some("")];
    let cases: Vec<(ArrayRef, DataType)> = vec![
        (ns(vec![Some(-1000), None, Some(1_700_000_000_123_456_000)]), us.clone()),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None])),
            DataType::Timestamp(TimeUnit::Nanosecond, None),
        ),
        (whole(numbers.clone()), DataType::Int32),
        (whole(numbers.clone()), DataType::Float64),
        (whole(numbers), DataType::Decimal128(12, 2)),
        (Arc::new(UInt64Array::from(vec![Some(7), None])), DataType::Int8),
        (Arc::new(Float64Array::from(vec![Some(2.0), None, Some(-7.0)])), DataType::Int16),
        (Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::NAN)])), DataType::Float32),
        (decimals(vec![Some(1250), None], 10, 3), DataType::Decimal128(5, 2)),
        (decimals(vec![Some(300), None], 5, 2), DataType::Int64),
        (Arc::new(Date32Array::from(vec![Some(-1), None])), DataType::Date64),
        (Arc::new(NullArray::new(2)), DataType::Int32),
        (Arc::new(LargeStringArray::from(texts.clone())), DataType::Utf8),
        (Arc::new(StringViewArray::from(texts.clone())), DataType::LargeUtf8),
        (Arc::new(texts.into_iter().collect::<DictionaryArray<Int32Type>>()), DataType::Utf8),
    ];
    for (values, data_type) in cases {
        let given = values.data_type().clone();
        let read = put(Arc::clone(&values), data_type.clone()).unwrap_or_else(|error| panic!("{given}: {error}"));
        assert_eq!(read.data_type(), &data_type);
        if given != DataType::Null {
            assert_eq!(&cast(&read, &given).unwrap(), &values, "{given} as {data_type}");
        }
        assert_eq!(read.logical_null_count(), values.logical_null_count());
    }
}

#[test]
fn the_first_value_that_would_be_lost_is_named() {
    let ns: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1000, 1001]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5]));
    let decimals: ArrayRef = Arc::new(Decimal128Array::from(vec![100, 125]).with_precision_and_scale(10, 2).unwrap());
    for (values, data_type, value) in [
        (ns, DataType::Timestamp(TimeUnit::Microsecond, None), "1970-01-01T00:00:00.000001001"),
        (whole(vec![None, Some(1 << 31)]), DataType::Int32, "2147483648"),
        (whole(vec![Some(1), Some((1 << 53) + 1)]), DataType::Float64, "9007199254740993"),
        (whole(vec![Some(1), Some(-1)]), DataType::UInt64, "-1"),
        (floats.clone(), DataType::Int64, "2.5"),
        (Arc::new(Float64Array::from(vec![1.0, 0.1])), DataType::Float32, "0.1"),
        (Arc::new(Float64Array::from(vec![1.0, -0.0])), DataType::Int32, "-0.0"),
        (decimals, DataType::Decimal128(10, 1), "1.25"),
    ] {
        let error = put(values, data_type).unwrap_err();
        assert!(error.contains(&format!("the value {value} (row 1 ")), "{error}");
    }
    for (values, data_type) in [(floats, DataType::Utf8), (whole(vec![Some(1)]), DataType::Boolean)] {
        assert!(put(values, data_type).unwrap_err().contains("cast it"));
    }
}
