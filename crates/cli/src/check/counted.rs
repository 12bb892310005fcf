//! One leaf of a row group: its data counted, and compared with what the metadata says of it.

use arrow_schema::{ArrowError, DataType};
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::{SortOrder, TypeOrder};
use lath_format::{BoundaryOrder, ColumnOrder};

use super::bloom::{FileBytes, Probe};
use super::bound::Bound;
use super::leaf::{descend, leaf_paths};
use super::tally::Tally;
use super::{Finding, Kind, size};
use crate::page_index::{Described, PageEntry, column_index, pages};

/// A leaf whose data is being counted, page by page where the page index says where pages start.
pub(super) struct Counted<'a> {
    pub(super) column: usize,
    descriptor: &'a ColumnDescriptor,
    path: Vec<usize>,
    nullable: bool,
    ordered: bool,
    pages: Option<Vec<PageEntry<'a>>>,
    tallies: Vec<Tally>,
    probe: Option<Probe>,
}

/// The `leaves` of a column read as `data_type`, nullable or not, the first of whose leaves is `first_leaf`.
pub(super) fn leaves_of<'m>(
    metadata: Described<'m>,
    row_group: usize,
    first_leaf: usize,
    leaves: &[usize],
    (data_type, nullable): (&DataType, bool),
) -> Vec<Counted<'m>> {
    let paths = leaf_paths(data_type);
    let file = metadata.metadata;
    let counted = leaves.iter().filter_map(|&column| {
        let pages = pages(metadata, row_group, column).filter(|pages| are_in_order(pages));
        let tallies = vec![Tally::default(); pages.as_ref().map_or(1, Vec::len)];
        let order = file.column_order(column);
        Some(Counted {
            column,
            descriptor: file.schema_descr().columns()[column].as_ref(),
            path: paths.get(column - first_leaf)?.clone(),
            nullable,
            ordered: order == ColumnOrder::TypeDefined && has_order(&file.schema_descr().columns()[column]),
            pages,
            tallies,
            probe: None,
        })
    });
    counted.collect()
}

/// Whether pages start at row 0 and follow each other; otherwise rows cannot be told apart by page.
/// Whether the type of a column has an order.
fn has_order(column: &ColumnDescriptor) -> bool {
    let order =
        TypeOrder::sort_order_for_type(column.logical_type_ref(), column.converted_type(), column.physical_type());
    matches!(order, SortOrder::SIGNED | SortOrder::UNSIGNED)
}

