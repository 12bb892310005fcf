use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Int32Array, LargeListViewArray, ListArray, ListViewArray, NullArray, RunArray, StringArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use lath_testkit::{Seeded, random};
use parquet::arrow::ArrowSchemaConverter;

use super::{StripedLeaf, stripe};

/// The entries of one leaf: levels, and the slot's value as an array of one.
#[derive(Default)]
struct Leaf {
    entries: Vec<(u8, u8)>,
    slots: Vec<ArrayRef>,
}

/// Dremel's record shredding, one value at a time.
struct Shredder {
    leaves: Vec<Leaf>,
    next_leaf: usize,
}

/// State of the recursion.
#[derive(Clone, Copy)]
struct At {
    rep: u8,
    def: u8,
    /// Definition level of the innermost list's elements.
    element: u8,
    depth: u8,
    /// Whether nothing above is null or empty.
    alive: bool,
}

impl Shredder {
    fn shred(&mut self, field: &Field, array: &ArrayRef, row: usize, mut at: At) {
        if at.alive {
            if array.is_null(row) || array.data_type() == &DataType::Null {
                at.alive = false;
            } else {
                at.def += u8::from(field.is_nullable());
            }
        }
        match array.data_type() {
            DataType::Struct(fields) => {
                for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                    self.shred(field, column, row, at);
                }
            }
            DataType::Map(entries, _) => self.list(entries, array, row, at),
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item)
            | DataType::LargeListView(item) => self.list(item, array, row, at),
            _ => {
                let index = self.next_leaf;
                self.next_leaf += 1;
                if self.leaves.len() <= index {
                    self.leaves.push(Leaf::default());
                }
                self.leaves[index].entries.push((at.rep, at.def));
                if at.def >= at.element {
                    self.leaves[index].slots.push(array.slice(row, 1));
                }
            }
        }
    }

    fn list(&mut self, item: &Field, array: &ArrayRef, row: usize, at: At) {
        let elements: ArrayRef = match array.data_type() {
            _ if !at.alive => return self.skip(item, at),
            DataType::List(_) => array.as_list::<i32>().value(row),
            DataType::LargeList(_) => array.as_list::<i64>().value(row),
            DataType::FixedSizeList(..) => array.as_fixed_size_list().value(row),
            DataType::ListView(_) => array.as_list_view::<i32>().value(row),
            DataType::LargeListView(_) => array.as_list_view::<i64>().value(row),
            _ => Arc::new(array.as_map().value(row)),
        };
        let first = self.next_leaf;
        let depth = at.depth + 1;
        for i in 0..elements.len() {
            self.next_leaf = first;
            let rep = if i == 0 { at.rep } else { depth };
            self.shred(item, &elements, i, At { rep, def: at.def + 1, element: at.def + 1, depth, alive: true });
        }
        if elements.is_empty() {
            self.skip(item, at);
        }
    }

    /// Every leaf below a null or empty list gets an entry that ends here.
    fn skip(&mut self, item: &Field, at: At) {
        for _ in 0..leaf_count(item.data_type()) {
            let index = self.next_leaf;
            self.next_leaf += 1;
            if self.leaves.len() <= index {
                self.leaves.push(Leaf::default());
            }
            self.leaves[index].entries.push((at.rep, at.def));
        }
    }
}

fn leaf_count(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaf_count(field.data_type())).sum(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::Map(item, _) => leaf_count(item.data_type()),
        _ => 1,
    }
}

fn shredded(field: &Field, array: &ArrayRef) -> Vec<Leaf> {
    let leaves = (0..leaf_count(field.data_type())).map(|_| Leaf::default()).collect();
    let mut shredder = Shredder { leaves, next_leaf: 0 };
    for row in 0..array.len() {
        shredder.next_leaf = 0;
        shredder.shred(field, array, row, At { rep: 0, def: 0, element: 0, depth: 0, alive: true });
    }
    shredder.leaves
}

