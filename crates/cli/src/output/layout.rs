//! Layout of text in aligned columns: which columns fit, and their widths.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::console::terminal::Terminal;

const GAP: usize = 2;
/// Minimum width of a truncated column.
const MIN_WIDTH: usize = 8;
const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Alignment and truncation of a column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) header: String,
    /// Aligned to the right.
    pub(crate) right: bool,
    /// Never truncated, because a part of the value would mislead.
    pub(crate) whole: bool,
}

impl Column {
    /// A column of text, aligned to the left, that may be truncated.
    pub(crate) fn text(header: &str) -> Self {
        Self { header: header.to_owned(), right: false, whole: false }
    }

    /// A column of short text that is never truncated.
    pub(crate) fn word(header: &str) -> Self {
        Self { header: header.to_owned(), right: false, whole: true }
    }

    /// A column of numbers.
    pub(crate) fn number(header: &str) -> Self {
        Self { header: header.to_owned(), right: true, whole: true }
    }
}

/// One cell: its text, and whether it is a null.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) null: bool,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), null: false }
    }
}

/// Columns with their widths.
#[derive(Debug)]
pub(crate) struct Layout {
    columns: Vec<Column>,
    widths: Vec<usize>,
    colour: bool,
    total: usize,
}

impl Layout {
    /// Chooses widths so that `rows` fit the terminal: first text is truncated, then columns at the right are hidden.
    pub(crate) fn fit(columns: Vec<Column>, rows: &[Vec<Cell>], terminal: Terminal) -> Self {
        let mut natural: Vec<usize> = columns.iter().map(|column| column.header.width()).collect();
        for row in rows {
            for (width, cell) in natural.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let total = columns.len();
        let Some(available) = terminal.width else {
            return Self { columns, widths: natural, colour: terminal.colour, total };
        };
        let min = |index: usize| {
            let column: &Column = &columns[index];
            if column.whole { natural[index] } else { natural[index].min(MIN_WIDTH.max(column.header.width().min(20))) }
        };
        // Besides the columns, gaps and the mark for hidden columns need room.
        let overhead = |shown: usize| GAP * (shown - 1) + if shown < total { GAP + 1 } else { 0 };
        let fits = |&shown: &usize| (0..shown).map(min).sum::<usize>() + overhead(shown) <= available;
        let shown = (1..=total).rev().find(fits).unwrap_or(total.min(1));
        let room = available.saturating_sub(if shown > 0 { overhead(shown) } else { 0 });
        let min: Vec<usize> = (0..shown).map(|index| min(index).min(room)).collect();
        let widths = share(&natural[..shown], &min, room);
        let mut columns = columns;
        columns.truncate(shown);
        Self { columns, widths, colour: terminal.colour, total }
    }

    /// Number of hidden columns.
    pub(crate) fn hidden_count(&self) -> usize {
        self.total - self.columns.len()
    }

    /// The header and the rule below it.
    pub(crate) fn write_header(&self, out: &mut String) {
        let cells: Vec<Cell> = self.columns.iter().map(|column| Cell::from(column.header.clone())).collect();
        self.write_line(&cells, Some(BOLD), out);
        let rules: Vec<Cell> = self.widths.iter().map(|&width| Cell::from("─".repeat(width))).collect();
        self.write_line(&rules, Some(DIM), out);
    }

    /// One row.
    pub(crate) fn write_row(&self, row: &[Cell], out: &mut String) {
        self.write_line(row, None, out);
    }

    fn write_line(&self, cells: &[Cell], style: Option<&str>, out: &mut String) {
        let style = style.filter(|_| self.colour);
        for (index, ((cell, column), &width)) in cells.iter().zip(&self.columns).zip(&self.widths).enumerate() {
            if index > 0 {
                out.push_str(&" ".repeat(GAP));
            }
            let text_width = cell.text.width();
            let padding = width.saturating_sub(text_width);
            if column.right {
                out.push_str(&" ".repeat(padding));
            }
            let style = if cell.null && self.colour { Some(DIM) } else { style };
            out.push_str(style.unwrap_or_default());
            if text_width > width {
                push_cut(&cell.text, width, out);
            } else {
                out.push_str(&cell.text);
            }
            out.push_str(style.map_or("", |_| PLAIN));
            if !column.right && (index + 1 < self.columns.len() || self.hidden_count() > 0) {
                out.push_str(&" ".repeat(padding));
            }
        }
        if self.hidden_count() > 0 {
            out.push_str("  …");
        }
        out.push('\n');
    }
}

/// Widths between `min` and `natural` that add up to at most `room`: the widest columns are reduced to a common width.
fn share(natural: &[usize], min: &[usize], room: usize) -> Vec<usize> {
    let at_level = |level: usize| natural.iter().zip(min).map(move |(&natural, &min)| natural.min(level).max(min));
    let widest = natural.iter().copied().max().unwrap_or(0);
    // Binary search for the largest common width that fits.
    let (mut low, mut high) = (0, widest);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if at_level(middle).sum::<usize>() <= room { low = middle } else { high = middle - 1 }
    }
    let mut widths: Vec<usize> = at_level(low).collect();
    // The remainder goes to the first columns that can use it.
    let mut left = room.saturating_sub(widths.iter().sum());
    for (width, &natural) in widths.iter_mut().zip(natural) {
        if left > 0 && *width < natural {
            *width += 1;
            left -= 1;
        }
    }
    widths
}

