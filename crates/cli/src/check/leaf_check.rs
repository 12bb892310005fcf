//! The check of one leaf column of a row group: its data is summed up and compared with the metadata.

use arrow_schema::{ArrowError, DataType};
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::{SortOrder, TypeOrder};
use lath_format::{BoundaryOrder, ColumnOrder};

use super::bloom::{FilterCheck, FilterSource};
use super::bound::Bound;
use super::leaf::{descend, leaf_paths};
use super::observed::ObservedValues;
use super::{Finding, Kind, size_statistics};
use crate::metadata::page_index::{FileInfo, PageEntry, column_index, pages};

/// Sums up a leaf's data: by page, where the page index has the pages' first rows.
pub(super) struct LeafCheck<'a> {
    pub(super) column: usize,
    descriptor: &'a ColumnDescriptor,
    path: Vec<usize>,
    nullable: bool,
    ordered: bool,
    pages: Option<Vec<PageEntry<'a>>>,
    observed_pages: Vec<ObservedValues>,
    probe: Option<FilterCheck>,
}

/// Checks of `leaves` of a column that is read as `data_type`, nullable or not, and whose first leaf is `first_leaf`.
pub(super) fn leaf_checks<'m>(
    metadata: FileInfo<'m>,
    row_group: usize,
    first_leaf: usize,
    leaves: &[usize],
    (data_type, nullable): (&DataType, bool),
) -> Vec<LeafCheck<'m>> {
    let paths = leaf_paths(data_type);
    let file = metadata.metadata;
    let checks = leaves.iter().filter_map(|&column| {
        let pages = pages(metadata, row_group, column).filter(|pages| are_in_order(pages));
        let observed_pages = vec![ObservedValues::default(); pages.as_ref().map_or(1, Vec::len)];
        let order = file.column_order(column);
        Some(LeafCheck {
            column,
            descriptor: file.schema_descr().columns()[column].as_ref(),
            path: paths.get(column - first_leaf)?.clone(),
            nullable,
            ordered: order == ColumnOrder::TypeDefined && has_order(&file.schema_descr().columns()[column]),
            pages,
            observed_pages,
            probe: None,
        })
    });
    checks.collect()
}

/// Whether the type of a column has an order.
fn has_order(column: &ColumnDescriptor) -> bool {
    let order =
        TypeOrder::sort_order_for_type(column.logical_type_ref(), column.converted_type(), column.physical_type());
    matches!(order, SortOrder::SIGNED | SortOrder::UNSIGNED)
}

