//! Entries as a table, as CSV and as JSON lines.

use std::io::{IsTerminal, Write};

use crate::args::EntryFormat;
use crate::console::terminal::Terminal;
use crate::failure::{Failure, Result};
use crate::output::layout::{Cell, Column, Layout, printable};
use crate::target::Target;

/// Number of rows by which the widths of a table are chosen.
const MEASURED: usize = 1000;

/// Writes rows of two columns.
pub(super) struct Entries {
    target: Target,
    format: EntryFormat,
    names: [&'static str; 2],
    /// Rows that are buffered until the widths are chosen.
    waiting: Vec<Vec<Cell>>,
    layout: Option<Layout>,
    has_begun: bool,
}

impl Entries {
    pub(super) fn new(target: Target, format: Option<EntryFormat>, names: [&'static str; 2]) -> Self {
        let of_terminal = || if std::io::stdout().is_terminal() { EntryFormat::Table } else { EntryFormat::Jsonl };
        let format = format.unwrap_or_else(of_terminal);
        Self { target, format, names, waiting: Vec::new(), layout: None, has_begun: false }
    }

    pub(super) fn add(&mut self, first: String, second: String) -> Result<()> {
        let text = match self.format {
            EntryFormat::Table => {
                self.waiting.push(vec![Cell::from(printable(first)), Cell::from(printable(second))]);
                return if self.waiting.len() < MEASURED { Ok(()) } else { self.write_table() };
            }
            EntryFormat::Csv => {
                let header =
                    if self.has_begun { String::new() } else { format!("{},{}\n", self.names[0], self.names[1]) };
                format!("{header}{},{}\n", field(&first), field(&second))
            }
            EntryFormat::Jsonl => {
                let (first, second) = (serde_json::Value::from(first), serde_json::Value::from(second));
                format!("{{\"{}\":{first},\"{}\":{second}}}\n", self.names[0], self.names[1])
            }
        };
        self.has_begun = true;
        self.write(&text)
    }

    fn write_table(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        let mut text = String::new();
        let layout = match &self.layout {
            Some(layout) => layout,
            None => {
                let layout = Layout::fit(self.names.map(Column::text).to_vec(), &rows, Terminal::stdout());
                layout.write_header(&mut text);
                self.layout.insert(layout)
            }
        };
        rows.iter().for_each(|row| layout.write_row(row, &mut text));
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.target.write_all(text.as_bytes()).map_err(|error| Failure::writing(self.target.name(), &error))
    }

    pub(super) fn finish(mut self) -> Result<()> {
        match self.format {
            EntryFormat::Table => self.write_table()?,
            EntryFormat::Csv if !self.has_begun => {
                let header = format!("{},{}\n", self.names[0], self.names[1]);
                self.write(&header)?;
            }
            _ => {}
        }
        self.target.finish()
    }
}

/// A CSV field, quoted if necessary.
fn field(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
