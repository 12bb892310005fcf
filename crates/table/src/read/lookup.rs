//! Finds rows by their keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::Rows;
use arrow_select::filter::filter_record_batch;

use crate::error::{Error, Result};
use crate::file::{columns_of_rows, locate};
use crate::records::{MASK_ROWS, TreeName, mask_key};
use crate::row::{ByteList, TableSchema, batch, interleave_rows};
use crate::view::{Engine, Expiry, HotColumns, HotRows, View, check_mask, parse_mask};

/// The rows that were found for several keys.
#[derive(Debug, Clone)]
pub struct FoundRows {
    pub(crate) rows: RecordBatch,
    pub(crate) places: Vec<Option<usize>>,
}

impl FoundRows {
    /// The rows, each once, in the order in which their keys were first given.
    pub fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// For each key, in the order of the keys, its row in [`rows`](Self::rows); `None` if there is no row with that key.
    pub fn places(&self) -> &[Option<usize>] {
        &self.places
    }
}

/// Keys that are looked for: distinct, in ascending order.
#[derive(Debug)]
pub(crate) struct SortedKeys {
    keys: ByteList,
    /// For each key that was given, its place among the distinct ones.
    places: Vec<usize>,
}

impl SortedKeys {
    /// The keys with these key columns.
    pub(crate) fn new(schema: &TableSchema, arrays: &[ArrayRef]) -> Result<Self> {
        Ok(Self::from_rows(&schema.key().encode(arrays)?))
    }

    /// Encoded keys in any order.
    pub(crate) fn from_rows(encoded: &Rows) -> Self {
        Self::of(encoded.num_rows(), |at| encoded.row(at).data())
    }

    /// Encoded keys in any order.
    pub(crate) fn from_list(encoded: &ByteList) -> Self {
        Self::of(encoded.len(), |at| encoded.get(at))
    }

    fn of<'k>(count: usize, encoded: impl Fn(usize) -> &'k [u8]) -> Self {
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by(|&a, &b| encoded(a).cmp(encoded(b)));
        let mut keys = ByteList::default();
        let mut places = vec![0; count];
        for at in order {
            let key = encoded(at);
            if keys.last() != Some(key) {
                keys.push(key);
            }
            places[at] = keys.len() - 1;
        }
        Self { keys, places }
    }

    /// Encoded keys that are distinct and in ascending order.
    pub(crate) fn from_sorted(keys: ByteList) -> Self {
        let places = (0..keys.len()).collect();
        Self { keys, places }
    }

    /// For each distinct key, the last of the given ones that is equal to it.
    pub(crate) fn last_rows(&self) -> Vec<usize> {
        let mut last = vec![0; self.keys.len()];
        for (row, &key) in self.places.iter().enumerate() {
            last[key] = row;
        }
        last
    }

    pub(crate) fn keys(&self) -> &ByteList {
        &self.keys
    }

    /// For each key that was given, its place among the distinct ones.
    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }
}

/// The place of the row with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// There is no such row.
    Nowhere,
    /// In the hot tree.
    Hot,
    /// In one of the view's files, counted from the oldest, in this row.
    Cold { file: usize, row: u64 },
}

/// Locates the rows with these keys.
pub(crate) fn find_places(engine: &Engine, view: &mut dyn View, keys: &SortedKeys) -> Result<Vec<Place>> {
    let mut hot = HotRows::new(Arc::new(HotColumns::new(view.schema(), &[])?));
    let mut places = find_rows(engine, view, keys, &mut hot)?;
    if let Some(expiry) = view.expiry().cloned()
        && places.iter().any(|place| *place != Place::Nowhere)
    {
        let distinct = SortedKeys::from_sorted(keys.keys.clone());
        let times = get_stored(engine, view, &distinct, &[expiry.column()])?;
        let are_live = expiry.are_live(times.rows.column(0));
        for (place, found) in places.iter_mut().zip(times.places) {
            if found.is_none_or(|row| !are_live.value(row)) {
                *place = Place::Nowhere;
            }
        }
    }
    Ok(places)
}