/// Compares stripes with the shredder, and the maximum levels with the levels of the `parquet` crate's schema.
fn check(field: &Field, array: &ArrayRef) -> Vec<StripedLeaf> {
    let mut striped = Vec::new();
    stripe(field, array, &mut striped).unwrap();
    let descr = ArrowSchemaConverter::new().convert(&Schema::new(vec![field.clone()])).unwrap();
    let expected = shredded(field, array);
    assert_eq!(striped.len(), descr.num_columns());
    for (i, (striped, expected)) in striped.iter().zip(&expected).enumerate() {
        let (max_def, max_rep) = (descr.column(i).max_def_level() as u8, descr.column(i).max_rep_level() as u8);
        let (rep, def): (Vec<u8>, Vec<u8>) = expected.entries.iter().copied().unzip();
        assert_eq!(striped.rows, array.len());
        assert_eq!(striped.rep_levels.is_some(), max_rep > 0, "{field:?}");
        assert_eq!(striped.rep_levels.clone().unwrap_or(vec![0; array.len()]), rep, "leaf {i} of {field:?}");
        if max_rep > 0 {
            assert!(striped.def_levels.is_some());
        }
        assert_eq!(striped.def_levels.clone().unwrap_or(vec![max_def; array.len()]), def, "leaf {i} of {field:?}");
        assert_eq!(striped.values.len(), expected.slots.len(), "leaf {i} of {field:?}");
        let slot_count = striped.values.len();
        let present = striped.present.clone().unwrap_or(NullBuffer::new_valid(slot_count));
        assert_eq!(present.len(), slot_count);
        let present_levels = def.iter().filter(|&&level| level == max_def).count();
        assert_eq!(slot_count - present.null_count(), present_levels, "leaf {i} of {field:?}");
        for (slot, value) in expected.slots.iter().enumerate() {
            if present.is_valid(slot) {
                assert_eq!(&striped.values.slice(slot, 1), value, "slot {slot} of leaf {i} of {field:?}");
            }
        }
    }
    striped
}

#[test]
fn random_nesting_is_shredded_as_dremel_has_it() {
    let mut random = Seeded::new("random_nesting_is_shredded_as_dremel_has_it");
    for _ in 0..300 {
        let schema = random::schema(&mut random, random::SchemaShape { fields: 2, depth: 5 });
        for field in schema.fields() {
            let len = random.usize(..200);
            let array = random::array(&mut random, field, len);
            check(field, &array);
            let start = random.usize(..=len);
            let slice = array.slice(start, random.usize(..=len - start));
            check(field, &slice);
        }
    }
}

#[test]
fn flat_columns_without_nulls_are_passed_on_as_they_are() {
    let array: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
    for nullable in [false, true] {
        let striped = check(&Field::new("c", DataType::Int32, nullable), &array);
        assert!(striped[0].def_levels.is_none() && striped[0].present.is_none());
        assert!(Arc::ptr_eq(&striped[0].values, &array));
    }
}

#[test]
fn elements_of_lists_without_gaps_are_not_copied() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)]), None, Some(vec![])]);
    let elements = list.values().as_primitive::<Int32Type>().values().as_ptr();
    let array: ArrayRef = Arc::new(list);
    let striped = check(&Field::new("c", array.data_type().clone(), true), &array);
    assert_eq!(striped[0].values.as_primitive::<Int32Type>().values().as_ptr(), elements);
}

