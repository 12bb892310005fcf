//! Values within a JSON text. A value is the part of the text that it is written as, so numbers keep all their digits.

use serde::de::IgnoredAny;

/// A value, which is valid JSON without white space around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsonValue<'t> {
    text: &'t str,
}

/// The kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Integer,
    Float,
    Text,
    Array,
    Object,
}

impl<'t> JsonValue<'t> {
    /// The value that a text is.
    pub(super) fn parse(text: &'t str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<IgnoredAny>(text)?;
        let value = Self { text: text.trim_ascii() };
        match text.contains("\\u") {
            true => value.check_escapes().map(|()| value),
            false => Ok(value),
        }
    }

    /// Returns an error for half a pair of surrogates in a string, which stands for no character.
    fn check_escapes(self) -> Result<(), serde_json::Error> {
        match self.kind() {
            Kind::Text => serde_json::from_str::<String>(self.text).map(drop),
            Kind::Array | Kind::Object => {
                let mut parts = Parts::new(self, self.kind());
                parts.try_for_each(Self::check_escapes)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn text(self) -> &'t str {
        self.text
    }

    pub(super) fn kind(self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'n') => Kind::Null,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'"') => Kind::Text,
            Some(b'[') => Kind::Array,
            Some(b'{') => Kind::Object,
            _ if self.text.contains(['.', 'e', 'E']) => Kind::Float,
            _ => Kind::Integer,
        }
    }

    /// The text of a string without quotes and escapes; of another value, its JSON. `None` for null.
    pub(super) fn plain(self) -> Option<String> {
        match self.kind() {
            Kind::Null => None,
            Kind::Text => Some(unquoted(self.text)),
            _ => Some(self.text.to_owned()),
        }
    }

    /// The first member of an object with this key.
    pub(super) fn member(self, key: &str) -> Option<Self> {
        self.members().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The members of an object; none of another value.
    pub(super) fn members(self) -> impl Iterator<Item = (String, JsonValue<'t>)> {
        let mut parts = Parts::new(self, Kind::Object);
        std::iter::from_fn(move || Some((unquoted(parts.next()?.text), parts.next()?)))
    }

    /// The elements of an array; none of another value.
    pub(super) fn elements(self) -> impl Iterator<Item = JsonValue<'t>> {
        Parts::new(self, Kind::Array)
    }
}

/// The contents of a string in quotes.
fn unquoted(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
}

/// The values directly within an object or an array, keys and values alike.
struct Parts<'t> {
    rest: &'t str,
}

impl<'t> Parts<'t> {
    fn new(value: JsonValue<'t>, kind: Kind) -> Self {
        let inner = value.text.get(1..value.text.len().saturating_sub(1)).unwrap_or_default();
        Self { rest: if value.kind() == kind { inner } else { "" } }
    }
}

impl<'t> Iterator for Parts<'t> {
    type Item = JsonValue<'t>;

    fn next(&mut self) -> Option<JsonValue<'t>> {
        let is_between = |c: char| c.is_ascii_whitespace() || c == ',' || c == ':';
        let rest = self.rest.trim_start_matches(is_between);
        if rest.is_empty() {
            return None;
        }
        let (text, rest) = rest.split_at(value_len(rest.as_bytes()));
        self.rest = rest;
        Some(JsonValue { text })
    }
}

/// The length of the value at the beginning of valid JSON.
fn value_len(text: &[u8]) -> usize {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, &byte) in text.iter().enumerate() {
        if is_quoted {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    is_quoted = false;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => is_quoted = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> JsonValue<'_> {
        JsonValue::parse(text).unwrap()
    }

    #[test]
    fn parts_are_as_they_are_written() {
        let value =
            parse(r#" {"a" : [1.0, 12345678901234567890123, "x,]\"}" ,{} ] ,"b\u0041":{"c": null},"": -1e400 } "#);
        let members: Vec<(String, &str)> = value.members().map(|(key, value)| (key, value.text())).collect();
        let a = r#"[1.0, 12345678901234567890123, "x,]\"}" ,{} ]"#;
        assert_eq!(members, [("a".to_owned(), a), ("bA".to_owned(), r#"{"c": null}"#), (String::new(), "-1e400")]);
        let elements: Vec<&str> = parse(a).elements().map(JsonValue::text).collect();
        assert_eq!(elements, ["1.0", "12345678901234567890123", r#""x,]\"}""#, "{}"]);
        assert_eq!(value.elements().count(), 0);
        assert_eq!(parse("[]").elements().count(), 0);
        assert_eq!(parse("17").members().count(), 0);
    }

    #[test]
    fn kinds_and_texts() {
        let kinds = ["null", "true", "-5", "1.5", "1E3", "\"é\\n\"", "[1]", "{}"].map(|text| parse(text).kind());
        use Kind::{Array, Boolean, Float, Integer, Null, Object, Text};
        assert_eq!(kinds, [Null, Boolean, Integer, Float, Float, Text, Array, Object]);
        assert_eq!(parse("\"é\\n\\u00e9\"").plain().as_deref(), Some("é\né"));
        assert_eq!(parse(" null ").plain(), None);
        assert_eq!(parse("[1, 2]").plain().as_deref(), Some("[1, 2]"));
        assert!(JsonValue::parse("{a: 1}").is_err());
        assert!(JsonValue::parse(r#"{"a": [1, "\ud83d\ude00 \\ud800"]}"#).is_ok());
        for lone in [r#""\ud800""#, r#"{"a": [1, "\ude00"]}"#, r#"{"\ud83d": 1}"#, r#"["\ud83dx"]"#] {
            assert!(JsonValue::parse(lone).is_err(), "{lone}");
        }
        assert!(JsonValue::parse("").is_err());
    }
}
