//! Rows one below the other, with a line for each value: for rows that are wider than the terminal.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_json::EncoderOptions;
use arrow_schema::Schema;
use lath_text::encoder_options;
use lath_writer::WriteSummary;
use unicode_width::UnicodeWidthStr;

use super::RowSink;
use super::layout::printable;
use super::table::row_cells;
use crate::console::quantity::{grouped, plural};
use crate::console::terminal::Terminal;
use crate::failure::{Failure, Result};
use crate::target::Target;

/// Rows with a line for each value, which is never cut.
pub(super) struct VerticalSink {
    target: Target,
    colour: bool,
    options: EncoderOptions,
    /// Names of the columns, each as wide as the widest.
    names: Vec<String>,
    row_count: u64,
}

impl VerticalSink {
    pub(super) fn new(target: Target, schema: &Schema, terminal: Terminal) -> Self {
        let names: Vec<String> = schema.fields().iter().map(|field| printable(field.name().clone())).collect();
        let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
        let padded = names.iter().map(|name| format!("{name}{}", " ".repeat(widest - name.width())));
        let names = padded.collect();
        Self { target, colour: terminal.colour, options: encoder_options(), names, row_count: 0 }
    }

    fn write_text(&mut self, text: &str) -> Result<()> {
        self.target.write_all(text.as_bytes()).map_err(|error| Failure::writing(self.target.name(), &error))
    }
}

impl RowSink for VerticalSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let (dim, bold, plain) = if self.colour { ("\x1b[2m", "\x1b[1m", "\x1b[0m") } else { ("", "", "") };
        let mut text = String::new();
        for cells in row_cells(batch, &self.options, self.target.name())? {
            self.row_count += 1;
            text.push_str(&format!("{dim}─ row {} ─{plain}\n", grouped(self.row_count)));
            for (name, cell) in self.names.iter().zip(&cells) {
                let (start, end) = if cell.null { (dim, plain) } else { ("", "") };
                text.push_str(&format!("{bold}{name}{plain}  {start}{}{end}\n", cell.text));
            }
        }
        self.write_text(&text)
    }

    fn finish(mut self: Box<Self>) -> Result<Option<WriteSummary>> {
        let (dim, plain) = if self.colour { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        let (rows, columns) = (plural(self.row_count, "row"), plural(self.names.len() as u64, "column"));
        self.write_text(&format!("{dim}{rows}, {columns}{plain}\n"))?;
        self.target.finish()?;
        Ok(None)
    }
}