#[test]
fn views_of_lists_may_overlap_go_backwards_and_be_null() {
    let mut random = Seeded::new("views_of_lists_may_overlap_go_backwards_and_be_null");
    for _ in 0..100 {
        let item = Arc::new(Field::new("item", DataType::Utf8, true));
        let values: ArrayRef =
            Arc::new(StringArray::from_iter((0..60).map(|i| (i % 7 > 0).then(|| format!("value {i}")))));
        let longest = [3, 50][random.usize(..2)];
        let ranges: Vec<(i32, i32)> = (0..random.usize(..40))
            .map(|_| {
                let size = random.i32(0..=longest);
                (random.i32(0..=60 - size), size)
            })
            .collect();
        let nulls = NullBuffer::from_iter(ranges.iter().map(|_| random.u8(..4) > 0));
        let offsets: ScalarBuffer<i32> = ranges.iter().map(|range| range.0).collect();
        let sizes: ScalarBuffer<i32> = ranges.iter().map(|range| range.1).collect();
        let view = ListViewArray::new(item.clone(), offsets, sizes, values.clone(), Some(nulls.clone()));
        let array: ArrayRef = Arc::new(view);
        check(&Field::new("c", array.data_type().clone(), true), &array);

        let offsets: ScalarBuffer<i64> = ranges.iter().map(|range| range.0.into()).collect();
        let sizes: ScalarBuffer<i64> = ranges.iter().map(|range| range.1.into()).collect();
        let large: ArrayRef = Arc::new(LargeListViewArray::new(item, offsets, sizes, values, Some(nulls)));
        check(&Field::new("c", large.data_type().clone(), true), &large);
        // Lists of views of lists, null or not.
        let count = ranges.len();
        let lengths = [count / 3, 0, count - count / 3];
        let inner = Arc::new(Field::new("inner", large.data_type().clone(), true));
        let nulls = NullBuffer::from(vec![random.bool(), random.bool(), random.bool()]);
        let outer: ArrayRef =
            Arc::new(ListArray::new(inner, OffsetBuffer::from_lengths(lengths), large.slice(0, count), Some(nulls)));
        check(&Field::new("c", outer.data_type().clone(), true), &outer);
    }
}

#[test]
fn runs_are_expanded_also_within_lists() {
    let runs = |len: usize| -> ArrayRef {
        let ends = Int32Array::from(vec![2, 5, 9]);
        let array = RunArray::try_new(&ends, &StringArray::from(vec![Some("a"), None, Some("c")])).unwrap();
        Arc::new(array.slice(1, len))
    };
    let mut leaves = Vec::new();
    let array = runs(8);
    stripe(&Field::new("c", array.data_type().clone(), true), &array, &mut leaves).unwrap();
    let expected = StringArray::from(vec![Some("a"), None, None, None, Some("c"), Some("c"), Some("c"), Some("c")]);
    assert_eq!(leaves[0].values.as_string::<i32>(), &expected);
    assert_eq!(leaves[0].def_levels, Some(vec![1, 0, 0, 0, 1, 1, 1, 1]));

    let item = Arc::new(Field::new("item", array.data_type().clone(), true));
    let list: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([1, 0, 3]), runs(4), None));
    leaves.clear();
    stripe(&Field::new("c", list.data_type().clone(), false), &list, &mut leaves).unwrap();
    assert_eq!(leaves[0].def_levels, Some(vec![2, 0, 1, 1, 1]));
    assert_eq!(leaves[0].rep_levels, Some(vec![0, 0, 0, 1, 1]));
}

#[test]
fn nulls_of_columns_that_are_not_nullable_are_refused() {
    let refuse = |field: &Field, array: ArrayRef| {
        let error = stripe(field, &array, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("is not nullable"), "{error}");
    };
    refuse(&Field::new("c", DataType::Int32, false), Arc::new(Int32Array::from(vec![Some(1), None])));
    refuse(&Field::new("c", DataType::Null, false), Arc::new(NullArray::new(1)));

    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    let item = Arc::new(Field::new("item", DataType::Int32, false));
    refuse(&Field::new("c", DataType::List(item), true), Arc::new(list));
}

#[test]
fn nulls_that_a_struct_above_explains_are_none_of_the_child() {
    let child: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, false)]);
    let valid = NullBuffer::from(vec![true, false, true]);
    let array: ArrayRef = Arc::new(StructArray::new(fields.clone(), vec![child], Some(valid)));
    let striped = check(&Field::new("c", DataType::Struct(fields), true), &array);
    assert_eq!(striped[0].def_levels, Some(vec![1, 0, 1]));
}

#[test]
fn arrays_of_other_types_than_the_schema_has_are_refused() {
    let array: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let list = DataType::new_list(DataType::Int32, true);
    for data_type in [DataType::Int64, list, DataType::Struct(Fields::empty())] {
        let error = stripe(&Field::new("c", data_type, true), &array, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("expected"), "{error}");
    }
}
