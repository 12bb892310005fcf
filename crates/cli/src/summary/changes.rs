//! Differences between outputs and inputs, besides sizes and encodings.

use std::collections::{BTreeMap, BTreeSet};

use lath_format::FileMetaData;
use lath_format::schema::{ColumnDescriptor, Type};
use lath_format::schema::{print_schema, write_path};
use lath_parquet::ParquetFile;
use lath_writer::WriteSummary;

use crate::console::quantity::plural;

/// Maximum number of names in a line; the others are counted.
const MAX_NAMES: usize = 5;

/// The properties of all inputs and outputs.
#[derive(Debug, Default)]
pub(super) struct Changes {
    before: Properties,
    after: Properties,
}

#[derive(Debug, Default)]
struct Properties {
    columns: BTreeMap<String, Column>,
    /// The sort orders of row groups.
    sorting: BTreeSet<String>,
    /// The keys of the files' key-value metadata.
    keys: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Column {
    types: BTreeSet<String>,
    codecs: BTreeSet<String>,
    has_bloom_filter: bool,
    has_page_index: bool,
    has_chunk_keys: bool,
}

impl Changes {
    pub(super) fn add_input(&mut self, file: &ParquetFile) {
        let with_keys = file.columns_with_chunk_key_values();
        self.before.add(file.metadata(), |column| with_keys.contains(&column));
    }

    pub(super) fn add_output(&mut self, written: &WriteSummary) {
        let has_chunk_keys = |column: usize| written.columns.get(column).is_some_and(|c| c.chunks_with_key_values > 0);
        self.after.add(&written.metadata, has_chunk_keys);
    }

    /// A line for each property that differs. Columns that were left out do not count.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self { before, after } = self;
        let both = || before.columns.iter().filter_map(|(path, column)| Some((path, column, after.columns.get(path)?)));
        let mut lines = Vec::new();
        let types = both().filter(|(_, before, after)| before.types != after.types);
        lines.extend(
            types.map(|(path, before, after)| {
                format!("type of {path}: {} → {}", join(&before.types), join(&after.types))
            }),
        );
        let mut codecs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let are_written = |column: &Column| !column.codecs.is_empty();
        for (path, before, after) in both().filter(|(_, before, after)| are_written(before) && are_written(after)) {
            if before.codecs != after.codecs {
                let change = format!("{} → {}", join(&before.codecs), join(&after.codecs));
                codecs.entry(change).or_default().push(path);
            }
        }
        lines.extend(codecs.iter().map(|(change, paths)| format!("codec: {change} ({})", names(paths))));
        for (what, has) in [
            ("Bloom filters", (|column| column.has_bloom_filter) as fn(&Column) -> bool),
            ("page index", |column| column.has_page_index),
            ("key-value metadata of column chunks", |column| column.has_chunk_keys),
        ] {
            let lost = both().filter(|(_, before, after)| has(before) && are_written(after) && !has(after));
            let lost: Vec<&str> = lost.map(|(path, ..)| path.as_str()).collect();
            if !lost.is_empty() {
                lines.push(format!("{what} left out: {}", names(&lost)));
            }
        }
        if !before.sorting.is_empty() && !after.sorting.is_empty() && before.sorting != after.sorting {
            lines.push(format!("sorted by: {} → {}", join(&before.sorting), join(&after.sorting)));
        }
        let lost: Vec<&str> = before.keys.difference(&after.keys).map(String::as_str).collect();
        if !lost.is_empty() {
            lines.push(format!("key-value metadata left out: {}", names(&lost)));
        }
        lines
    }
}

impl Properties {
    fn add(&mut self, metadata: &FileMetaData, has_chunk_keys: impl Fn(usize) -> bool) {
        let described = metadata.schema_descr().columns();
        for (index, described) in described.iter().enumerate() {
            let column = self.columns.entry(write_path(described.path().parts())).or_default();
            column.types.insert(type_text(described));
            column.has_chunk_keys |= has_chunk_keys(index);
            // A chunk that cannot be read is reported when rows are read.
            for chunk in (0..metadata.row_group_count()).filter_map(|row_group| metadata.chunk(row_group, index).ok()) {
                column.codecs.insert(chunk.codec().to_string());
                column.has_bloom_filter |= chunk.bloom_filter().is_some();
                column.has_page_index |= chunk.offset_index().is_some();
            }
        }
        for row_group in metadata.row_groups() {
            let sorting = row_group.sorting_columns().into_iter().flatten().map(|sorting| {
                let column = usize::try_from(sorting.column_idx).ok();
                let path = column.and_then(|column| described.get(column));
                let path = path.map_or_else(|| "?".to_owned(), |column| write_path(column.path().parts()));
                let (descending, nulls_first) = (sorting.descending, sorting.nulls_first);
                format!(
                    "{path}{}{}",
                    if descending { ":desc" } else { "" },
                    if nulls_first { ":nulls-first" } else { "" }
                )
            });
            let sorting = sorting.collect::<Vec<_>>().join(",");
            self.sorting.insert(if sorting.is_empty() { "nothing".to_owned() } else { sorting });
        }
        self.keys.extend(metadata.key_value_metadata().into_iter().map(|pair| pair.key));
    }
}

/// The type in Parquet's schema language, without the name.
fn type_text(column: &ColumnDescriptor) -> String {
    let ty: &Type = column.self_type();
    let mut text = Vec::new();
    print_schema(&mut text, ty);
    let text = String::from_utf8_lossy(&text);
    text.trim_end().trim_end_matches(';').replacen(&format!(" {}", ty.name()), "", 1)
}

fn join(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn names(all: &[&str]) -> String {
    match all.len().checked_sub(MAX_NAMES).filter(|&more| more > 0) {
        None => all.join(", "),
        Some(more) => format!("{} and {}", all[..MAX_NAMES].join(", "), plural(more as u64, "other")),
    }
}