/// Whether pages start at row 0 and follow each other; otherwise rows cannot be assigned to pages.
fn are_in_order(pages: &[PageEntry<'_>]) -> bool {
    pages[0].first_row == 0 && pages.iter().all(|page| page.row_count >= 0)
}

impl LeafCheck<'_> {
    /// The row group and column, for messages.
    pub(super) fn place(&self, row_group: usize) -> String {
        format!("row group {row_group}, column {}", self.descriptor.path().string())
    }

    /// Reads the Bloom filter, if there is one. Returns the problem if it cannot be read.
    pub(super) fn read_filter(
        &mut self,
        metadata: FileInfo<'_>,
        row_group: usize,
        bytes: Option<&FilterSource>,
    ) -> Option<Finding> {
        let chunk = metadata.metadata.chunk(row_group, self.column).ok()?;
        match bytes?.filter(chunk) {
            Ok(filter) => {
                self.probe = filter.map(FilterCheck::new);
                None
            }
            Err(error) => Some(Finding {
                kind: Kind::Corrupt,
                place: self.place(row_group),
                what: format!("the Bloom filter cannot be read: {error}"),
            }),
        }
    }

    /// Adds the rows of `array`, whose first row is `row` of the row group.
    pub(super) fn count(&mut self, array: &arrow_array::ArrayRef, row: i64) -> Result<(), ArrowError> {
        let Some(pages) = &self.pages else {
            let leaf = descend(array, self.nullable, &self.path)?;
            if let Some(probe) = &mut self.probe {
                probe.look_up(&leaf.values, self.descriptor);
            }
            return self.observed_pages[0].add(&leaf, self.ordered);
        };
        let end = row + array.len() as i64;
        let first = pages.partition_point(|page| page.first_row + page.row_count <= row);
        for (page, observed) in pages.iter().zip(&mut self.observed_pages).skip(first) {
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
                observed.add(&leaf, self.ordered)?;
            }
        }
        Ok(())
    }

    pub(super) fn compare(&self, metadata: FileInfo<'_>, row_group: usize, findings: &mut Vec<Finding>) {
        let place = self.place(row_group);
        let mut whole = ObservedValues::default();
        for observed in &self.observed_pages {
            whole.merge(observed.clone());
        }
        let mut report = |place: &str, what: String| {
            findings.push(Finding { kind: Kind::Mismatch, place: place.to_owned(), what });
        };
        // A chunk that cannot be read has been reported before.
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
        size_statistics::compare_chunk(metadata, (row_group, self.column), &whole, |what| report(&place, what));
        if let Some(what) = self.probe.as_ref().and_then(FilterCheck::finding) {
            report(&place, what);
        }
        if chunk.offset_index().is_some() && self.pages.is_none() && metadata.indexes.is_some() {
            report(&place, "the offset index is missing, or its pages do not follow each other".to_owned());
        }
        for (index, (page, observed)) in self.pages.iter().flatten().zip(&self.observed_pages).enumerate() {
            let place = format!("{place}, page {index}");
            size_statistics::compare_page(metadata, (row_group, self.column, index), observed, |what| {
                report(&place, what);
            });
            let Some(bounds) = &page.bounds else { continue };
            if bounds.is_null_page != observed.is_all_null() && observed.entries > 0 {
                let words = |all_null: bool| if all_null { "nulls alone" } else { "values" };
                let (said, held) = (words(bounds.is_null_page), words(observed.is_all_null()));
                report(&place, format!("{said} by the column index, {held} in the data"));
            }
            let nulls = bounds.null_count.and_then(|nulls| u64::try_from(nulls).ok());
            if let Some(nulls) = nulls.filter(|&nulls| !observed.has_null_count(nulls)) {
                report(
                    &place,
                    format!("{nulls} nulls in the column index, {} in the data", observed.nulls + observed.missing),
                );
            }
            let bytes = (bounds.min, bounds.max);
            self.compare_bounds(observed, bytes, (false, false), "column index", |what| report(&place, what));
        }
        if let Some(what) = self.disorder(metadata, row_group) {
            report(&place, what);
        }
    }

    fn compare_bounds(
        &self,
        observed: &ObservedValues,
        (min, max): (Option<&[u8]>, Option<&[u8]>),
        (min_is_exact, max_is_exact): (bool, bool),
        source: &str,
        mut report: impl FnMut(String),
    ) {
        let Some((min_value, max_value)) = observed.range.as_ref().filter(|_| self.ordered) else { return };
        let text = |bound: &Bound| bound.text(self.descriptor);
        if let Some(min) = min.and_then(|bytes| Bound::decode(bytes, self.descriptor))
            && (min_value.is_less(&min) || (min_is_exact && min.is_less(min_value)))
        {
            report(format!("minimum {} in the {source}, {} in the data", text(&min), text(min_value)));
        }
        if let Some(max) = max.and_then(|bytes| Bound::decode(bytes, self.descriptor))
            && (max.is_less(max_value) || (max_is_exact && max_value.is_less(&max)))
        {
            report(format!("maximum {} in the {source}, {} in the data", text(&max), text(max_value)));
        }
    }

    /// Checks the order of pages that the column index declares.
    fn disorder(&self, metadata: FileInfo<'_>, row_group: usize) -> Option<String> {
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
