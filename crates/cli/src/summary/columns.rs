//! Sizes of leaf columns before and after.

use std::collections::BTreeSet;

use lath_format::FileMetaData;
use lath_writer::{ChosenEncoding, WriteSummary};
use serde_json::{Value, json};

use super::percent;
use crate::console::quantity::{bytes, plural};
use crate::console::terminal::Terminal;
use crate::output::layout::{Cell, Column, Layout, printable};

/// Maximum number of columns in the table.
const MAX_COLUMNS: usize = 100;

/// The leaf columns of all inputs and outputs, in file order.
#[derive(Debug, Default)]
pub(super) struct Columns(Vec<Change>);

/// One leaf column.
#[derive(Debug)]
struct Change {
    path: String,
    before: Option<ChunkTotals>,
    after: Option<ChunkTotals>,
    /// The encodings that the writer chose, with reasons; empty if chunks were copied.
    chosen: Vec<ChosenEncoding>,
}

/// Totals of column chunks.
#[derive(Debug, Default)]
struct ChunkTotals {
    compressed_bytes: u64,
    uncompressed_bytes: u64,
    codecs: BTreeSet<String>,
    encodings: BTreeSet<String>,
}

impl Columns {
    pub(super) fn add_input(&mut self, metadata: &FileMetaData) {
        self.add(metadata, |change| change.before.get_or_insert_default());
    }

    pub(super) fn add_output(&mut self, written: &WriteSummary) {
        self.add(&written.metadata, |change| change.after.get_or_insert_default());
        for column in &written.columns {
            let change = self.change(&column.path);
            for chosen in &column.encodings {
                let same =
                    |known: &&mut ChosenEncoding| known.encoding == chosen.encoding && known.reason == chosen.reason;
                match change.chosen.iter_mut().find(same) {
                    Some(known) => known.row_groups += chosen.row_groups,
                    None => change.chosen.push(chosen.clone()),
                }
            }
        }
    }

    fn add(&mut self, metadata: &FileMetaData, side: fn(&mut Change) -> &mut ChunkTotals) {
        for (index, column) in metadata.schema_descr().columns().iter().enumerate() {
            let stored = side(self.change(&column.path().string()));
            for chunk in (0..metadata.row_group_count()).filter_map(|row_group| metadata.chunk(row_group, index).ok()) {
                stored.compressed_bytes += chunk.compressed_size();
                stored.uncompressed_bytes += chunk.uncompressed_size();
                stored.codecs.insert(chunk.codec().to_string());
                stored.encodings.extend(chunk.encodings().iter().map(ToString::to_string));
            }
        }
    }

    fn change(&mut self, path: &str) -> &mut Change {
        let index = self.0.iter().position(|change| change.path == path).unwrap_or_else(|| {
            self.0.push(Change { path: path.to_owned(), before: None, after: None, chosen: Vec::new() });
            self.0.len() - 1
        });
        &mut self.0[index]
    }

    /// The columns as a table; empty if no Parquet was written.
    pub(super) fn table(&self, terminal: Terminal) -> String {
        if self.0.iter().all(|change| change.after.is_none()) {
            return String::new();
        }
        let has_before = self.0.iter().any(|change| change.before.is_some());
        let rows: Vec<Vec<Cell>> = self.0.iter().take(MAX_COLUMNS).map(|change| change.cells(has_before)).collect();
        let mut columns = vec![Column::text("column")];
        if has_before {
            columns.extend([Column::number("before"), Column::number("after"), Column::number("share")]);
        } else {
            columns.push(Column::number("bytes"));
        }
        columns.extend([Column::text("codec"), Column::text("encoding"), Column::text("why")]);
        let mut text = String::new();
        let layout = Layout::fit(columns, &rows, terminal);
        layout.write_header(&mut text);
        rows.iter().for_each(|row| layout.write_row(row, &mut text));
        if let Some(more) = self.0.len().checked_sub(MAX_COLUMNS).filter(|&more| more > 0) {
            text.push_str(&format!("… and {} (--json has them all)\n", plural(more as u64, "more column")));
        }
        text.push('\n');
        text
    }

