//! Metadata as tables that fit the terminal.

use lath_format::schema::ColumnDescriptor;
use lath_format::{ColumnChunk, RowGroup};

use super::Subject;

use crate::console::quantity::{bytes, grouped};
use crate::console::terminal::Terminal;
use crate::metadata::page_index::pages;
use crate::metadata::parquet_type::{logical_type, physical_type};
use crate::metadata::statistic::Statistic;
use crate::output::layout::{Cell, Column, Layout, printable};

/// Maximum number of row groups in the table.
const MAX_ROW_GROUPS: usize = 20;

/// The whole description.
pub(super) fn describe(subject: &Subject, with_pages: bool) -> String {
    let mut text = summary(subject);
    text.push_str(&row_groups(subject));
    text.push_str(&columns(subject));
    if with_pages {
        for &row_group in &subject.row_groups {
            for &column in &subject.columns {
                text.push_str(&page_table(subject, row_group, column));
            }
        }
    }
    text
}

fn table(title: &str, columns: Vec<Column>, rows: &[Vec<Cell>]) -> String {
    let layout = Layout::fit(columns, rows, Terminal::stdout());
    let mut text = format!("\n{title}\n");
    layout.write_header(&mut text);
    for row in rows {
        layout.write_row(row, &mut text);
    }
    text
}

fn summary(subject: &Subject) -> String {
    let file = subject.metadata();
    let compressed: u64 = file.row_groups().map(|row_group| row_group.compressed_size()).sum();
    let uncompressed: u64 = file.row_groups().map(uncompressed_size).sum();
    let mut lines = vec![
        ("rows", grouped(count(file.num_rows()))),
        ("row groups", grouped(file.row_group_count() as u64)),
        ("columns", grouped(file.column_count() as u64)),
    ];
    if let Some(file_bytes) = subject.file_bytes {
        lines.push(("file", bytes(file_bytes)));
    }
    lines.push(("data", format!("{}, uncompressed {}", bytes(compressed), bytes(uncompressed))));
    lines.push(("format version", file.version().to_string()));
    if let Some(created_by) = file.created_by() {
        lines.push(("created by", printable(created_by.to_owned())));
    }
    for pair in file.key_value_metadata() {
        let value = pair.value.as_deref().unwrap_or_default();
        let shown = match value.chars().count() {
            0..=50 => printable(value.to_owned()),
            length => format!("{} characters", grouped(length as u64)),
        };
        lines.push(("metadata", format!("{} = {shown}", printable(pair.key.clone()))));
    }
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = format!("{}\n", printable(subject.name.clone()));
    for (name, value) in lines {
        text.push_str(&format!("  {name:<width$}  {value}\n"));
    }
    text
}

fn row_groups(subject: &Subject) -> String {
    let schema = subject.metadata().schema_descr();
    let rows: Vec<Vec<Cell>> = subject
        .row_groups
        .iter()
        .take(MAX_ROW_GROUPS)
        .filter_map(|&index| subject.metadata().row_group(index))
        .map(|row_group| {
            let sorting = row_group.sorting_columns().unwrap_or_default();
            let sorting = sorting.iter().map(|sorting| {
                let column = usize::try_from(sorting.column_idx).ok().filter(|&column| column < schema.num_columns());
                let path =
                    column.map_or_else(|| "?".to_owned(), |column| printable(schema.column(column).path().string()));
                if sorting.descending { format!("{path} descending") } else { path }
            });
            let start = row_group.columns().flatten().map(first_page_offset).min().unwrap_or(0);
            vec![
                row_group.index().to_string().into(),
                grouped(row_group.num_rows()).into(),
                bytes(row_group.compressed_size()).into(),
                bytes(uncompressed_size(row_group)).into(),
                grouped(start).into(),
                sorting.collect::<Vec<_>>().join(", ").into(),
            ]
        })
        .collect();
    let mut columns = vec![
        Column::number("#"),
        Column::number("rows"),
        Column::number("compressed"),
        Column::number("uncompressed"),
        Column::number("offset"),
    ];
    let mut rows = rows;
    if rows.iter().any(|row| !row[5].text.is_empty()) {
        columns.push(Column::text("sorted by"));
    } else {
        for row in &mut rows {
            row.truncate(5);
        }
    }
    let mut text = table("Row groups", columns, &rows);
    if subject.row_groups.len() > MAX_ROW_GROUPS {
        let more = subject.row_groups.len() - MAX_ROW_GROUPS;
        text.push_str(&format!("… and {} more; --row-groups selects some, --json shows all\n", grouped(more as u64)));
    }
    text
}

