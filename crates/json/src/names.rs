//! Detects repeated names of an object.
//!
//! Readers disagree on which of their values counts, and Arrow's reader silently takes the last; so they are an error.
//!
//! Objects of a text mostly have the same names in the same order. So each depth remembers the names that it has seen: a name is first
//! compared with the one that followed the name before it, and looked up only if it differs.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, Result};

/// The name of a field, without escapes.
type Name<'a> = Cow<'a, [u8]>;

/// A repeated name.
#[derive(Debug, PartialEq)]
struct RepeatedName<'a> {
    /// The position of the repetition, in bytes from the start of the text.
    at: usize,
    name: Name<'a>,
}

/// Checks that no object of `text`, which is JSON that starts at a line, has two fields of the same name, at any depth.
///
/// # Errors
/// [`Error::RepeatedName`] for the first one.
pub fn check_names(text: &[u8], line: u64) -> Result<()> {
    let Some(RepeatedName { at, name }) = repeated(text) else { return Ok(()) };
    let line = line + memchr::memchr_iter(b'\n', &text[..at]).count() as u64;
    Err(Error::RepeatedName { line, name: String::from_utf8_lossy(&name).into_owned() })
}

fn repeated(text: &[u8]) -> Option<RepeatedName<'_>> {
    let mut depths: Vec<Depth<'_>> = Vec::new();
    let (mut depth, mut objects, mut at) = (0, 0, 0);
    while let Some(len) = text[at..].iter().position(|byte| matches!(byte, b'"' | b'{' | b'}')) {
        at += len;
        match text[at] {
            b'{' => {
                objects += 1;
                if depth == depths.len() {
                    depths.push(Depth::default());
                }
                depths[depth].begin(objects);
                depth += 1;
                at += 1;
            }
            b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ => {
                let start = at + 1;
                let (end, has_escapes) = string_end(text, start)?;
                at = end + 1;
                let next = text[at..].iter().find(|byte| !byte.is_ascii_whitespace());
                if next != Some(&b':') {
                    continue;
                }
                let name = || name(&text[start..end], has_escapes);
                let place = depth.checked_sub(1)?;
                if !depths[place].add(name()) {
                    return Some(RepeatedName { at: start, name: name() });
                }
            }
        }
    }
    None
}

/// The end of the string that starts at `start`, and whether it has escapes.
fn string_end(text: &[u8], start: usize) -> Option<(usize, bool)> {
    let (mut at, mut has_escapes) = (start, false);
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((at, has_escapes));
        }
        has_escapes = true;
        at += 2;
    }
}

fn name(text: &[u8], has_escapes: bool) -> Name<'_> {
    let unescaped = |text: &[u8]| {
        let quoted = [b"\"", text, b"\""].concat();
        serde_json::from_slice::<String>(&quoted).ok()
    };
    match has_escapes.then(|| unescaped(text)).flatten() {
        Some(name) => Cow::Owned(name.into_bytes()),
        None => Cow::Borrowed(text),
    }
}

/// The names of objects at one depth so far.
#[derive(Debug, Default)]
struct Depth<'a> {
    /// Each with the number of the last object that had it.
    names: Vec<(Name<'a>, u64)>,
    places: HashMap<Name<'a>, usize>,
    /// The number of the current object.
    object: u64,
    /// The index of the name that is expected next.
    next: usize,
}

impl<'a> Depth<'a> {
    fn begin(&mut self, object: u64) {
        (self.object, self.next) = (object, 0);
    }

    /// Whether the current object does not have the name yet.
    fn add(&mut self, name: Name<'a>) -> bool {
        let expected = self.names.get(self.next).is_some_and(|(expected, _)| *expected == name);
        let place = if expected { Some(self.next) } else { self.places.get(&name).copied() };
        let place = place.unwrap_or_else(|| {
            self.places.insert(name.clone(), self.names.len());
            self.names.push((name, 0));
            self.names.len() - 1
        });
        self.next = place + 1;
        std::mem::replace(&mut self.names[place].1, self.object) != self.object
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_of_one_object_are_compared_without_escapes() {
        for (text, expected) in [
            (r#"{"a":1,"a":2}"#, Some(8)),
            (r#"{"a":1,"\u0061":2}"#, Some(8)),
            (r#"{"\n":1,"\u000A":2}"#, Some(9)),
            (r#"{"\ud83d\ude00":1,"😀":2}"#, Some(19)),
            (r#"{"":1,"":2}"#, Some(7)),
            (r#"{"a":{"b":1,"c":"b","b":2}}"#, Some(21)),
            (r#"{"a":[{"b":1},{"b":1,"x":[{"y":1}],"b":2}]}"#, Some(36)),
            (r#"{"a":{"a":{"a":1}},"b":{"a":1},"a" : 2}"#, Some(32)),
            ("{\"a\":1}\n{\"b\":1,\"a\":1}\n{\"a\":1,\"b\":1,\"a\":1}", Some(36)),
            (r#"{"a":{"a":1},"b":[{"a":1},{"a":1}],"c":"a","d":"\"a\":"}"#, None),
            (r#"{"a":"a","b":"{\"a\":1,\"a\":1}"}"#, None),
            (r#"{"a\\":1,"a":2,"a\\\\":"\\"}"#, None),
            ("{\"a\":1}\n{\"a\":2}\n{\"b\":2,\"a\":3}\n{}", None),
            ("", None),
            (r#"{"a":1,"a"#, None),
        ] {
            assert_eq!(repeated(text.as_bytes()).map(|repeated| repeated.at), expected, "{text}");
        }
    }

    /// Objects of random names in random order, of which some are repeated; a set says which.
    #[test]
    fn the_first_repeated_name_is_found_in_any_order_of_names() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let (mut text, mut first) = (String::new(), None);
            for _ in 0..random(6) {
                let mut names = HashSet::new();
                text.push('{');
                for field in 0..random(7) {
                    text.push_str(if field == 0 { "\"" } else { ",\"" });
                    let name = random(20);
                    if !names.insert(name) {
                        first.get_or_insert(text.len());
                    }
                    text.push_str(&format!("{name}\":[\"{name}\"]"));
                }
                text.push_str("}\n");
            }
            assert_eq!(repeated(text.as_bytes()).map(|repeated| repeated.at), first, "{text}");
        }
    }
}
