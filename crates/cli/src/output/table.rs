//! Rows as a table for the terminal.

use std::io::Write;
use std::mem;

use arrow_array::RecordBatch;
use arrow_json::EncoderOptions;
use arrow_schema::{DataType, SchemaRef};
use lath_text::{CellFormatter, encoder_options, in_utc};
use lath_writer::WriteSummary;

use super::RowSink;
use super::layout::{Cell, Column, Layout, printable};
use crate::console::quantity::{grouped, plural};
use crate::console::terminal::Terminal;
use crate::failure::{Failure, Result};
use crate::target::Target;

/// Number of rows by which the widths of the columns are chosen.
const SAMPLE_ROWS: usize = 1000;

/// Rows as an aligned table, with the number of rows below it.
pub(super) struct TableSink {
    target: Target,
    terminal: Terminal,
    schema: SchemaRef,
    options: EncoderOptions,
    /// Rows that are buffered until the widths are chosen.
    waiting: Vec<Vec<Cell>>,
    layout: Option<Layout>,
    row_count: u64,
}

impl TableSink {
    pub(super) fn new(target: Target, schema: SchemaRef, terminal: Terminal) -> Self {
        Self { target, terminal, schema, options: encoder_options(), waiting: Vec::new(), layout: None, row_count: 0 }
    }

    /// Chooses the widths by the buffered rows, and writes them.
    fn settle(&mut self) -> Result<()> {
        let columns = self.schema.fields().iter().map(|field| Column {
            header: printable(field.name().clone()),
            right: is_numeric(field.data_type()),
            whole: is_indivisible(field.data_type()),
        });
        let rows = mem::take(&mut self.waiting);
        let layout = Layout::fit(columns.collect(), &rows, self.terminal);
        let mut text = String::new();
        layout.write_header(&mut text);
        for row in &rows {
            layout.write_row(row, &mut text);
        }
        self.layout = Some(layout);
        self.write_text(&text)
    }

    fn write_text(&mut self, text: &str) -> Result<()> {
        self.target.write_all(text.as_bytes()).map_err(|error| Failure::writing(self.target.name(), &error))
    }
}

impl RowSink for TableSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = row_cells(batch, &self.options, self.target.name())?;
        let mut text = String::new();
        for cells in rows {
            match &self.layout {
                Some(layout) => layout.write_row(&cells, &mut text),
                None => {
                    self.waiting.push(cells);
                    if self.waiting.len() == SAMPLE_ROWS {
                        self.settle()?;
                    }
                }
            }
        }
        self.row_count += batch.num_rows() as u64;
        self.write_text(&text)
    }

    fn finish(mut self: Box<Self>) -> Result<Option<WriteSummary>> {
        if self.layout.is_none() {
            self.settle()?;
        }
        let hidden = self.layout.as_ref().map_or(0, Layout::hidden_count);
        let columns = self.schema.fields().len();
        let mut line = format!("{}, {}", plural(self.row_count, "row"), plural(columns as u64, "column"));
        if hidden > 0 {
            line.push_str(&format!(" ({} shown)", grouped((columns - hidden) as u64)));
        }
        line = match self.terminal.colour {
            true => format!("\x1b[2m{line}\x1b[0m\n"),
            false => format!("{line}\n"),
        };
        self.write_text(&line)?;
        self.target.finish()?;
        Ok(None)
    }
}

/// The cells of each row.
pub(super) fn row_cells(batch: &RecordBatch, options: &EncoderOptions, name: &str) -> Result<Vec<Vec<Cell>>> {
    let failed = |error| Failure::encoding(name, error);
    let batch = in_utc(batch).map_err(failed)?;
    let schema = batch.schema();
    let fields_and_columns = schema.fields().iter().zip(batch.columns());
    let mut formatters: Vec<_> = fields_and_columns
        .map(|(field, column)| CellFormatter::new(field, column, options).map_err(failed))
        .collect::<Result<_>>()?;
    let cell = |formatter: &mut CellFormatter<'_>, row| {
        let mut text = String::new();
        Ok(match formatter.write(row, &mut text).map_err(failed)? {
            true => Cell::from(printable(text)),
            false => Cell { text: "null".to_owned(), null: true },
        })
    };
    (0..batch.num_rows()).map(|row| formatters.iter_mut().map(|formatter| cell(formatter, row)).collect()).collect()
}

/// Whether values of this type are aligned to the right.
fn is_numeric(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_numeric(value),
        other => other.is_numeric(),
    }
}

/// Whether values of this type must not be truncated.
fn is_indivisible(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_indivisible(value),
        other => other.is_numeric() || other.is_temporal() || other == &DataType::Boolean,
    }
}
