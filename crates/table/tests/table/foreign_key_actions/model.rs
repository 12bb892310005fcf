//! Random statements on tables that refer to each other in several ways, against a model that knows which row refers to which.

use std::collections::BTreeMap;

use arrow_schema::DataType::{Int8, Int16, Int32, Int64, UInt8, UInt64};
use lath_table::ForeignKeyAction::{self, Cascade, NoAction, SetNull};
use lath_testkit::{Seeded, seed};

use super::tables::{Reference, Row, Rows, Shape, change, create, read};

const PARENTS: usize = 0;
const NODES: usize = 6;
const LEFT: usize = 7;
const RIGHT: usize = 8;

fn shapes() -> Vec<Shape> {
    let shape = |name, columns, key_len, unique| Shape { name, columns, key_len, unique };
    vec![
        shape("parents", vec![("id", Int64, false), ("u", Int64, true)], 1, Some(1)),
        // Narrower types, of which one is a key and one allows no nulls.
        shape("children", vec![("k", Int64, false), ("x", Int16, true), ("y", UInt64, true)], 1, None),
        shape("narrow", vec![("k", UInt8, false), ("n", Int64, false)], 2, None),
        // Two columns of a key that refer to the same table, and rows that refer to these.
        shape("edges", vec![("a", Int64, false), ("b", Int32, false)], 2, None),
        shape("labels", vec![("t", Int64, false), ("a", Int64, true), ("b", Int64, true)], 1, None),
        // A column that follows a row in two ways.
        shape("twice", vec![("t", Int64, false), ("x", Int64, true)], 1, None),
        // A table that refers to itself.
        shape("nodes", vec![("id", Int64, false), ("parent", Int8, true)], 1, None),
        // Tables that refer to each other.
        shape("left", vec![("id", Int64, false), ("r", Int64, true)], 1, Some(1)),
        shape("right", vec![("id", Int64, false), ("r", Int64, true)], 1, Some(1)),
        shape("halves", vec![("k", Int32, false)], 1, None),
    ]
}

fn references(random: &mut Seeded) -> Vec<Reference> {
    let mut action = |actions: &[ForeignKeyAction]| actions[random.usize(..actions.len())];
    let mut all = Vec::new();
    let mut add = |table, columns: &[usize], referred, referred_columns: &[usize], on_delete, on_update| {
        let (columns, referred_columns) = (columns.to_vec(), referred_columns.to_vec());
        all.push(Reference { table, columns, referred, referred_columns, on_delete, on_update });
    };
    let any = [NoAction, Cascade, SetNull, Cascade];
    add(1, &[1], PARENTS, &[0], action(&any), action(&any));
    add(1, &[2], PARENTS, &[1], action(&any), action(&any));
    add(2, &[0], PARENTS, &[1], action(&[Cascade, NoAction]), Cascade);
    add(3, &[0], PARENTS, &[0], Cascade, Cascade);
    add(3, &[1], PARENTS, &[0], Cascade, Cascade);
    add(4, &[1, 2], 3, &[0, 1], action(&any), action(&[Cascade, Cascade, SetNull]));
    add(9, &[0], PARENTS, &[0], Cascade, Cascade);
    add(5, &[1], PARENTS, &[0], action(&any), Cascade);
    add(5, &[1], 9, &[0], action(&any), Cascade);
    add(NODES, &[1], NODES, &[0], action(&any), action(&[Cascade, Cascade, SetNull, NoAction]));
    add(LEFT, &[1], RIGHT, &[1], action(&any), Cascade);
    add(RIGHT, &[1], LEFT, &[1], action(&any), Cascade);
    all
}

fn values(row: &Row, columns: &[usize]) -> Option<Vec<i64>> {
    columns.iter().map(|&column| row[column]).collect()
}

fn pick(row: &Row, columns: &[usize]) -> Row {
    columns.iter().map(|&column| row[column]).collect()
}

/// Rows that refer to others, with the numbers of these and the values that they had.
type Pointers = BTreeMap<u32, (u32, Row)>;

