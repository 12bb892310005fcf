//! The patterns of LIKE.
//!
//! A pattern is cut at its `%` into pieces. The first piece has to stand at the start of a value and the last one at its
//! end; those between are looked for from left to right, which finds a match if there is one.

use bytes::Bytes;

/// A pattern: `%` stands for any characters, `_` for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// What stands between the `%`; at least one piece.
    pieces: Vec<Vec<Item>>,
    ignore_case: bool,
    prefix: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Char(char),
    Any,
}

impl Pattern {
    /// Reads a pattern in which `\` makes an ordinary character of `%`, `_` and itself.
    pub(crate) fn new(pattern: &str, ignore_case: bool) -> Self {
        let mut pieces = vec![Vec::new()];
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let item = match c {
                '%' => {
                    pieces.push(Vec::new());
                    continue;
                }
                '_' => Item::Any,
                '\\' => Item::Char(chars.next().unwrap_or('\\')),
                other => Item::Char(other),
            };
            if let Some(piece) = pieces.last_mut() {
                match item {
                    Item::Char(c) if ignore_case => piece.extend(c.to_lowercase().map(Item::Char)),
                    other => piece.push(other),
                }
            }
        }
        let prefix: String = match ignore_case {
            true => String::new(),
            false => {
                pieces[0].iter().map_while(|item| if let Item::Char(c) = item { Some(*c) } else { None }).collect()
            }
        };
        Self { pieces, ignore_case, prefix: prefix.into() }
    }

    /// What every value that matches starts with, unless that is nothing.
    pub(crate) fn prefix(&self) -> Option<&[u8]> {
        (!self.prefix.is_empty()).then_some(&self.prefix)
    }

    /// Whether the values that match are those that start with the prefix.
    pub(crate) fn is_prefix_only(&self) -> bool {
        matches!(self.pieces.as_slice(), [first, rest] if rest.is_empty() && self.is_literal(first))
    }

    /// The one value that matches, if the pattern has neither `%` nor `_`.
    pub(crate) fn exact(&self) -> Option<&Bytes> {
        matches!(self.pieces.as_slice(), [only] if self.is_literal(only)).then_some(&self.prefix)
    }

    fn is_literal(&self, piece: &[Item]) -> bool {
        !self.ignore_case && piece.iter().all(|item| matches!(item, Item::Char(_)))
    }

    /// Whether a string or byte string matches. In what is not UTF-8, each byte that belongs to no character is one.
    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        if !value.starts_with(&self.prefix) {
            return false;
        }
        if self.is_prefix_only() {
            return true;
        }
        let mut chars: Vec<Option<char>> = Vec::with_capacity(value.len());
        for chunk in value.utf8_chunks() {
            for c in chunk.valid().chars() {
                match self.ignore_case {
                    true => chars.extend(c.to_lowercase().map(Some)),
                    false => chars.push(Some(c)),
                }
            }
            chars.extend(chunk.invalid().iter().map(|_| None));
        }
        self.match_chars(&chars)
    }

    fn match_chars(&self, chars: &[Option<char>]) -> bool {
        let fits = |piece: &[Item], at: &[Option<char>]| {
            piece.iter().zip(at).all(|(item, c)| match item {
                Item::Any => true,
                Item::Char(expected) => *c == Some(*expected),
            })
        };
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else { return false };
        if self.pieces.len() == 1 {
            return chars.len() == first.len() && fits(first, chars);
        }
        if chars.len() < first.len() + last.len()
            || !fits(first, chars)
            || !fits(last, &chars[chars.len() - last.len()..])
        {
            return false;
        }
        let mut rest = &chars[first.len()..chars.len() - last.len()];
        for piece in &self.pieces[1..self.pieces.len() - 1] {
            if piece.is_empty() {
                continue;
            }
            let Some(at) = rest.windows(piece.len()).position(|window| fits(piece, window)) else { return false };
            rest = &rest[at + piece.len()..];
        }
        true
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

    /// The definition, by trying every length for each `%`.
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
    fn bytes_that_are_not_utf8_are_one_character_each() {
        assert!(Pattern::new("a__", false).matches(b"a\xff\xfe"));
        assert!(Pattern::new("a%z", false).matches(b"a\xffz"));
        assert!(!Pattern::new("a_", false).matches(b"a\xff\xfe"));
    }
}
