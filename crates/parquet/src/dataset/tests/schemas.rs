use std::sync::Arc;

use arrow_array::{
    ArrayRef, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    LargeListArray, LargeStringArray, ListArray, ListViewArray, NullArray, StringArray, StringViewArray, StructArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array, types::Int32Type,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, TimeUnit};

use super::{directory, int64, options, read, table, write};
use crate::Strings;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

type Columns = Vec<(&'static str, ArrayRef)>;

/// A dataset of files with these columns.
fn of(files: Vec<Columns>, unites: bool) -> Result<(tempfile::TempDir, Dataset)> {
    let (guard, directory) = directory();
    for (at, columns) in files.into_iter().enumerate() {
        write(&directory.join(format!("{at}.parquet")), columns);
    }
    Dataset::open([directory], options().union_schemas(unites)).map(|dataset| (guard, dataset))
}

/// The united type of a column of two files; `None` if there is none.
fn united(first: ArrayRef, second: ArrayRef) -> Option<DataType> {
    let rows = [first.len(), second.len()];
    let dataset = match of(vec![vec![("c", first)], vec![("c", second)]], true) {
        Ok(dataset) => dataset.1,
        Err(Error::Invalid { what }) => {
            assert!(what.contains("no type holds both") && what.contains("1.parquet"), "{what}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(dataset.files().len(), rows.len());
    Some(dataset.schema().field(0).data_type().clone())
}

#[test]
fn the_first_file_sets_the_columns_and_the_others_have_to_have_them() {
    let a = || vec![("x", int64([1])), ("s", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)];
    let swapped = || a().into_iter().rev().collect::<Vec<_>>();
    let (_guard, dataset) = of(vec![a(), swapped()], false).unwrap();
    let expected = ["x|s", "1|a", "1|a"];
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), expected);

    let int32 = Arc::new(Int32Array::from(vec![1])) as ArrayRef;
    for (second, expected) in [
        (vec![("x", int64([1]))], "there is no column \"s\""),
        ([a(), vec![("y", int64([1]))]].concat(), "there is a column \"y\""),
        ([vec![("x", int32)], a().split_off(1)].concat(), "column \"x\" is Int32 here and Int64 there"),
    ] {
        let (_guard, dataset) = of(vec![a(), second], false).unwrap();
        let error = read(&dataset, None, Strings::Views).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("1.parquet: ") && error.contains("0.parquet"), "{error}");
        let shared = if expected.contains("\"x\"") { "s" } else { "x" };
        assert_eq!(read(&dataset, Some(&[shared]), Strings::Views).unwrap().len(), 2);
    }
}

#[test]
fn a_field_of_a_struct_that_the_first_file_lacks_is_not_left_out() {
    let structs = |names: &[&str]| {
        let fields = names.iter().map(|&name| (Arc::new(Field::new(name, DataType::Int64, true)), int64([1])));
        Arc::new(StructArray::from(fields.collect::<Vec<_>>())) as ArrayRef
    };
    let list = |array: ArrayRef| {
        let field = Arc::new(Field::new("element", array.data_type().clone(), true));
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([1]), array, None)) as ArrayRef
    };
    for is_list in [false, true] {
        let wrap = |array: ArrayRef| if is_list { list(array) } else { array };
        let file = |names: &[&str]| vec![("x", int64([1])), ("s", wrap(structs(names)))];
        let (_guard, dataset) = of(vec![file(&["a"]), file(&["b", "a"])], false).unwrap();
        for columns in [None, Some(&["s"][..])] {
            let error = read(&dataset, columns, Strings::Views).unwrap_err().to_string();
            assert!(error.contains("1.parquet: there is a field \"s.b\", unlike in "), "{error}");
        }
        assert_eq!(read(&dataset, Some(&["x"]), Strings::Views).unwrap().len(), 2);
        let field = if is_list { "s.element.a" } else { "s.a" };
        let batches = read(&dataset, Some(&[field]), Strings::Views).unwrap();
        assert_eq!(batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), 2);
    }
    // Fields that are chosen may be fewer.
    let file = |names: &[&str]| vec![("s", structs(names))];
    let (_guard, dataset) = of(vec![file(&["a", "b"]), file(&["b", "a", "c"])], false).unwrap();
    assert_eq!(read(&dataset, Some(&["s.b"]), Strings::Views).unwrap().len(), 2);
}

#[test]
fn united_files_have_nulls_for_what_they_lack() {
    let files = vec![
        vec![("a", int64([1, 2])), ("b", Arc::new(Int16Array::from(vec![Some(1), None])) as ArrayRef)],
        vec![("c", Arc::new(StringArray::from(vec!["x"])) as ArrayRef), ("b", Arc::new(Int8Array::from(vec![-5])))],
    ];
    let (_guard, dataset) = of(files, true).unwrap();
    for strings in [Strings::Views, Strings::Offsets] {
        let expected = ["a|b|c", "1|1|", "2||", "|-5|x"];
        assert_eq!(table(&read(&dataset, None, strings).unwrap()), expected);
    }
    let expected = ["c|a", "|1", "|2", "x|"];
    assert_eq!(table(&read(&dataset, Some(&["c", "a"]), Strings::Views).unwrap()), expected);
    let error = read(&dataset, Some(&["d"]), Strings::Views).unwrap_err();
    assert!(error.to_string().contains("no column 'd'; the files have 'a', 'b', 'c'"), "{error}");
}