/// Does the actions after a statement has changed rows `before` to rows `after`, row by row until nothing changes.
fn act(references: &[Reference], before: &Rows, mut after: Rows) -> Option<Rows> {
    let mut pointers: Vec<Pointers> = Vec::new();
    // Values that the statement itself has put: they stay, unless the row that has them gets others.
    let mut put: Vec<Pointers> = Vec::new();
    for reference in references {
        let find = |rows: &BTreeMap<u32, Row>, wanted: &[i64]| {
            let has = |row: &Row| values(row, &reference.referred_columns).as_deref() == Some(wanted);
            let found = rows.iter().find(|(_, row)| has(row));
            found.map(|(&number, row)| (number, pick(row, &reference.referred_columns)))
        };
        let (mut followed, mut stay) = (Pointers::new(), Pointers::new());
        for (&number, row) in &after[reference.table] {
            let Some(wanted) = values(row, &reference.columns) else { continue };
            let old = before[reference.table].get(&number);
            let is_put = old.is_none_or(|old| pick(old, &reference.columns) != pick(row, &reference.columns));
            match find(&after[reference.referred], &wanted).filter(|_| is_put) {
                Some(referred) => drop(stay.insert(number, referred)),
                None => followed.extend(find(&before[reference.referred], &wanted).map(|referred| (number, referred))),
            }
        }
        pointers.push(followed);
        put.push(stay);
    }
    let mut nulls: Vec<(usize, u32, usize)> = Vec::new();
    for _ in 0..60 {
        let start = after.clone();
        for (reference, pointers) in references.iter().zip(&pointers) {
            for (row, (referred, old)) in pointers {
                let new = after[reference.referred].get(referred).map(|row| pick(row, &reference.referred_columns));
                if new.as_ref() != Some(old) {
                    act_on(reference, &mut after[reference.table], *row, old, new, &mut nulls);
                }
            }
        }
        if after != start {
            continue;
        }
        let mut is_done = true;
        for (reference, (pointers, put)) in references.iter().zip(pointers.iter_mut().zip(&mut put)) {
            let there: Vec<Row> =
                after[reference.referred].values().map(|row| pick(row, &reference.referred_columns)).collect();
            for (row, referred) in std::mem::take(put) {
                let is_there = |values: &Row| there.contains(&pick(values, &reference.columns));
                if after[reference.table].get(&row).is_none_or(is_there) {
                    put.insert(row, referred);
                } else {
                    is_done = false;
                    pointers.insert(row, referred);
                }
            }
        }
        if is_done {
            return Some(after);
        }
    }
    None
}

/// Does the action for one row that refers to one whose values have changed, or which is gone.
fn act_on(
    reference: &Reference,
    rows: &mut BTreeMap<u32, Row>,
    row: u32,
    old: &Row,
    new: Option<Row>,
    nulls: &mut Vec<(usize, u32, usize)>,
) {
    let action = if new.is_some() { reference.on_update } else { reference.on_delete };
    if action == Cascade && new.is_none() {
        rows.remove(&row);
        return;
    }
    let Some(values) = rows.get_mut(&row).filter(|_| action != NoAction) else { return };
    let new = new.filter(|_| action == Cascade).unwrap_or_else(|| vec![None; old.len()]);
    for ((&column, old), new) in reference.columns.iter().zip(old).zip(new) {
        let place = (reference.table, row, column);
        if nulls.contains(&place) || (action == Cascade && new == *old) {
            continue;
        }
        if new.is_none() {
            nulls.push(place);
        }
        values[column] = new;
    }
}

fn holds(shapes: &[Shape], references: &[Reference], rows: &Rows) -> bool {
    let refers = |reference: &Reference| {
        let there: Vec<_> =
            rows[reference.referred].values().filter_map(|row| values(row, &reference.referred_columns)).collect();
        rows[reference.table].values().filter_map(|row| values(row, &reference.columns)).all(|row| there.contains(&row))
    };
    shapes.iter().zip(rows).all(|(shape, rows)| shape.holds(rows)) && references.iter().all(refers)
}

/// Random rows that hold.
fn fill(random: &mut Seeded, shapes: &[Shape], references: &[Reference]) -> Rows {
    let mut rows: Rows = vec![BTreeMap::new(); shapes.len()];
    let mut next = 0;
    for table in [0, 9, 1, 2, 3, 4, 5, 6, 6, 6] {
        for _ in 0..6 {
            next += 1;
            let row = shapes[table].columns.iter().map(|column| match column.2 && random.u8(0..4) == 0 {
                true => None,
                false => Some(random.i64(1..7)),
            });
            rows[table].insert(next, row.collect());
            if !holds(shapes, references, &rows) {
                rows[table].remove(&next);
            }
        }
    }
    for number in 1..random.i64(2..6) {
        next += 2;
        rows[LEFT].insert(next, vec![Some(number), Some(number)]);
        rows[RIGHT].insert(next + 1, vec![Some(number), Some(number)]);
    }
    rows
}

