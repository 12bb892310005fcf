//! Shows mistakes below their line of the text.

use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::mistake::Mistake;

const INDENT: &str = "  ";

impl Mistake {
    /// The line and character where the mistake in `text` begins, both counted from 1.
    pub fn line_and_character(&self, text: &str) -> Option<(usize, usize)> {
        let place = self.place_in(text)?;
        let before = &text[..place.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    /// Formats the message with the mistake's line of `text` and carets below its position. Lines have at most `width` columns; `name` is
    /// the name of the file with the text.
    ///
    /// ```
    /// use lath_sql::{BlockingSession, Error, Session};
    ///
    /// let session = BlockingSession::new(Session::new())?;
    /// let text = "SELECT 1 +";
    /// let Err(Error::Mistake(mistake)) = session.run(text) else { unreachable!() };
    /// assert!(mistake.shown_in(text, None, 80).ends_with("\n  SELECT 1 +\n            ^"));
    /// # Ok::<(), lath_sql::Error>(())
    /// ```
    pub fn shown_in(&self, text: &str, name: Option<&str>, width: usize) -> String {
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        let place = self.place_in(text).zip(self.line_and_character(text));
        let Some((place, (line, character))) = place else { return format!("{name}{self}") };
        let line_start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[line_start..].find('\n').map_or(text.len(), |len| line_start + len);
        let marked = place.start - line_start..place.end.min(line_end) - line_start;
        let shown = shown(&text[line_start..line_end], marked, width);
        format!("{name}line {line}, column {character}: {self}\n{shown}")
    }

    fn place_in(&self, text: &str) -> Option<Range<usize>> {
        self.place().filter(|place| text.get(place.clone()).is_some())
    }
}

/// The line with carets below `marked`, cut on both sides if it is wider than `width`.
fn shown(line: &str, marked: Range<usize>, width: usize) -> String {
    let room = width.saturating_sub(INDENT.len() + 2).max(20);
    let plain = |text: &str| -> String { text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
    let (before, marked, after) = (&line[..marked.start], &line[marked.clone()], &line[marked.end..]);
    let (before, marked, after) = (plain(before), plain(marked), plain(after.trim_end()));
    let carets = marked.width().max(1);
    let (mut start, mut end) = (before.as_str(), after.as_str());
    let fits = |start: &str, end: &str| start.width() + carets + end.width() <= room;
    // A third of the line is kept for the text before the mistake.
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

/// Removes the first character of a text, with its combining characters.
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