    /// The columns as JSON; `None` if no Parquet was written.
    pub(super) fn json(&self) -> Option<Value> {
        let is_written = self.0.iter().any(|change| change.after.is_some());
        is_written.then(|| self.0.iter().map(Change::json).collect())
    }
}

impl Change {
    fn cells(&self, has_before: bool) -> Vec<Cell> {
        let size = |stored: &Option<ChunkTotals>| match stored {
            Some(stored) => Cell::from(bytes(stored.compressed_bytes)),
            None => Cell { text: "–".to_owned(), null: true },
        };
        let mut cells = vec![Cell::from(printable(self.path.clone()))];
        if has_before {
            let share = match (&self.before, &self.after) {
                (Some(before), Some(after)) => percent(after.compressed_bytes, before.compressed_bytes),
                _ => None,
            };
            cells.extend([size(&self.before), size(&self.after), share.unwrap_or_default().into()]);
        } else {
            cells.push(size(&self.after));
        }
        let (codecs, encoding, why) = match &self.after {
            None => (String::new(), String::new(), "left out".to_owned()),
            Some(after) if self.chosen.is_empty() => {
                let why = if after.compressed_bytes > 0 { "copied" } else { "" };
                (join(&after.codecs), join(&after.encodings), why.to_owned())
            }
            Some(after) => {
                let distinct: BTreeSet<String> = self.chosen.iter().map(|chosen| chosen.encoding.to_string()).collect();
                (join(&after.codecs), join(&distinct), self.why())
            }
        };
        cells.extend([codecs.into(), encoding.into(), printable(why).into()]);
        cells
    }

    /// The reason that applies to most row groups.
    fn why(&self) -> String {
        // The first of equals; `max_by_key` would give the last.
        let Some(most) = self.chosen.iter().rev().max_by_key(|chosen| chosen.row_groups) else {
            return String::new();
        };
        match self.chosen.len() {
            1 => most.reason.clone(),
            count => format!("{} (and {} in other row groups)", most.reason, plural(count as u64 - 1, "other reason")),
        }
    }

    fn json(&self) -> Value {
        let chosen: Vec<Value> = self
            .chosen
            .iter()
            .map(|chosen| {
                json!({
                    "encoding": chosen.encoding.to_string(),
                    "reason": chosen.reason,
                    "row_groups": chosen.row_groups,
                })
            })
            .collect();
        json!({
            "path": self.path,
            "before": self.before.as_ref().map(ChunkTotals::json),
            "after": self.after.as_ref().map(ChunkTotals::json),
            "chosen": chosen,
        })
    }
}

impl ChunkTotals {
    fn json(&self) -> Value {
        json!({
            "compressed_bytes": self.compressed_bytes,
            "uncompressed_bytes": self.uncompressed_bytes,
            "codecs": self.codecs,
            "encodings": self.encodings,
        })
    }
}

fn join(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use lath_parquet::Encoding;

    use super::*;

    #[test]
    fn the_reason_of_most_row_groups_is_shown() {
        let chosen = |reason: &str, row_groups| ChosenEncoding {
            encoding: Encoding::Plain,
            reason: reason.to_owned(),
            row_groups,
        };
        let why = |chosen| Change { path: "a".to_owned(), before: None, after: None, chosen }.why();
        assert_eq!(why(vec![]), "");
        assert_eq!(why(vec![chosen("x", 2)]), "x");
        assert_eq!(why(vec![chosen("x", 2), chosen("y", 2)]), "x (and 1 other reason in other row groups)");
        assert_eq!(
            why(vec![chosen("x", 1), chosen("y", 2), chosen("z", 1)]),
            "y (and 2 other reasons in other row groups)"
        );
    }
}