/// One column over all chosen row groups.
struct Summary<'a> {
    descriptor: &'a ColumnDescriptor,
    chunks: Vec<ColumnChunk<'a>>,
    /// The error of a chunk that cannot be read.
    error: Option<String>,
}

fn columns(subject: &Subject) -> String {
    let metadata = subject.metadata();
    let summaries: Vec<Summary<'_>> = subject
        .columns
        .iter()
        .map(|&column| {
            let mut summary = Summary {
                descriptor: metadata.schema_descr().columns()[column].as_ref(),
                chunks: Vec::new(),
                error: None,
            };
            for &row_group in &subject.row_groups {
                match metadata.chunk(row_group, column) {
                    Ok(chunk) => summary.chunks.push(chunk),
                    Err(error) => summary.error = summary.error.or_else(|| Some(error.to_string())),
                }
            }
            summary
        })
        .collect();
    let storage: Vec<Vec<Cell>> = summaries.iter().map(Summary::storage).collect();
    let values: Vec<Vec<Cell>> = summaries.iter().map(Summary::values).collect();
    let name = || Column::text("column");
    let storage_columns = vec![
        name(),
        Column::text("type"),
        Column::word("codec"),
        Column::text("encodings"),
        Column::number("size"),
        Column::number("ratio"),
    ];
    let value_columns = vec![
        name(),
        Column::number("values"),
        Column::number("nulls"),
        Column::text("min"),
        Column::text("max"),
        Column::word("index"),
    ];
    let mut text = table("Columns: storage", storage_columns, &storage);
    text.push_str(&table("Columns: values", value_columns, &values));
    let has = |letter: &str| values.iter().any(|row| row[5].text.contains(letter));
    let legend: Vec<&str> = [("B", "B Bloom filter"), ("P", "P page index"), ("O", "O offset index only")]
        .into_iter()
        .filter(|(letter, _)| has(letter))
        .map(|(_, meaning)| meaning)
        .collect();
    if !legend.is_empty() {
        text.push_str(&format!("index: {}\n", legend.join(", ")));
    }
    text
}

impl Summary<'_> {
    fn name(&self) -> Cell {
        printable(self.descriptor.path().string()).into()
    }

    fn storage(&self) -> Vec<Cell> {
        let info = self.descriptor.self_type().get_basic_info();
        let logical = logical_type(info, self.descriptor.type_precision(), self.descriptor.type_scale());
        let physical = physical_type(self.descriptor.physical_type(), self.descriptor.type_length());
        let compressed: u64 = self.chunks.iter().map(ColumnChunk::compressed_size).sum();
        let uncompressed: u64 = self.chunks.iter().map(ColumnChunk::uncompressed_size).sum();
        let ratio =
            if compressed > 0 { format!("{:.2}", uncompressed as f64 / compressed as f64) } else { String::new() };
        vec![
            self.name(),
            // The logical type, or the physical type if there is none.
            logical.unwrap_or(physical).into(),
            distinct(self.chunks.iter().map(|chunk| chunk.codec().to_string())).into(),
            self.encodings().into(),
            bytes(compressed).into(),
            ratio.into(),
        ]
    }

    /// The encodings of values; encodings of levels are included only if there are no others.
    fn encodings(&self) -> String {
        if let Some(error) = &self.error {
            return format!("cannot be read: {error}");
        }
        let all: Vec<String> =
            self.chunks.iter().flat_map(ColumnChunk::encodings).map(|encoding| encoding.to_string()).collect();
        let of_values = |encoding: &&String| !matches!(encoding.as_str(), "RLE" | "BIT_PACKED");
        let values = distinct(all.iter().filter(of_values).cloned());
        if values.is_empty() { distinct(all.into_iter()) } else { values }
    }

    fn values(&self) -> Vec<Cell> {
        let values: u64 = self.chunks.iter().map(ColumnChunk::num_values).sum();
        let nulls: Option<u64> = self.chunks.iter().map(|chunk| chunk.statistics()?.null_count).sum();
        let every =
            |has: fn(&ColumnChunk<'_>) -> bool| !self.chunks.is_empty() && self.chunks.iter().all(|chunk| has(chunk));
        let mut index = String::new();
        if every(|chunk| chunk.bloom_filter().is_some()) {
            index.push('B');
        }
        if every(|chunk| chunk.column_index().is_some()) {
            index.push('P');
        } else if every(|chunk| chunk.offset_index().is_some()) {
            index.push('O');
        }
        vec![
            self.name(),
            grouped(values).into(),
            nulls.map(grouped).unwrap_or_default().into(),
            self.bound(Bound::Min).into(),
            self.bound(Bound::Max).into(),
            index.into(),
        ]
    }

    /// The minimum or maximum over all row groups; empty if one of them has none.
    fn bound(&self, bound: Bound) -> String {
        let mut best: Option<Statistic> = None;
        for chunk in &self.chunks {
            let statistics = chunk.statistics().filter(|statistics| !statistics.is_deprecated);
            let all_null = statistics.is_some_and(|statistics| {
                statistics.min.is_none() && statistics.null_count == Some(chunk.num_values())
            });
            if all_null {
                continue;
            }
            let bytes = statistics.and_then(|statistics| match bound {
                Bound::Min => statistics.min,
                Bound::Max => statistics.max,
            });
            let Some(value) = bytes.and_then(|bytes| Statistic::decode(bytes, self.descriptor)) else {
                return String::new();
            };
            let replaces = match (&best, bound) {
                (None, _) => true,
                (Some(best), Bound::Min) => value.is_less_than(best),
                (Some(best), Bound::Max) => best.is_less_than(&value),
            };
            if replaces {
                best = Some(value);
            }
        }
        best.map(|value| value.text()).unwrap_or_default()
    }
}

