use std::panic::catch_unwind;
use std::sync::Arc;

use lath_testkit::Seeded;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema, parquet_to_arrow_schema_by_columns};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::{as_of_crate, build, leaves, offsets};
use crate::schema::{NodeKind, Projection};

fn repetition(random: &mut Seeded) -> Repetition {
    let all = [Repetition::REQUIRED, Repetition::OPTIONAL, Repetition::REPEATED];
    all[random.usize(..all.len())]
}

/// A primitive or a group, with valid and invalid annotations. `names` counts the types, if no two of them may have the same
/// name.
fn any_type(random: &mut Seeded, names: &mut Option<usize>, depth: usize, repetition: Repetition) -> TypePtr {
    let name = match names {
        None => ["a", "b", "list", "array", "a_tuple", "key_value", "x.y"][random.usize(..7)].to_owned(),
        Some(count) => {
            *count += 1;
            format!("n{count}")
        }
    };
    if depth == 0 || random.u8(..3) == 0 {
        return primitive(random, &name, repetition);
    }
    let annotations = [
        ConvertedType::NONE,
        ConvertedType::LIST,
        ConvertedType::LIST,
        ConvertedType::MAP,
        ConvertedType::MAP_KEY_VALUE,
    ];
    let annotation = annotations[random.usize(..annotations.len())];
    let is_nesting = annotation != ConvertedType::NONE;
    let count = if is_nesting && random.u8(..4) > 0 { 1 } else { random.usize(..4) };
    let fields = (0..count)
        .map(|_| {
            let repetition =
                if is_nesting && random.u8(..5) > 0 { Repetition::REPEATED } else { self::repetition(random) };
            any_type(random, names, depth - 1, repetition)
        })
        .collect();
    let builder = Type::group_type_builder(&name).with_repetition(repetition).with_fields(fields);
    let builder = if annotation == ConvertedType::NONE && random.u8(..10) == 0 {
        builder.with_logical_type(Some(LogicalType::variant(None)))
    } else {
        builder.with_converted_type(annotation)
    };
    Arc::new(builder.build().unwrap())
}

fn primitive(random: &mut Seeded, name: &str, repetition: Repetition) -> TypePtr {
    let (physical, logical, length) = match random.u8(..8) {
        0 => (PhysicalType::INT32, Some(LogicalType::Date), -1),
        1 => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String), -1),
        2 => (PhysicalType::BYTE_ARRAY, Some(LogicalType::Json), -1),
        3 => (PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid), 16),
        4 => (PhysicalType::INT64, Some(LogicalType::_Unknown { field_id: 77 }), -1),
        5 => (PhysicalType::DOUBLE, Some(LogicalType::Unknown), -1),
        6 => (PhysicalType::INT96, None, -1),
        _ => (PhysicalType::BOOLEAN, None, -1),
    };
    let builder = Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_length(length)
        .with_id((random.u8(..3) == 0).then_some(5));
    Arc::new(builder.build().unwrap())
}

fn any_schema(random: &mut Seeded, mut names: Option<usize>) -> SchemaDescriptor {
    let fields = (0..random.usize(..4))
        .map(|_| {
            let repetition = repetition(random);
            any_type(random, &mut names, 5, repetition)
        })
        .collect();
    SchemaDescriptor::new(Arc::new(Type::group_type_builder("m").with_fields(fields).build().unwrap()))
}

/// Whether there is a list whose repeated group has one repeated child: there, the `parquet` crate does not follow the
/// specification.
fn has_list_by_the_third_rule(ty: &Type) -> bool {
    let is_repeated =
        |ty: &Type| ty.get_basic_info().has_repetition() && ty.get_basic_info().repetition() == Repetition::REPEATED;
    if ty.is_primitive() {
        return false;
    }
    if ty.get_basic_info().converted_type() == ConvertedType::LIST
        && let [child] = ty.get_fields()
        && child.is_group()
        && let [grandchild] = child.get_fields()
        && is_repeated(child)
        && is_repeated(grandchild)
    {
        return true;
    }
    ty.get_fields().iter().any(|child| has_list_by_the_third_rule(child))
}

#[test]
fn every_schema_is_read_and_as_the_parquet_crate_reads_it_where_it_can() {
    let mut random = Seeded::new("every schema is read");
    let mut agreed = 0;
    for _ in 0..3000 {
        let descr = any_schema(&mut random, None);
        let (schema, nodes) =
            build(&descr, None, &offsets(), None).unwrap_or_else(|error| panic!("{error}: {:#?}", descr.root_schema()));
        for leaf in leaves(&nodes) {
            let NodeKind::Leaf(leaf) = &leaf.kind else { unreachable!() };
            let column = descr.column(leaf.column);
            assert_eq!(column.max_def_level(), i16::from(leaf.max_def_level));
            assert_eq!(column.max_rep_level(), i16::from(leaf.max_rep_level));
        }
        if has_list_by_the_third_rule(descr.root_schema()) {
            continue;
        }
        // The crate fails, or panics, on an invalid annotation.
        if let Ok(Ok(expected)) = catch_unwind(|| parquet_to_arrow_schema(&descr, None)) {
            assert_eq!(as_of_crate(&schema), expected, "{:#?}", descr.root_schema());
            agreed += 1;
        }
    }
    assert!(agreed > 500, "the crate read {agreed} schemas");
}

#[test]
fn choosing_any_leaves_prunes_as_the_parquet_crate_does_outside_of_maps() {
    let mut random = Seeded::new("choosing any leaves");
    let mut compared = 0;
    for _ in 0..2000 {
        let descr = any_schema(&mut random, Some(0));
        let paths: Vec<String> = descr.columns().iter().map(|column| column.path().string()).collect();
        let chosen: Vec<String> = paths.into_iter().filter(|_| random.bool()).collect();
        let projection = Projection::from_paths(chosen.clone());
        let Ok((schema, _)) = build(&descr, None, &offsets(), Some(&projection)) else {
            // A leaf whose sibling has no leaves cannot be selected in a map.
            continue;
        };
        let indices: Vec<usize> =
            (0..descr.num_columns()).filter(|&i| chosen.contains(&descr.column(i).path().string())).collect();
        let has_maps = format!("{:?}", descr.root_schema()).contains("MAP");
        // The crate leaves the extension type on a struct that lost a field.
        let has_extensions = format!("{:?}", descr.root_schema()).contains("Variant");
        if has_maps || has_extensions || has_list_by_the_third_rule(descr.root_schema()) {
            continue;
        }
        let mask = ProjectionMask::leaves(&descr, indices);
        if let Ok(Ok(expected)) = catch_unwind(|| parquet_to_arrow_schema_by_columns(&descr, mask, None)) {
            assert_eq!(as_of_crate(&schema), expected, "{chosen:?} of {:#?}", descr.root_schema());
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared} compared");
}