#[test]
fn structs_and_lists_are_united_within() {
    let field = |name: &str, data_type: DataType| Arc::new(Field::new(name, data_type, true));
    let int32 = |value: i32| Arc::new(Int32Array::from(vec![value])) as ArrayRef;
    let first =
        StructArray::from(vec![(field("p", DataType::Int32), int32(1)), (field("q", DataType::Int32), int32(2))]);
    let second =
        StructArray::from(vec![(field("r", DataType::Int64), int64([3])), (field("p", DataType::Int64), int64([4]))]);
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(7), None])]);
    let wide = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>([Some([Some(1 << 40)])]);
    let files = vec![
        vec![("s", Arc::new(first) as ArrayRef), ("l", Arc::new(list) as ArrayRef)],
        vec![("s", Arc::new(second) as ArrayRef), ("l", Arc::new(wide) as ArrayRef)],
    ];
    let (_guard, dataset) = of(files, true).unwrap();
    let expected = ["s|l", "{p: 1, q: 2, r: }|[7, ]", "{p: 4, q: , r: 3}|[1099511627776]"];
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), expected);
    let expected = ["s", "{q: 2, r: }", "{q: , r: 3}"];
    let cut = read(&dataset, Some(&["s.r", "s.q"]), Strings::Views).unwrap();
    assert_eq!(table(&cut), expected);
    // A file that has none of the fields asked for still says where the struct is null.
    let only_r = read(&dataset, Some(&["s.r"]), Strings::Views).unwrap();
    assert_eq!(only_r[0].column(0).null_count(), 0);
    assert_eq!(
        read(&dataset, Some(&["l.item"]), Strings::Views)
            .or_else(|_| read(&dataset, Some(&["l.element"]), Strings::Views))
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn types_widen_where_no_value_is_lost() {
    let i32s = || Arc::new(Int32Array::from(vec![i32::MIN, 7])) as ArrayRef;
    let i8s = || Arc::new(Int8Array::from(vec![-1])) as ArrayRef;
    let u64s = || Arc::new(UInt64Array::from(vec![u64::MAX])) as ArrayRef;
    let f32s = || Arc::new(Float32Array::from(vec![0.5])) as ArrayRef;
    let f64s = || Arc::new(Float64Array::from(vec![0.1])) as ArrayRef;
    let decimals = |precision, scale| {
        Arc::new(Decimal128Array::from(vec![12]).with_precision_and_scale(precision, scale).unwrap()) as ArrayRef
    };
    let millis = || Arc::new(TimestampMillisecondArray::from(vec![5])) as ArrayRef;
    let nanos = || Arc::new(TimestampNanosecondArray::from(vec![5])) as ArrayRef;
    let zoned = |zone: &str| Arc::new(TimestampMillisecondArray::from(vec![5]).with_timezone(zone)) as ArrayRef;
    let text = || Arc::new(StringArray::from(vec!["x"])) as ArrayRef;
    for (first, second, expected) in [
        (i32s(), int64([1]), Some(DataType::Int64)),
        (i8s(), u64s(), Some(DataType::Decimal128(20, 0))),
        (i8s(), f32s(), Some(DataType::Float32)),
        (i32s(), f32s(), Some(DataType::Float64)),
        (int64([1]), f64s(), None),
        (f32s(), f64s(), Some(DataType::Float64)),
        (decimals(9, 2), decimals(12, 5), Some(DataType::Decimal128(12, 5))),
        (decimals(38, 0), decimals(38, 10), Some(DataType::Decimal256(48, 10))),
        (i32s(), decimals(9, 2), Some(DataType::Decimal128(12, 2))),
        (millis(), nanos(), Some(DataType::Timestamp(TimeUnit::Nanosecond, None))),
        (zoned("UTC"), zoned("+01:00"), Some(DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())))),
        (millis(), zoned("UTC"), None),
        (Arc::new(NullArray::new(2)), text(), Some(DataType::Utf8View)),
        (text(), i32s(), None),
    ] {
        for (first, second) in [(&first, &second), (&second, &first)] {
            assert_eq!(
                united(first.clone(), second.clone()),
                expected,
                "{} and {}",
                first.data_type(),
                second.data_type()
            );
        }
    }
}