/// Locates the rows with these keys, and adds the hot ones to `hot`, in key order.
fn find_rows(engine: &Engine, view: &mut dyn View, keys: &SortedKeys, hot: &mut HotRows) -> Result<Vec<Place>> {
    let slices: Vec<&[u8]> = keys.keys.iter().collect();
    let mut places = vec![Place::Nowhere; slices.len()];
    if let Some(tree) = view.tree(TreeName::Hot)? {
        for ((place, key), value) in places.iter_mut().zip(&slices).zip(tree.get_many(&slices)?) {
            if let Some(value) = value {
                hot.push(key, value)?;
                *place = Place::Hot;
            }
        }
    }
    let mut left: Vec<usize> = (0..slices.len()).filter(|&at| places[at] == Place::Nowhere).collect();
    if let Some(tree) = view.tree(TreeName::Tombstones)?
        && !tree.is_empty()
    {
        let left_keys: Vec<&[u8]> = left.iter().map(|&at| slices[at]).collect();
        let mut is_deleted = tree.get_many(&left_keys)?.into_iter().map(|value| value.is_some());
        left.retain(|_| !is_deleted.next().unwrap_or(false));
    }
    let manifest = Arc::clone(view.manifest());
    for (number, entry) in manifest.files().iter().enumerate().rev() {
        let first = left.partition_point(|&at| slices[at] < &entry.min[..]);
        let end = left.partition_point(|&at| slices[at] <= &entry.max[..]);
        let wanted = left.get(first..end).unwrap_or_default().to_vec();
        if wanted.is_empty() {
            continue;
        }
        let file = engine.cold(view, entry)?;
        let wanted_keys: Vec<&[u8]> = wanted.iter().map(|&at| slices[at]).collect();
        let mut located = locate(&engine.blocks, &file, entry, &wanted_keys)?;
        if entry.masked > 0 {
            check_mask(engine, view, entry)?;
            retain_unmasked(view, entry.number, &mut located)?;
        }
        for &(at, row) in &located {
            places[wanted[at]] = Place::Cold { file: number, row };
        }
        if !located.is_empty() {
            left.retain(|&at| places[at] == Place::Nowhere);
        }
    }
    Ok(places)
}

/// Drops the rows that the file's mask has.
fn retain_unmasked(view: &mut dyn View, file: u64, located: &mut Vec<(usize, u64)>) -> Result<()> {
    let Some(tree) = view.tree(TreeName::Masks)? else { return Ok(()) };
    let mut piece = None;
    let mut kept = Vec::with_capacity(located.len());
    for &(at, row) in &*located {
        // Rows are in ascending order, so each piece is read once.
        let number = row / MASK_ROWS;
        if piece.as_ref().is_none_or(|(other, _)| *other != number) {
            piece = Some((number, tree.get(&mask_key(file, row))?.map(parse_mask).transpose()?));
        }
        let is_masked = piece.as_ref().and_then(|(_, mask)| mask.as_ref()).is_some_and(|mask| mask.contains(row));
        if !is_masked {
            kept.push((at, row));
        }
    }
    *located = kept;
    Ok(())
}

/// For each key, in the order in which they were given, whether it has a row.
pub(crate) fn contains_many(engine: &Engine, view: &mut dyn View, keys: &SortedKeys) -> Result<Vec<bool>> {
    let places = find_places(engine, view, keys)?;
    Ok(keys.places.iter().map(|&at| places[at] != Place::Nowhere).collect())
}

/// These columns of the rows with these keys, in one pass over the files.
pub(crate) fn get_many(
    engine: &Engine,
    view: &mut dyn View,
    keys: &SortedKeys,
    columns: &[usize],
) -> Result<FoundRows> {
    let Some(expiry) = view.expiry().cloned() else { return get_stored(engine, view, keys, columns) };
    let with_times: Vec<usize> = columns.iter().copied().chain([expiry.column()]).collect();
    only_live(get_stored(engine, view, keys, &with_times)?, &expiry)
}