fn are_in_order(pages: &[PageEntry<'_>]) -> bool {
    pages[0].first_row == 0 && pages.iter().all(|page| page.row_count >= 0)
}

impl Counted<'_> {
    /// Where the leaf is, for messages.
    pub(super) fn place(&self, row_group: usize) -> String {
        format!("row group {row_group}, column {}", self.descriptor.path().string())
    }

    /// Reads the Bloom filter, if there is one; what is wrong if that cannot be done.
    pub(super) fn read_filter(
        &mut self,
        metadata: Described<'_>,
        row_group: usize,
        bytes: Option<&FileBytes>,
    ) -> Option<Finding> {
        let chunk = metadata.metadata.chunk(row_group, self.column).ok()?;
        match bytes?.filter(chunk) {
            Ok(filter) => {
                self.probe = filter.map(Probe::new);
                None
            }
            Err(error) => Some(Finding {
                kind: Kind::Corrupt,
                place: self.place(row_group),
                what: format!("the Bloom filter cannot be read: {error}"),
            }),
        }
    }

    /// Counts the rows of `array`, the first of which is `row` of the row group.
    pub(super) fn count(&mut self, array: &arrow_array::ArrayRef, row: i64) -> Result<(), ArrowError> {
        let Some(pages) = &self.pages else {
            let leaf = descend(array, self.nullable, &self.path)?;
            if let Some(probe) = &mut self.probe {
                probe.look_up(&leaf.values, self.descriptor);
            }
            return self.tallies[0].add(&leaf, self.ordered);
        };
        let end = row + array.len() as i64;
        let first = pages.partition_point(|page| page.first_row + page.row_count <= row);
        for (page, tally) in pages.iter().zip(&mut self.tallies).skip(first) {
            let (from, to) = (page.first_row.max(row), (page.first_row + page.row_count).min(end));
            if from >= end {
                break;
            }
            if from < to {
                let rows = array.slice((from - row) as usize, (to - from) as usize);
                let leaf = descend(&rows, self.nullable, &self.path)?;
                if let Some(probe) = &mut self.probe {
                    probe.look_up(&leaf.values, self.descriptor);
                }
                tally.add(&leaf, self.ordered)?;
            }
        }
        Ok(())
    }

    pub(super) fn compare(&self, metadata: Described<'_>, row_group: usize, findings: &mut Vec<Finding>) {
        let place = self.place(row_group);
        let mut whole = Tally::default();
        for tally in &self.tallies {
            whole.merge(tally.clone());
        }
        let mut report = |place: &str, what: String| {
            findings.push(Finding { kind: Kind::Mismatch, place: place.to_owned(), what });
        };
        // One that cannot be read has been reported by whoever read it.
        let Ok(chunk) = metadata.metadata.chunk(row_group, self.column) else { return };
        if chunk.num_values() != whole.entries {
            report(&place, format!("{} values in the metadata, {} in the data", chunk.num_values(), whole.entries));
        }
        if let Some(statistics) = chunk.statistics() {
            if let Some(nulls) = statistics.null_count.filter(|&nulls| !whole.has_null_count(nulls)) {
                report(&place, format!("{nulls} nulls in the statistics, {} in the data", whole.nulls + whole.missing));
            }
            if !statistics.is_deprecated {
                let exact = (statistics.min_is_exact, statistics.max_is_exact);
                let bounds = (statistics.min, statistics.max);
                self.compare_bounds(&whole, bounds, exact, "statistics", |what| report(&place, what));
            }
        }
        size::compare_chunk(metadata, (row_group, self.column), &whole, |what| report(&place, what));
        if let Some(what) = self.probe.as_ref().and_then(Probe::finding) {
            report(&place, what);
        }
        if chunk.offset_index().is_some() && self.pages.is_none() {
            report(&place, "the offset index is missing, or its pages do not follow each other".to_owned());
        }
        for (index, (page, tally)) in self.pages.iter().flatten().zip(&self.tallies).enumerate() {
            let place = format!("{place}, page {index}");
            size::compare_page(metadata, (row_group, self.column, index), tally, |what| report(&place, what));
            let Some(bounds) = &page.bounds else { continue };
            if bounds.is_null_page != tally.is_all_null() && tally.entries > 0 {
                let words = |all_null: bool| if all_null { "nulls alone" } else { "values" };
                let (said, held) = (words(bounds.is_null_page), words(tally.is_all_null()));
                report(&place, format!("{said} by the column index, {held} in the data"));
            }
            let nulls = bounds.null_count.and_then(|nulls| u64::try_from(nulls).ok());
            if let Some(nulls) = nulls.filter(|&nulls| !tally.has_null_count(nulls)) {
                report(
                    &place,
                    format!("{nulls} nulls in the column index, {} in the data", tally.nulls + tally.missing),
                );
            }
            let bytes = (bounds.min, bounds.max);
            self.compare_bounds(tally, bytes, (false, false), "column index", |what| report(&place, what));
        }
        if let Some(what) = self.disorder(metadata, row_group) {
            report(&place, what);
        }
    }

    fn compare_bounds(
        &self,
        tally: &Tally,
        (min, max): (Option<&[u8]>, Option<&[u8]>),
        (min_is_exact, max_is_exact): (bool, bool),
        source: &str,
        mut report: impl FnMut(String),
    ) {
        let Some((least, most)) = tally.range.as_ref().filter(|_| self.ordered) else { return };
        let text = |bound: &Bound| bound.text(self.descriptor);
        if let Some(min) = min.and_then(|bytes| Bound::decode(bytes, self.descriptor))
            && (least.is_less(&min) || (min_is_exact && min.is_less(least)))
        {
            report(format!("minimum {} in the {source}, {} in the data", text(&min), text(least)));
        }
        if let Some(max) = max.and_then(|bytes| Bound::decode(bytes, self.descriptor))
            && (max.is_less(most) || (max_is_exact && most.is_less(&max)))
        {
            report(format!("maximum {} in the {source}, {} in the data", text(&max), text(most)));
        }
    }

    /// What contradicts the order of pages that the column index claims.
    fn disorder(&self, metadata: Described<'_>, row_group: usize) -> Option<String> {
        let order = column_index(metadata, row_group, self.column)?.boundary_order;
        let (word, wrong): (_, fn(&Bound, &Bound) -> bool) = match order {
            BoundaryOrder::Ascending => ("ascending", |first, second| second.is_less(first)),
            BoundaryOrder::Descending => ("descending", |first, second| first.is_less(second)),
            _ => return None,
        };
        let decode = |bytes: &[u8]| Bound::decode(bytes, self.descriptor);
        let bounds: Vec<(Bound, Bound)> = self
            .pages
            .iter()
            .flatten()
            .filter_map(|page| page.bounds.as_ref().filter(|bounds| !bounds.is_null_page))
            .filter_map(|bounds| Some((decode(bounds.min?)?, decode(bounds.max?)?)))
            .collect();
        let broken = bounds.windows(2).any(|pair| wrong(&pair[0].0, &pair[1].0) || wrong(&pair[0].1, &pair[1].1));
        (broken && self.ordered).then(|| format!("pages are {word} by the column index, but their bounds are not"))
    }
}
