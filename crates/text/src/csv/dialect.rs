//! Detects the delimiter from the first lines of a file.

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

/// Delimiter, quote and escape character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    /// The quote character, if there is one.
    pub(super) quote: Option<u8>,
    /// The character that makes a quote after it part of a value, if there is one.
    pub(super) escape: Option<u8>,
}

impl Dialect {
    /// A parser of this dialect.
    pub(super) fn parser(self) -> Reader {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(self.delimiter).escape(self.escape);
        match self.quote {
            Some(quote) => builder.quote(quote),
            None => builder.quoting(false),
        };
        builder.build()
    }
}

/// Delimiters that are tried, the most common first.
pub(crate) const DELIMITERS: [u8; 4] = *b",;\t|";
/// Number of records that are inspected.
const MAX_RECORDS: usize = 200;

/// The delimiter with which all records in `head` have the same number of fields, at least two; if there are several, the one with
/// most fields, and of these the first. If there is none, the delimiter that gives the first record most fields.
pub(super) fn sniff_delimiter(head: &[u8], is_whole_file: bool, quote: Option<u8>, escape: Option<u8>) -> u8 {
    let mut best = (b',', (false, 1));
    for delimiter in DELIMITERS {
        let counts = field_counts(head, is_whole_file, Dialect { delimiter, quote, escape });
        let Some(&first) = counts.first() else { continue };
        let score = (first > 1 && counts.iter().all(|&count| count == first), first);
        if score > best.1 {
            best = (delimiter, score);
        }
    }
    best.0
}

/// The delimiter that the first line says: Excel writes and reads `sep=;` before the header.
pub(super) fn separator_line(head: &[u8]) -> Option<u8> {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let end = text.iter().position(|&byte| byte == b'\n')?;
    let line = text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line.get(..4)?.eq_ignore_ascii_case(b"sep=").then_some(&line[4..])? {
        [delimiter] if !matches!(delimiter, b'"' | b'\r' | b'\n') => Some(*delimiter),
        _ => None,
    }
}

/// The number of fields of each of the first records.
fn field_counts(head: &[u8], is_whole_file: bool, dialect: Dialect) -> Vec<usize> {
    let mut parser = dialect.parser();
    let mut output = [0; 1024];
    let (mut counts, mut fields, mut rest) = (Vec::new(), 0, head);
    while counts.len() < MAX_RECORDS {
        // A record that is cut off by the end of `head` does not count, unless it is the only one or the file ends there.
        if rest.is_empty() && !is_whole_file && !counts.is_empty() {
            break;
        }
        let (result, read, _) = parser.read_field(rest, &mut output);
        rest = &rest[read..];
        match result {
            ReadFieldResult::End => break,
            ReadFieldResult::Field { record_end } => {
                fields += 1;
                if record_end {
                    counts.push(std::mem::take(&mut fields));
                }
            }
            ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_gives_every_record_as_many_fields() {
        for (text, expected) in [
            ("a,b\n1,2\n", ','),
            ("a;b\n1,5;2,5\n", ';'),
            ("a\tb\n\"x\ty\"\tz\n", '\t'),
            ("a|b|c\n1|2|3\n", '|'),
            ("name;price\n\"a, b\";1\n\"c\";2\n", ';'),
            ("\"a;b\",c\r\n\"d\",\"e;f\"\r\n", ','),
            ("a,b;c\n1,2;3\n", ','),
            ("one\n1;2\n3;4\n", ','),
            ("one\ntwo\n", ','),
            ("a;b;c\n1;2\n", ';'),
            ("\n\na;b\n", ';'),
            ("", ','),
        ] {
            assert_eq!(char::from(sniff_delimiter(text.as_bytes(), true, Some(b'"'), None)), expected, "{text:?}");
        }
    }

    #[test]
    fn a_record_that_is_cut_off_does_not_count() {
        assert_eq!(sniff_delimiter(b"a;b;c\n1;2;3\n1;2", false, Some(b'"'), None), b';');
        assert_eq!(sniff_delimiter(b"a;b;c", false, Some(b'"'), None), b';');
    }

    #[test]
    fn the_quote_character_can_be_changed_or_turned_off() {
        assert_eq!(sniff_delimiter(b"'a,b';c\n'd';'e,f'\n", true, Some(b'\''), None), b';');
        assert_eq!(sniff_delimiter(b"5\",a\n6\",b\n", true, None, None), b',');
    }
}