/// The rows that have not expired. The last column has their times, and is left out.
fn only_live(found: FoundRows, expiry: &Expiry) -> Result<FoundRows> {
    let FoundRows { rows, mut places } = found;
    let times = rows.num_columns() - 1;
    let are_live = expiry.are_live(rows.column(times));
    let rows = rows.project(&(0..times).collect::<Vec<_>>())?;
    if are_live.false_count() == 0 {
        return Ok(FoundRows { rows, places });
    }
    let mut next = 0;
    let new_places: Vec<Option<usize>> = are_live
        .values()
        .iter()
        .map(|is_live| {
            next += usize::from(is_live);
            is_live.then(|| next - 1)
        })
        .collect();
    places.iter_mut().for_each(|place| *place = place.and_then(|row| new_places[row]));
    Ok(FoundRows { rows: filter_record_batch(&rows, &are_live)?, places })
}

/// As [`get_many`], with rows that have expired.
fn get_stored(engine: &Engine, view: &mut dyn View, keys: &SortedKeys, columns: &[usize]) -> Result<FoundRows> {
    let schema = Arc::clone(view.schema());
    let mut hot = HotRows::new(Arc::new(HotColumns::new(&schema, columns)?));
    let places = find_rows(engine, view, keys, &mut hot)?;
    let mut sources: Vec<Vec<ArrayRef>> = Vec::new();
    // For each distinct key, its source and its row there.
    let mut found: Vec<Option<(usize, usize)>> = vec![None; places.len()];
    if hot.len() > 0 {
        sources.push(hot.decode()?);
        let is_hot = (0..places.len()).filter(|&at| places[at] == Place::Hot);
        is_hot.enumerate().for_each(|(row, at)| found[at] = Some((0, row)));
    }
    let mut by_file: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
    for (at, place) in places.iter().enumerate() {
        if let &Place::Cold { file, row } = place {
            by_file.entry(file).or_default().push((at, row));
        }
    }
    let manifest = Arc::clone(view.manifest());
    for (number, mut wanted) in by_file {
        if !manifest.files()[number].is_by_key() {
            wanted.sort_unstable_by_key(|&(_, row)| row);
        }
        let rows: Vec<u64> = wanted.iter().map(|&(_, row)| row).collect();
        let file = engine.cold(view, &manifest.files()[number])?;
        let mut wanted = wanted.into_iter();
        for (count, arrays) in columns_of_rows(&engine.blocks, &file, &rows, columns)? {
            for (row, (at, _)) in wanted.by_ref().take(count).enumerate() {
                found[at] = Some((sources.len(), row));
            }
            sources.push(arrays);
        }
        if wanted.next().is_some() {
            return Err(Error::corrupt("a file has fewer rows than its entry says"));
        }
    }
    gather(keys, &found, &sources, &schema, columns)
}

/// Puts the rows that were found into the order in which their keys were first given.
fn gather(
    keys: &SortedKeys,
    found: &[Option<(usize, usize)>],
    sources: &[Vec<ArrayRef>],
    schema: &TableSchema,
    columns: &[usize],
) -> Result<FoundRows> {
    let mut order = Vec::new();
    let mut place_of: Vec<Option<usize>> = vec![None; found.len()];
    let mut places = Vec::with_capacity(keys.places.len());
    for &at in &keys.places {
        if let (None, Some(row)) = (place_of[at], found[at]) {
            place_of[at] = Some(order.len());
            order.push(row);
        }
        places.push(place_of[at]);
    }
    let fields = Arc::new(schema.arrow().project(columns)?);
    let row_count = order.len();
    let column = |(at, field): (usize, &Arc<arrow_schema::Field>)| {
        let arrays: Vec<&dyn arrow_array::Array> = sources.iter().map(|source| &*source[at]).collect();
        match arrays.is_empty() {
            true => schema.with_column_categories(columns[at], arrow_array::new_empty_array(field.data_type())),
            false => interleave_rows(&arrays, &order),
        }
    };
    let arrays = fields.fields().iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
    Ok(FoundRows { rows: batch(&fields, arrays, row_count)?, places })
}
