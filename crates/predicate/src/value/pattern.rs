//! Matches the patterns of LIKE.
//!
//! A pattern is split at `%` into pieces. The first piece has to match the start of a value and the last one its end; the pieces between are
//! searched from left to right, which finds a match if there is one. Matching works on bytes; `_` skips one character of UTF-8.
//!
//! ILIKE converts the characters of both sides to lower case, each to one character, so that `_` remains one character of the value. It is
//! Unicode's simple lower case, as in DuckDB: `İ` becomes `i`, and `ß` is not `SS`.

use bytes::Bytes;
use memchr::memmem::Finder;

/// A pattern of LIKE or ILIKE: `%` stands for any characters, `_` for one.
///
/// ```
/// use lath_predicate::Pattern;
///
/// let pattern = Pattern::new("Os%_", false);
/// assert!(pattern.matches(b"Oslo") && !pattern.matches(b"oslo") && !pattern.matches(b"Os"));
/// assert_eq!(pattern.prefix(), Some(&b"Os"[..]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The pieces between the `%`: at least one.
    pieces: Vec<Piece>,
    ignore_case: bool,
    prefix: Bytes,
}

/// A piece of a pattern: bytes, and wildcards for one character.
#[derive(Debug, Clone)]
struct Piece {
    items: Vec<Item>,
    /// The bytes of `items`, if none of them is [`Item::Any`].
    literal: Option<Finder<'static>>,
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl Eq for Piece {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Byte(u8),
    Any,
}

impl Pattern {
    /// Parses a pattern in which `\` escapes `%`, `_` and itself.
    pub fn new(pattern: &str, ignore_case: bool) -> Self {
        let mut pieces = Vec::new();
        let mut items = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let c = match c {
                '%' => {
                    pieces.push(Piece::new(std::mem::take(&mut items)));
                    continue;
                }
                '_' => {
                    items.push(Item::Any);
                    continue;
                }
                '\\' => chars.next().unwrap_or('\\'),
                other => other,
            };
            let c = if ignore_case { simple_lowercase(c) } else { c };
            items.extend(c.encode_utf8(&mut [0; 4]).bytes().map(Item::Byte));
        }
        pieces.push(Piece::new(items));
        let prefix = if ignore_case { Bytes::new() } else { pieces[0].leading_bytes() };
        Self { pieces, ignore_case, prefix }
    }

    /// The prefix of all matching values, if it is not empty.
    pub fn prefix(&self) -> Option<&[u8]> {
        (!self.prefix.is_empty()).then_some(&self.prefix)
    }

    /// Whether all values with the prefix match.
    pub fn is_prefix_only(&self) -> bool {
        !self.ignore_case
            && matches!(self.pieces.as_slice(), [first, rest] if rest.items.is_empty() && first.literal.is_some())
    }

    /// The only matching value, if the pattern has neither `%` nor `_`.
    pub fn exact(&self) -> Option<&Bytes> {
        let is_exact = matches!(self.pieces.as_slice(), [only] if only.literal.is_some());
        (is_exact && !self.ignore_case).then_some(&self.prefix)
    }

    /// The longest byte string that all matching values contain; empty if case is ignored.
    pub fn longest_literal(&self) -> Vec<u8> {
        if self.ignore_case {
            return Vec::new();
        }
        let runs = self.pieces.iter().flat_map(|piece| piece.items.split(|item| *item == Item::Any));
        let bytes = |run: &[Item]| run.iter().filter_map(Item::byte).collect::<Vec<u8>>();
        // The replacement character also matches invalid bytes.
        let is_itself = |run: &Vec<u8>| !run.windows(3).any(|bytes| bytes == "\u{FFFD}".as_bytes());
        runs.map(bytes).filter(is_itself).max_by_key(Vec::len).unwrap_or_default()
    }

    /// Whether a string or byte string matches. Each byte that is not valid UTF-8 counts as one character.
    pub fn matches(&self, value: &[u8]) -> bool {
        if self.ignore_case {
            if value.is_ascii() {
                return self.matches_utf8(&value.to_ascii_lowercase());
            }
            let lower = |text: &str| text.chars().map(simple_lowercase).collect::<String>();
            return self.matches_utf8(&repaired(value, lower));
        }
        let has_any = self.pieces.iter().any(|piece| piece.literal.is_none());
        if has_any && str::from_utf8(value).is_err() {
            return self.matches_utf8(&repaired(value, str::to_owned));
        }
        self.matches_utf8(value)
    }

    fn matches_utf8(&self, value: &[u8]) -> bool {
        let Some((first, rest)) = self.pieces.split_first() else { return false };
        let Some(mut at) = first.match_at(value, 0) else { return false };
        let Some((last, between)) = rest.split_last() else { return at == value.len() };
        let Some(end) = last.match_end(value, at) else { return false };
        for piece in between {
            match piece.find(&value[..end], at) {
                Some(after) => at = after,
                None => return false,
            }
        }
        true
    }
}

