//! Mistakes in the text of a statement, with their position and suggestions.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use datafusion::common::utils::datafusion_strsim::normalized_levenshtein;

use super::lines::Lines;

/// Minimum similarity of a suggested name; 1 means equal.
const MIN_SIMILARITY: f64 = 0.6;
/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// A mistake in the text of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub(crate) message: String,
    pub(crate) place: Option<Range<usize>>,
    pub(crate) suggestions: Vec<String>,
}

impl Mistake {
    pub(crate) fn new(message: impl Into<String>, place: Option<Range<usize>>) -> Self {
        Self { message: message.into(), place, suggestions: Vec::new() }
    }

    /// The message without the suggestions.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The byte range of the mistake, if it is known. The range is empty if something is missing there.
    pub fn place(&self) -> Option<Range<usize>> {
        self.place.clone()
    }

    /// Existing names, quoted if necessary, the most similar first.
    pub fn suggestions(&self) -> &[String] {
        &self.suggestions
    }

    pub(crate) fn suggesting(mut self, name: &str, known: impl IntoIterator<Item = String>) -> Self {
        self.suggestions = nearest(name, known);
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.suggestions.split_last() {
            None => Ok(()),
            Some((only, [])) => write!(f, "; did you mean {only}?"),
            Some((last, others)) => write!(f, "; did you mean {} or {last}?", others.join(", ")),
        }
    }
}

/// The known names that are most similar to `name`.
fn nearest(name: &str, known: impl IntoIterator<Item = String>) -> Vec<String> {
    let name = name.to_lowercase();
    let known: BTreeSet<String> = known.into_iter().collect();
    let similarity = |known: &str| {
        let known = known.trim_matches('"').to_lowercase();
        // A prefix of a name ranks like a name with a few different letters.
        let begins = name.len() >= 2 && known.starts_with(&name);
        normalized_levenshtein(&name, &known).max(if begins { 0.75 } else { 0.0 })
    };
    let mut similar: Vec<_> = known.into_iter().map(|known| (similarity(&known), known)).collect();
    similar.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    similar.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    similar.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

/// Splits the position off the end of a message. Returns the message and the position in `text`.
pub(crate) fn located(message: &str, text: &str) -> (String, Option<usize>) {
    let message = message.trim_start_matches("sql parser error: ");
    let split = message.rsplit_once(" at Line: ").and_then(|(what, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((what, Lines::new(text).offset(line.trim().parse().ok()?, column.trim().parse().ok()?)))
    });
    let (message, at) = split.map_or((message, None), |(what, at)| (what, Some(at)));
    let message = match message.strip_prefix("Expected: ").and_then(|rest| rest.rsplit_once(", found: ")) {
        Some((expected, "EOF")) => format!("the statement ends where {expected} is expected"),
        Some((expected, found)) => format!("expected {expected}, found {found}"),
        None => message.to_owned(),
    };
    (message, at)
}

/// The length in bytes of the word, or of the single other character, at the start of `rest`.
pub(crate) fn token_len(rest: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) }
}

/// The position of `name` as a whole word in `text`, if there is exactly one.
pub(crate) fn only_occurrence(text: &str, name: &str) -> Option<Range<usize>> {
    if name.is_empty() {
        return None;
    }
    let (text, name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut places = text.match_indices(&name).map(|(at, _)| at..at + name.len()).filter(|place| {
        !is_word(text[..place.start].chars().next_back()) && !is_word(text[place.end..].chars().next())
    });
    let first = places.next()?;
    places.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_first_and_others_not_at_all() {
        let known = || ["price", "prices", "rider", "\"Odd Name\"", "started"].map(str::to_owned);
        assert_eq!(nearest("pric", known()), ["price", "prices"]);
        assert_eq!(nearest("odd name", known()), ["\"Odd Name\""]);
        assert_eq!(nearest("xyz", known()), [""; 0]);
    }

    #[test]
    fn a_name_that_occurs_twice_has_no_place() {
        assert_eq!(only_occurrence("SELECT a, ab FROM t", "A"), Some(7..8));
        assert_eq!(only_occurrence("SELECT a, a FROM t", "a"), None);
        assert_eq!(only_occurrence("SELECT ab", "a"), None);
    }
}
