//! Every pair of values of two options, on a file with every type, required and optional, alone and in every kind of list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use lath_testkit::Seeded;
use lath_testkit::random::{leaf_type, record_batch};

use crate::check::check;
use crate::writing::{CHOICES, Choices};

/// Every leaf type of the generator.
fn leaf_types(random: &mut fastrand::Rng) -> Vec<DataType> {
    let types: BTreeMap<String, DataType> = (0..2_000)
        .map(|_| leaf_type(random))
        .map(|data_type| {
            // Among types with parameters, one for each physical type.
            let name = match &data_type {
                DataType::Decimal32(precision, _) => format!("decimal32 {}", precision > &1),
                DataType::Decimal64(precision, _) => format!("decimal64 {}", precision > &9),
                DataType::Decimal128(precision, _) | DataType::Decimal256(precision, _) => {
                    let name = data_type.to_string();
                    format!("{} {} {}", &name[..10], precision > &9, precision > &18)
                }
                DataType::Timestamp(unit, _) => format!("timestamp {unit:?}"),
                other => other.to_string(),
            };
            (name, data_type)
        })
        .collect();
    types.into_values().collect()
}

fn list(name: String, item: Field) -> DataType {
    let item: FieldRef = Arc::new(item.with_name(name));
    DataType::List(item)
}

/// Two columns of each type: one at the root, one nested.
fn schema(random: &mut fastrand::Rng) -> SchemaRef {
    let mut fields = Vec::new();
    for (i, leaf) in leaf_types(random).into_iter().enumerate() {
        let nullable = leaf == DataType::Null;
        let item = |nullable| Field::new("item", leaf.clone(), nullable);
        let of_one = DataType::Struct(Fields::from(vec![item(nullable)]));
        let nested = match i % 4 {
            0 => DataType::LargeList(Arc::new(Field::new("item", of_one, true))),
            1 => DataType::FixedSizeList(Arc::new(item(true)), 2),
            2 => list("outer".into(), Field::new("inner", list("item".into(), item(nullable)), true)),
            _ => DataType::Struct(Fields::from(vec![Field::new("inner", of_one, true)])),
        };
        fields.push(match random.bool() {
            true => Field::new(format!("required{i}"), leaf.clone(), nullable),
            false => Field::new(format!("optional{i}"), leaf.clone(), true),
        });
        fields.push(match random.u8(..3) {
            0 => Field::new(format!("list{i}"), list("item".into(), item(true)), true),
            _ => Field::new(format!("nested{i}"), nested, true),
        });
    }
    Arc::new(Schema::new(fields))
}

/// A pair of options, each with the index of a value.
type Pair = ((usize, usize), (usize, usize));

fn pairs(chosen: &[usize; CHOICES.len()]) -> impl Iterator<Item = Pair> {
    let chosen = *chosen;
    (0..chosen.len()).flat_map(move |a| (a + 1..chosen.len()).map(move |b| ((a, chosen[a]), (b, chosen[b]))))
}

/// Combinations in which every pair of values occurs.
fn combinations(random: &mut fastrand::Rng) -> Vec<[usize; CHOICES.len()]> {
    let mut missing: BTreeSet<Pair> = BTreeSet::new();
    for (a, &a_count) in CHOICES.iter().enumerate() {
        for (b, &b_count) in CHOICES.iter().enumerate().skip(a + 1) {
            missing.extend((0..a_count).flat_map(|x| (0..b_count).map(move |y| ((a, x), (b, y)))));
        }
    }
    let mut combinations = Vec::new();
    while let Some(&((a, x), (b, y))) = missing.first() {
        let candidates = (0..40).map(|_| {
            let mut chosen = CHOICES.map(|count| random.usize(..count));
            (chosen[a], chosen[b]) = (x, y);
            chosen
        });
        let best = candidates.max_by_key(|chosen| pairs(chosen).filter(|pair| missing.contains(pair)).count());
        let best = best.expect("there are candidates");
        missing.retain(|pair| pairs(&best).all(|other| other != *pair));
        combinations.push(best);
    }
    combinations
}

#[test]
fn every_pair_of_options_writes_every_type() {
    let mut random = Seeded::new("every_pair_of_options_writes_every_type");
    let schema = schema(&mut random);
    let combinations = combinations(&mut random);
    assert!(
        schema.fields().len() > 80 && combinations.len() >= 42,
        "{}, {}",
        schema.fields().len(),
        combinations.len()
    );
    let batches: Vec<RecordBatch> =
        [9, 0, 1, 12].into_iter().map(|len| record_batch(&mut random, &schema, len)).collect();
    for chosen in combinations {
        let options = Choices::new(chosen);
        check(&schema, &batches, &options).unwrap_or_else(|what| panic!("{what}\nwith {options:?}"));
    }
}