/// Rewrites a pattern of LIKE with escape character `escape`, or without one, to one with the escape character `\`.
///
/// # Errors
/// A message if the pattern ends with its escape character.
pub(crate) fn with_backslash_escapes(pattern: &str, escape: Option<char>) -> Result<String, String> {
    let mut escaped = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            let literal = chars.next().ok_or("the pattern of LIKE ends with its escape character")?;
            if matches!(literal, '%' | '_' | '\\') {
                escaped.push('\\');
            }
            escaped.push(literal);
        } else {
            if c == '\\' {
                escaped.push('\\');
            }
            escaped.push(c);
        }
    }
    Ok(escaped)
}

/// Replaces bytes of `value` that are not UTF-8 by characters that no pattern has.
fn repaired(value: &[u8], valid: impl Fn(&str) -> String) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    for chunk in value.utf8_chunks() {
        text.extend(valid(chunk.valid()).into_bytes());
        // 0xF8 starts no character, so it counts as one.
        text.extend(chunk.invalid().iter().map(|_| 0xF8));
    }
    text
}

/// Unicode's simple lower case, which maps one character to one. Only the full lower case of `İ` is longer (`i` and a dot above), and it starts
/// with the simple one.
fn simple_lowercase(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Whether a byte continues a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

impl Item {
    fn byte(&self) -> Option<u8> {
        if let Self::Byte(byte) = self { Some(*byte) } else { None }
    }
}

impl Piece {
    fn new(items: Vec<Item>) -> Self {
        let literal: Option<Vec<u8>> = items.iter().map(Item::byte).collect();
        Self { literal: literal.map(|bytes| Finder::new(&bytes).into_owned()), items }
    }

    /// Empty slices are not compared: that calls the C library, whose masked load takes 80 ns at the dangling address of an empty `Vec`.
    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn leading_bytes(&self) -> Bytes {
        self.items.iter().map_while(Item::byte).collect()
    }

    /// The end of the piece if it matches at `at`.
    fn match_at(&self, value: &[u8], mut at: usize) -> Option<usize> {
        if self.is_empty() {
            return Some(at);
        }
        if let Some(literal) = &self.literal {
            return value[at..].starts_with(literal.needle()).then_some(at + literal.needle().len());
        }
        for item in &self.items {
            let byte = *value.get(at)?;
            at += 1;
            match item {
                Item::Byte(expected) if *expected != byte => return None,
                Item::Byte(_) => {}
                Item::Any => at += value[at..].iter().take_while(|byte| is_continuation(**byte)).count(),
            }
        }
        Some(at)
    }

    /// The start of the piece if it matches the end of `value` and starts at or after `least`.
    fn match_end(&self, value: &[u8], least: usize) -> Option<usize> {
        if self.is_empty() {
            return Some(value.len());
        }
        let value = &value[least..];
        if let Some(literal) = &self.literal {
            return value.ends_with(literal.needle()).then(|| least + value.len() - literal.needle().len());
        }
        let mut at = value.len();
        for item in self.items.iter().rev() {
            at = at.checked_sub(1)?;
            match item {
                Item::Byte(expected) if *expected != value[at] => return None,
                Item::Byte(_) => {}
                Item::Any => {
                    while is_continuation(value[at]) {
                        at = at.checked_sub(1)?;
                    }
                }
            }
        }
        Some(least + at)
    }

    /// The end of the first match of the piece at or after `from`.
    fn find(&self, value: &[u8], from: usize) -> Option<usize> {
        if let Some(literal) = &self.literal {
            return literal.find(&value[from..]).map(|found| from + found + literal.needle().len());
        }
        let Some(first) = self.items.first() else { return Some(from) };
        let mut at = from;
        loop {
            if let Item::Byte(first) = first {
                at += value[at..].iter().position(|byte| byte == first)?;
            }
            if let Some(end) = self.match_at(value, at) {
                return Some(end);
            }
            at += 1;
            while value.get(at).is_some_and(|byte| is_continuation(*byte)) {
                at += 1;
            }
            if at >= value.len() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_recognised() {
        let prefix = |pattern| {
            let pattern = Pattern::new(pattern, false);
            (pattern.prefix().map(|prefix| String::from_utf8(prefix.to_vec()).unwrap()), pattern.is_prefix_only())
        };
        assert_eq!(prefix("ab%"), (Some("ab".to_owned()), true));
        assert_eq!(prefix("ab%c"), (Some("ab".to_owned()), false));
        assert_eq!(prefix("ab_%"), (Some("ab".to_owned()), false));
        assert_eq!(prefix("50\\%%"), (Some("50%".to_owned()), true));
        assert_eq!(prefix("%a"), (None, false));
        assert_eq!(prefix("%"), (None, true));
        assert_eq!(prefix("ab"), (Some("ab".to_owned()), false));
        assert_eq!(Pattern::new("ab", false).exact(), Some(&Bytes::from_static(b"ab")));
        assert_eq!(Pattern::new("ab", true).exact(), None);
        assert_eq!(Pattern::new("ab%", true).prefix(), None);
    }

    #[test]
    fn the_longest_literal_is_in_every_value_that_matches() {
        let literal = |pattern| String::from_utf8(Pattern::new(pattern, false).longest_literal()).unwrap();
        assert_eq!(literal("%needle%hay"), "needle");
        assert_eq!(literal("ab_cde%f"), "cde");
        assert_eq!(literal("\\%\\_a%_"), "%_a");
        assert_eq!(literal("%_%"), "");
        assert!(Pattern::new("abc", true).longest_literal().is_empty());
        assert_eq!(literal("ab\u{FFFD}c%de"), "de");
    }

    /// The definition: tries every length for each `%`.
    fn oracle(pattern: &[char], value: &[char]) -> bool {
        match pattern.split_first() {
            None => value.is_empty(),
            Some(('%', rest)) => (0..=value.len()).any(|len| oracle(rest, &value[len..])),
            Some(('_', rest)) => !value.is_empty() && oracle(rest, &value[1..]),
            Some((c, rest)) => value.first() == Some(c) && oracle(rest, &value[1..]),
        }
    }

    #[test]
    fn patterns_match_what_the_definition_says() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut matches = 0;
        for _ in 0..20_000 {
            let pattern: Vec<char> =
                (0..random.usize(..7)).map(|_| *random.choice(&['a', 'b', 'é', '%', '_']).unwrap()).collect();
            let value: Vec<char> = (0..random.usize(..9)).map(|_| *random.choice(&['a', 'b', 'é']).unwrap()).collect();
            let (text, value_text) = (pattern.iter().collect::<String>(), value.iter().collect::<String>());
            let expected = oracle(&pattern, &value);
            matches += usize::from(expected);
            assert_eq!(Pattern::new(&text, false).matches(value_text.as_bytes()), expected, "{text} on {value_text}");
            let upper = value_text.to_uppercase();
            assert_eq!(Pattern::new(&text, true).matches(upper.as_bytes()), expected, "{text} on {upper}");
        }
        assert!(matches > 1000);
    }

    #[test]
    fn the_only_character_whose_full_lower_case_is_longer_is_the_dotted_i() {
        let longer = (char::MIN..=char::MAX).filter(|c| c.to_lowercase().count() != 1);
        assert_eq!(longer.collect::<String>(), "İ");
        // UnicodeData.txt maps 0130 to 0069 in the column of the simple lower case.
        assert_eq!(simple_lowercase('İ'), 'i');
    }

    #[test]
    fn ilike_matches_by_the_characters_of_the_value() {
        // Value, pattern, and DuckDB's result.
        for (value, pattern, expected) in [
            ("İ", "_", true),
            ("İ", "__", false),
            ("İ", "i", true),
            ("i", "İ", true),
            ("İ", "İ", true),
            ("İ", "i\u{307}", false),
            ("i\u{307}", "İ_", true),
            ("İstanbul", "i%", true),
            ("İstanbul", "_STANBUL", true),
            ("İSTANBUL", "istan%", true),
            ("xİy", "%i%", true),
            ("xİy", "%İY", true),
            ("xİy", "___", true),
            ("xİyİ", "%_y_", true),
            ("Straße", "STRASSE", false),
            ("Straße", "STRA_E", true),
            ("Straße", "STRAẞE", true),
            ("ẞ", "_", true),
            ("ΟΔΟΣ", "οδοσ", true),
            ("ΟΔΟΣ", "οδος", false),
            ("\u{212A}", "k", true),
            ("k", "\u{212A}", true),
            ("Ǆ", "ǆ", true),
            ("ǅ", "ǆ", true),
            ("ﬁ", "FI", false),
            ("ŉ", "_", true),
        ] {
            let matches = Pattern::new(pattern, true).matches(value.as_bytes());
            assert_eq!(matches, expected, "{value} ILIKE {pattern}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_one_character_each() {
        assert!(Pattern::new("a__", false).matches(b"a\xff\xfe"));
        assert!(Pattern::new("a%z", false).matches(b"a\xffz"));
        assert!(!Pattern::new("a_", false).matches(b"a\xff\xfe"));
    }

    #[test]
    fn the_escape_character_of_like_is_the_one_that_was_chosen() {
        assert_eq!(with_backslash_escapes("50!%%", Some('!')), Ok("50\\%%".to_owned()));
        assert_eq!(with_backslash_escapes("a\\b_", None), Ok("a\\\\b_".to_owned()));
        assert_eq!(with_backslash_escapes("a\\_b", Some('\\')), Ok("a\\_b".to_owned()));
        assert!(with_backslash_escapes("a!", Some('!')).is_err());
    }
}