/// Appends `text` truncated to `width`, with a final `…`.
fn push_cut(text: &str, width: usize, out: &mut String) {
    let mut used = 0;
    for c in text.chars() {
        let c_width = c.width().unwrap_or(0);
        if used + c_width + 1 > width {
            break;
        }
        out.push(c);
        used += c_width;
    }
    out.push('…');
    // A wide character that did not fit leaves one cell empty.
    out.push_str(&" ".repeat(width.saturating_sub(used + 1)));
}

/// Replaces control characters, and characters that change the direction of text.
pub(crate) fn printable(text: String) -> String {
    let unsafe_char = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(unsafe_char) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if unsafe_char(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(columns: Vec<Column>, rows: &[&[&str]], width: Option<usize>) -> Vec<String> {
        let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.iter().map(|&text| Cell::from(text)).collect()).collect();
        let layout = Layout::fit(columns, &rows, Terminal { width, colour: false });
        let mut out = String::new();
        layout.write_header(&mut out);
        for row in &rows {
            layout.write_row(row, &mut out);
        }
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn numbers_align_right_and_text_left() {
        let columns = vec![Column::text("name"), Column::number("n")];
        assert_eq!(
            lines(columns, &[&["a", "1"], &["bcdef", "22"]], None),
            ["name    n", "─────  ──", "a       1", "bcdef  22"]
        );
    }

    #[test]
    fn long_text_is_truncated_so_that_the_line_fits() {
        let columns = vec![Column::text("text"), Column::number("n")];
        let lines = lines(columns, &[&["abcdefghijklmnopqrstuvwxyz", "123456"]], Some(20));
        assert_eq!(lines[2], "abcdefghijk…  123456");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 12..200 {
            let columns = (0..12).map(|i| if i % 3 == 0 { Column::number("number") } else { Column::text("a text") });
            let row: Vec<&str> =
                (0..12).map(|i| if i % 3 == 0 { "1234567890" } else { "漢字漢字漢字漢字 and more" }).collect();
            for line in lines(columns.collect(), &[&row], Some(width)) {
                assert!(line.width() <= width, "{width}: {line:?} is {} wide", line.width());
            }
        }
    }

    #[test]
    fn columns_that_do_not_fit_are_hidden_with_a_mark() {
        let columns = vec![Column::number("a"), Column::number("b"), Column::number("c")];
        let rows: &[&[&str]] = &[&["123456789", "123456789", "123456789"]];
        assert_eq!(lines(columns.clone(), rows, Some(25))[2], "123456789  123456789  …");
        assert_eq!(lines(columns, rows, Some(31))[2], "123456789  123456789  123456789");
    }

    #[test]
    fn characters_of_double_width_count_twice() {
        let columns = vec![Column::text("text"), Column::text("b")];
        assert_eq!(lines(columns, &[&["漢字", "x"], &["abcd", "y"]], None)[2..], ["漢字  x", "abcd  y"]);
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(printable("a\x1b[31mb\n\u{202e}".to_owned()), "a\\u{1b}[31mb\\n\\u{202e}");
        assert_eq!(printable("päivä 漢".to_owned()), "päivä 漢");
    }
}
