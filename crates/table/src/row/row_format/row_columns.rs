//! Cuts some columns out of encoded rows.
//!
//! Arrow's row format stores the columns one after the other (see `docs/formats/table.md`), so the bytes of some columns are a valid row of
//! these columns.
//!
//! Measured per row of 8,192 rows of five columns (Int64, a text of 8 bytes, Float64, Int32, a text of 50 bytes), arrow-row 59.3, release build:
//!
//! | column | cut out and decoded | whole row decoded by arrow-row |
//! | --- | --- | --- |
//! | the first, Int64 | 13 ns | 53 ns |
//! | the fourth, Int32 | 17 ns | 49 ns |
//! | the last, text | 34 ns | 56 ns |

use arrow_schema::DataType;

use super::one_row::skip_bytes;

/// Takes the bytes of some columns out of encoded rows.
#[derive(Debug)]
pub(crate) struct RowColumns {
    /// The columns up to the last one that is taken, and whether each is.
    columns: Vec<(Width, bool)>,
}

/// Width of a column in a row.
#[derive(Debug, Clone, Copy)]
enum Width {
    Fixed(usize),
    /// As the row says.
    Bytes,
}

impl RowColumns {
    /// The columns of `types` for which `is_taken` is true; `None` if the width of one of them, or of one before, is not known.
    pub(crate) fn new<'t>(types: impl IntoIterator<Item = &'t DataType>, is_taken: &[bool]) -> Option<Self> {
        let count = is_taken.iter().rposition(|&taken| taken).map_or(0, |last| last + 1);
        let columns = types.into_iter().zip(is_taken).take(count);
        Some(Self { columns: columns.map(|(own, &taken)| Some((column_width(own)?, taken))).collect::<Option<_>>()? })
    }

    /// Adds the bytes of the columns to `taken`; `None` if the row is malformed.
    pub(crate) fn take(&self, mut row: &[u8], taken: &mut Vec<u8>) -> Option<()> {
        for &(width, is_taken) in &self.columns {
            let rest = match width {
                Width::Fixed(len) => row.get(len..)?,
                Width::Bytes => skip_bytes(row)?,
            };
            if is_taken {
                taken.extend_from_slice(&row[..row.len() - rest.len()]);
            }
            row = rest;
        }
        Some(())
    }
}

/// Width of values of a type with the byte that says whether they are null; `None` for nested types.
fn column_width(data_type: &DataType) -> Option<Width> {
    Some(match data_type {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => Width::Bytes,
        DataType::Boolean => Width::Fixed(2),
        DataType::FixedSizeBinary(len) => Width::Fixed(1 + usize::try_from(*len).ok()?),
        // Values are in the row, not their keys.
        DataType::Dictionary(_, values) => column_width(values)?,
        other => Width::Fixed(1 + other.primitive_width()?),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Arc;

    use arrow_array::builder::{Int32Builder, ListBuilder, StringDictionaryBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{
        Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, DurationSecondArray,
        FixedSizeBinaryArray, Float64Array, Int8Array, Int64Array, IntervalMonthDayNanoArray, LargeBinaryArray,
        NullArray, StringArray, StringViewArray, TimestampMicrosecondArray,
    };
    use arrow_row::{RowConverter, Rows, SortField};

    use super::*;

    const ROWS: usize = 4;

    fn arrays() -> Vec<ArrayRef> {
        let long = "long enough for blocks of both lengths, the short ones and the long ones, and then some".repeat(3);
        let texts = [Some(""), None, Some("eight by"), Some(&long)];
        let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
        texts.iter().for_each(|text| dictionary.append_option(*text));
        let bytes = texts.map(|text| text.map(str::as_bytes));
        let fixed = [Some([1, 2, 3]), None, Some([0, 0, 0]), Some([255, 0, 1])];
        vec![
            Arc::new(StringArray::from(texts.to_vec())),
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(0), Some(7)])),
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)])),
            Arc::new(StringViewArray::from(texts.to_vec())),
            Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(f64::NAN), Some(1.5)])),
            Arc::new(dictionary.finish()),
            Arc::new(Int8Array::from(vec![Some(-1), None, Some(0), Some(7)])),
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.into_iter(), 3).unwrap()),
            Arc::new(Decimal128Array::from(vec![Some(1), None, Some(-1), Some(1 << 80)])),
            Arc::new(LargeBinaryArray::from_iter(bytes)),
            Arc::new(IntervalMonthDayNanoArray::from(vec![None; ROWS])),
            Arc::new(TimestampMicrosecondArray::from(vec![1; ROWS]).with_timezone("Europe/Oslo")),
            Arc::new(DurationSecondArray::from(vec![1; ROWS])),
            Arc::new(BinaryViewArray::from_iter(bytes)),
            Arc::new(Date32Array::from(vec![1; ROWS])),
        ]
    }

    fn encode(arrays: &[ArrayRef]) -> Rows {
        let sort = arrays.iter().map(|array| SortField::new(array.data_type().clone())).collect();
        RowConverter::new(sort).unwrap().convert_columns(arrays).unwrap()
    }

    #[test]
    fn what_is_taken_is_the_row_of_these_columns_alone() {
        let all = arrays();
        let encoded = encode(&all);
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..500 {
            let share = random.f64();
            let is_taken: Vec<bool> = all.iter().map(|_| random.f64() < share).collect();
            let columns = RowColumns::new(all.iter().map(Array::data_type), &is_taken).unwrap();
            let some: Vec<ArrayRef> =
                all.iter().zip(&is_taken).filter(|(_, taken)| **taken).map(|(array, _)| Arc::clone(array)).collect();
            let expected = (!some.is_empty()).then(|| encode(&some));
            for row in 0..ROWS {
                let mut taken = Vec::new();
                columns.take(encoded.row(row).data(), &mut taken).unwrap();
                let expected = expected.as_ref().map(|expected| expected.row(row).data().to_vec());
                assert_eq!(taken, expected.unwrap_or_default(), "{is_taken:?}");
            }
        }
    }

    #[test]
    fn a_row_that_ends_early_is_malformed() {
        let all = arrays();
        let encoded = encode(&all);
        let columns = RowColumns::new(all.iter().map(Array::data_type), &vec![true; all.len()]).unwrap();
        for row in 0..ROWS {
            let row = encoded.row(row).data();
            assert!((0..row.len()).all(|len| columns.take(&row[..len], &mut Vec::new()).is_none()));
        }
    }

    #[test]
    fn columns_behind_one_with_others_within_are_not_taken() {
        let mut list = ListBuilder::new(Int32Builder::new());
        list.append_value([Some(1)]);
        let (list, number, nothing) = (list.finish(), Int64Array::from(vec![1]), NullArray::new(1));
        let types = [number.data_type(), list.data_type(), number.data_type()];
        assert!(RowColumns::new(types, &[true, false, false]).is_some());
        assert!(RowColumns::new(types, &[false, true, false]).is_none());
        assert!(RowColumns::new(types, &[false, false, true]).is_none());
        assert!(RowColumns::new([nothing.data_type(), number.data_type()], &[false, true]).is_none());
    }
}