/// New numbers for some rows: exchanged, moved by one, others, or none.
fn renumber(random: &mut Seeded, old: &[Option<i64>]) -> Row {
    let mut new = old.to_vec();
    match random.u8(0..6) {
        0 | 1 => random.shuffle(&mut new),
        2 => new.iter_mut().flatten().for_each(|number| *number += 1),
        3 => new.iter_mut().flatten().for_each(|number| *number = 7 - *number),
        4 => {
            let wide = [300, 40_000, -3, 120, 3_000_000_000][random.usize(..5)];
            if let Some(first) = new.first_mut() {
                *first = first.and(Some(wide));
            }
        }
        _ => {}
    }
    new
}

/// A random statement: a table, and the new values of rows or none.
fn statement(random: &mut Seeded, rows: &Rows) -> (usize, BTreeMap<u32, Option<Row>>) {
    let table = [PARENTS, PARENTS, PARENTS, NODES, LEFT, RIGHT, 3, 9][random.usize(..8)];
    let mut chosen: Vec<u32> = rows[table].keys().copied().filter(|_| random.u8(0..4) > 0).collect();
    if random.u8(0..5) == 0 {
        chosen.truncate(2);
        return (table, chosen.into_iter().map(|row| (row, None)).collect());
    }
    let mut columns: Vec<Row> =
        (0..2).map(|at| chosen.iter().map(|row| *rows[table][row].get(at)?).collect()).collect();
    let changed = match table {
        LEFT | RIGHT => 1..2,
        PARENTS | NODES => [0..1, 1..2, 0..2][random.usize(..3)].clone(),
        _ => 0..1,
    };
    for column in changed {
        columns[column] = renumber(random, &columns[column]);
        if column == 1 && random.u8(0..4) == 0 && !chosen.is_empty() {
            columns[1][random.usize(..chosen.len())] = None;
        }
    }
    let len = chosen.first().map_or(0, |row| rows[table][row].len());
    let new = chosen
        .into_iter()
        .enumerate()
        .map(|(at, row)| (row, Some((0..len).map(|column| columns[column][at]).collect())));
    (table, new.collect())
}

#[test]
fn random_statements_do_what_a_model_does() {
    let (mut kept, mut refused) = (0, 0);
    for seed in (0..60).map(|at| seed().wrapping_add(at)) {
        let mut random = Seeded::with_seed("actions of foreign keys", seed);
        let (shapes, references) = (shapes(), references(&mut random));
        let folder = tempfile::tempdir().unwrap();
        let database = create(folder.path(), &shapes, &references);
        let mut rows = fill(&mut random, &shapes, &references);
        let mut transaction = database.begin().unwrap();
        for (shape, rows) in shapes.iter().zip(&rows) {
            transaction
                .table(shape.name)
                .unwrap()
                .insert(&shape.batch(&rows.values().cloned().collect::<Vec<_>>()))
                .unwrap();
        }
        transaction.commit().unwrap();
        for step in 0..12 {
            let (table, new) = statement(&mut random, &rows);
            let mut after = rows.clone();
            for (&row, new) in &new {
                match new {
                    Some(new) => drop(after[table].insert(row, new.clone())),
                    None => drop(after[table].remove(&row)),
                }
            }
            let changes: Vec<(Row, Option<Row>)> =
                new.iter().map(|(row, new)| (rows[table][row].clone(), new.clone())).collect();
            if !shapes[table].holds(&after[table]) {
                continue;
            }
            let wanted = act(&references, &rows, after).filter(|after| holds(&shapes, &references, after));
            let mut transaction = database.begin().unwrap();
            let done = change(&mut transaction, &shapes[table], &changes).and_then(|()| transaction.commit());
            let told = format!("seed {seed}, step {step}: {} {changes:?} in {rows:?}", shapes[table].name);
            assert_eq!(done.is_ok(), wanted.is_some(), "{told}: {done:?}, wanted {wanted:?}");
            if let Some(wanted) = wanted {
                rows = wanted;
                kept += 1;
            } else {
                refused += 1;
            }
            for (shape, rows) in shapes.iter().zip(&rows) {
                let mut wanted: Vec<Row> = rows.values().cloned().collect();
                wanted.sort();
                assert_eq!(read(&database, shape), wanted, "{}: {told}", shape.name);
            }
            if random.u8(0..5) == 0 {
                database.table(shapes[random.usize(..shapes.len())].name).unwrap().flush().unwrap();
            }
        }
        for shape in &shapes {
            assert_eq!(database.table(shape.name).unwrap().check().unwrap().problems, [], "seed {seed}");
        }
    }
    assert!(kept > 100 && refused > 100, "{kept} and {refused}");
}