#[derive(Clone, Copy)]
enum Bound {
    Min,
    Max,
}

fn page_table(subject: &Subject, row_group: usize, column: usize) -> String {
    let descriptor = &subject.metadata().schema_descr().columns()[column];
    let path = printable(descriptor.path().string());
    let Some(pages) = pages(subject.info(), row_group, column) else {
        let why = match subject.metadata().chunk(row_group, column) {
            Ok(chunk) if chunk.is_encrypted() => {
                "encrypted: give its key with --footer-key and --column-key".to_owned()
            }
            Ok(_) => "no offset index".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        return format!("\nPages of {path} in row group {row_group}: {why}\n");
    };
    let value = |bytes: Option<&[u8]>| {
        bytes.and_then(|bytes| Statistic::decode(bytes, descriptor)).map(|value| value.text()).unwrap_or_default()
    };
    let rows: Vec<Vec<Cell>> = pages
        .iter()
        .enumerate()
        .map(|(index, page)| {
            let bounds = page.bounds.as_ref();
            vec![
                index.to_string().into(),
                grouped(count(page.first_row)).into(),
                grouped(count(page.row_count)).into(),
                grouped(count(page.offset)).into(),
                bytes(count(page.compressed_bytes)).into(),
                bounds
                    .and_then(|bounds| bounds.null_count)
                    .map(|nulls| grouped(count(nulls)))
                    .unwrap_or_default()
                    .into(),
                bounds.map(|bounds| value(bounds.min)).unwrap_or_default().into(),
                bounds.map(|bounds| value(bounds.max)).unwrap_or_default().into(),
            ]
        })
        .collect();
    let columns = vec![
        Column::number("#"),
        Column::number("first row"),
        Column::number("rows"),
        Column::number("offset"),
        Column::number("size"),
        Column::number("nulls"),
        Column::text("min"),
        Column::text("max"),
    ];
    table(&format!("Pages of {path} in row group {row_group}"), columns, &rows)
}

/// A count of the metadata; 0 if it is negative.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Bytes before compression, as recorded in the file.
fn uncompressed_size(row_group: RowGroup<'_>) -> u64 {
    row_group.total_byte_size().map_or(0, count)
}

/// Offset of the first page of a chunk.
fn first_page_offset(chunk: ColumnChunk<'_>) -> u64 {
    let dictionary = chunk.dictionary_page_offset().filter(|offset| *offset > 0);
    dictionary.unwrap_or(u64::MAX).min(chunk.data_page_offset())
}

fn distinct(words: impl Iterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen.join(", ")
}
