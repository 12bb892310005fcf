//! Mistakes in the text of statements, shown below the line that they are in.

use std::ops::Range;

use lath_sql::{Error, Mistake};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::commands::engine::failed;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Width of lines where the terminal does not say.
const WIDTH: usize = 110;
const INDENT: &str = "  ";

/// The failure of a statement of `text`, which is that of the file called `name`, if it is one.
pub(super) fn failed_in(text: &str, name: Option<&str>, error: Error) -> Failure {
    match error {
        Error::Mistake(mistake) => {
            let width = Terminal::stderr().width.unwrap_or(WIDTH);
            Failure::Usage(message(&mistake, text, name, width))
        }
        other => failed(other),
    }
}

fn message(mistake: &Mistake, text: &str, name: Option<&str>, width: usize) -> String {
    let name = name.map_or_else(String::new, |name| format!("{name}: "));
    let place = mistake.place().filter(|place| text.get(place.clone()).is_some());
    let Some(place) = place else { return format!("{name}{mistake}") };
    let line_start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[line_start..].find('\n').map_or(text.len(), |len| line_start + len);
    let line = text[..line_start].matches('\n').count() + 1;
    let column = text[line_start..place.start].chars().count() + 1;
    let shown =
        shown(&text[line_start..line_end], place.start - line_start..place.end.min(line_end) - line_start, width);
    format!("{name}line {line}, column {column}: {mistake}\n{shown}")
}

/// The line with carets below `marked`; cut on both sides if it is wider than `width`.
fn shown(line: &str, marked: Range<usize>, width: usize) -> String {
    let room = width.saturating_sub(INDENT.len() + 2).max(20);
    let plain = |text: &str| -> String { text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
    let (before, marked, after) = (&line[..marked.start], &line[marked.clone()], &line[marked.end..]);
    let (before, marked, after) = (plain(before), plain(marked), plain(after.trim_end()));
    let carets = marked.width().max(1);
    let (mut start, mut end) = (before.as_str(), after.as_str());
    let fits = |start: &str, end: &str| start.width() + carets + end.width() <= room;
    // A third of the line is kept for what comes before.
    while !fits(start, end) && start.width() > room / 3 {
        start = without_first(start);
    }
    while !fits(start, end) && !end.is_empty() {
        end = &end[..end.len() - end.chars().next_back().map_or(0, char::len_utf8)];
    }
    let left = if start.len() < before.len() { "…" } else { "" };
    let right = if end.len() < after.len() { "…" } else { "" };
    let indent = " ".repeat(INDENT.len() + left.width() + start.width());
    format!("{INDENT}{left}{start}{marked}{end}{right}\n{indent}{}", "^".repeat(carets))
}

/// The text without its first character, and without those that are shown on top of it.
fn without_first(text: &str) -> &str {
    let mut rest = text.chars();
    rest.next();
    let rest = rest.as_str();
    rest.trim_start_matches(|c: char| c.width() == Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_below_what_is_marked() {
        assert_eq!(shown("SELECT pric FROM t", 7..11, 80), "  SELECT pric FROM t\n         ^^^^");
        assert_eq!(shown("SELECT '漢', pric", 14..18, 80), "  SELECT '漢', pric\n               ^^^^");
        assert_eq!(shown("SELECT", 6..6, 80), "  SELECT\n        ^");
    }

    #[test]
    fn long_lines_are_cut_around_what_is_marked() {
        let line = format!("SELECT {} wrong {}", "a, ".repeat(100), "b, ".repeat(100));
        let at = line.find("wrong").unwrap();
        let text = shown(&line, at..at + 5, 60);
        let (first, second) = text.split_once('\n').unwrap();
        assert!(first.width() <= 60 && first.starts_with("  …") && first.ends_with('…'), "{text}");
        let caret = second.find('^').unwrap();
        assert_eq!(first.chars().skip(caret).take(5).collect::<String>(), "wrong");
    }
}