#[test]
fn widened_values_are_the_same_values() {
    let files = vec![
        vec![
            ("d", Arc::new(Decimal128Array::from(vec![-125]).with_precision_and_scale(5, 2).unwrap()) as ArrayRef),
            ("t", Arc::new(TimestampMillisecondArray::from(vec![1_500])) as ArrayRef),
            ("u", Arc::new(UInt64Array::from(vec![u64::MAX])) as ArrayRef),
            ("n", Arc::new(NullArray::new(1)) as ArrayRef),
        ],
        vec![
            ("d", Arc::new(Int32Array::from(vec![i32::MIN])) as ArrayRef),
            ("t", Arc::new(TimestampNanosecondArray::from(vec![1_000_000_001])) as ArrayRef),
            ("u", int64([-1])),
            ("n", int64([9])),
        ],
    ];
    let (_guard, dataset) = of(files, true).unwrap();
    let expected = [
        "d|t|u|n",
        "-1.25|1970-01-01T00:00:01.500|18446744073709551615|",
        "-2147483648.00|1970-01-01T00:00:01.000000001|-1|9",
    ];
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), expected);
}

#[test]
fn a_value_that_the_wider_unit_cannot_hold_is_an_error_and_no_wrong_value() {
    let files = vec![
        vec![("t", Arc::new(TimestampMillisecondArray::from(vec![i64::MAX / 1000])) as ArrayRef)],
        vec![("t", Arc::new(TimestampNanosecondArray::from(vec![1])) as ArrayRef)],
    ];
    let (_guard, dataset) = of(files, true).unwrap();
    let error = read(&dataset, None, Strings::Views).unwrap_err().to_string();
    assert!(error.contains("column \"t\"") && error.contains("does not fit"), "{error}");
}

#[test]
fn open_files_are_a_dataset_too() {
    let (_guard, dataset) = of(vec![vec![("x", int64([1]))], vec![("x", int64([2]))]], false).unwrap();
    let open: Vec<_> = dataset.files().iter().map(|file| file.open().unwrap()).collect();
    let dataset = Dataset::of(open).unwrap();
    assert_eq!(read(&dataset, None, Strings::Views).unwrap().len(), 2);
    assert!(dataset.files()[1].location().ends_with("1.parquet") && dataset.files()[1].path().is_none());
}

/// Lists of two rows as several writers have them: with 32-bit or 64-bit offsets, or views, of text in several layouts.
fn lists() -> Vec<ArrayRef> {
    let texts: [ArrayRef; 3] = [
        Arc::new(StringArray::from(vec!["x", "y", "z"])),
        Arc::new(LargeStringArray::from(vec!["x", "y", "z"])),
        Arc::new(StringViewArray::from(vec!["x", "y", "z"])),
    ];
    let mut lists = Vec::new();
    for (values, name) in texts.into_iter().zip(["element", "item", "element"]) {
        let field = Arc::new(Field::new(name, values.data_type().clone(), true));
        let (small, large) = (OffsetBuffer::new(vec![0, 1, 3].into()), OffsetBuffer::new(vec![0i64, 1, 3].into()));
        lists.push(Arc::new(ListArray::new(Arc::clone(&field), small, Arc::clone(&values), None)) as ArrayRef);
        lists.push(Arc::new(LargeListArray::new(Arc::clone(&field), large, Arc::clone(&values), None)));
        let (offsets, sizes) = (vec![0, 1].into(), vec![1, 2].into());
        lists.push(Arc::new(ListViewArray::new(field, offsets, sizes, values, None)));
    }
    lists
}

#[test]
fn lists_of_any_layout_are_read_together() {
    let all = lists();
    let expected = ["c", "[x]", "[y, z]", "[x]", "[y, z]"];
    for (first, second) in all.iter().flat_map(|first| all.iter().map(move |second| (first, second))) {
        for unites in [false, true] {
            let files = vec![vec![("c", Arc::clone(first))], vec![("c", Arc::clone(second))]];
            let (_guard, dataset) = of(files, unites).unwrap();
            let context = || format!("{} beside {}", first.data_type(), second.data_type());
            let batches = read(&dataset, None, Strings::Views).unwrap_or_else(|error| panic!("{}: {error}", context()));
            assert_eq!(table(&batches), expected, "{}", context());
        }
    }
    let codes: DictionaryArray<Int32Type> = ["x", "y"].into_iter().collect();
    let plain = Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef;
    let (_guard, dataset) = of(vec![vec![("c", Arc::new(codes) as ArrayRef)], vec![("c", plain)]], false).unwrap();
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), ["c", "x", "y", "x", "y"]);
}

#[test]
fn files_have_as_many_columns_of_one_name() {
    let columns = |names: &[&'static str]| {
        names.iter().zip(1..).map(|(&name, value)| (name, int64([value]))).collect::<Columns>()
    };
    let (_guard, dataset) = of(vec![columns(&["a", "a", "b"]), columns(&["b", "a", "a"])], false).unwrap();
    let expected = ["a|a|b", "1|2|3", "2|3|1"];
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), expected);
    for (first, second, expected) in [
        (["a", "a", "b"].as_slice(), ["a", "b"].as_slice(), "there are fewer columns \"a\""),
        (&["a", "b"], &["a", "a", "b"], "there is another column \"a\""),
    ] {
        let (_guard, dataset) = of(vec![columns(first), columns(second)], false).unwrap();
        let error = read(&dataset, None, Strings::Views).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
