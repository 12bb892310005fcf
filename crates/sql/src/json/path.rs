//! Paths to values within JSON: a key, a position from 0 (from the end if it is negative), `'$.a."b c"[0]'`, and `'/a/0'`.

use datafusion::common::{Result, plan_err};

use super::value::JsonValue;

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Position(i64),
    /// A key, or a position in an array.
    Either(String),
}

impl Path {
    /// The position of an element.
    pub(super) fn position(position: i64) -> Self {
        Self { steps: vec![Step::Position(position)] }
    }

    /// A path that begins with `$` or `/`, or else a key.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let steps = match text.as_bytes().first() {
            Some(b'$') => parse_steps(text)?,
            Some(b'/') => {
                let step = |part: &str| Step::Either(part.replace("~1", "/").replace("~0", "~"));
                text[1..].split('/').map(step).collect()
            }
            _ => vec![Step::Key(text.to_owned())],
        };
        Ok(Self { steps })
    }

    /// The value at the path, if there is one.
    pub(super) fn find<'t>(&self, value: JsonValue<'t>) -> Option<JsonValue<'t>> {
        self.steps.iter().try_fold(value, |value, step| match step {
            Step::Key(key) => value.member(key),
            Step::Position(position) => element(value, *position),
            Step::Either(text) => {
                let position = || text.parse().ok().filter(|position: &i64| *position >= 0);
                value.member(text).or_else(|| element(value, position()?))
            }
        })
    }
}

fn element(value: JsonValue<'_>, position: i64) -> Option<JsonValue<'_>> {
    match usize::try_from(position) {
        Ok(position) => value.elements().nth(position),
        Err(_) => {
            let back = usize::try_from(position.unsigned_abs()).ok()?;
            let count = value.elements().count();
            value.elements().nth(count.checked_sub(back)?)
        }
    }
}

fn parse_steps(path: &str) -> Result<Vec<Step>> {
    let wrong = |what: &str| {
        plan_err!(
            "{what} in the path {path:?}; a path is $ followed by .key, .\"a key\", [0] or [-1]; for other keys, write -> 'key'"
        )
    };
    let mut steps = Vec::new();
    let mut rest = &path[1..];
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match first {
            '.' if rest.starts_with('"') => {
                let Some(len) = quoted_len(rest) else { return wrong("a quote is not closed") };
                // With the escapes of JSON; other keys may have any characters.
                let key = serde_json::from_str(&rest[..len]).unwrap_or_else(|_| rest[1..len - 1].to_owned());
                steps.push(Step::Key(key));
                rest = &rest[len..];
            }
            '.' => {
                let key = &rest[..rest.find(['.', '[']).unwrap_or(rest.len())];
                if key.is_empty() || key.contains(['*', '"', '\'', '?', '(']) {
                    return wrong("there is no plain key after a point");
                }
                steps.push(Step::Key(key.to_owned()));
                rest = &rest[key.len()..];
            }
            '[' => {
                let Some(end) = rest.find(']') else { return wrong("a bracket is not closed") };
                let inner = rest[..end].trim();
                // `[#-1]` is the last element in SQLite and DuckDB.
                let position = inner.strip_prefix('#').unwrap_or(inner);
                let Ok(position) = position.parse() else { return wrong("there is no position in brackets") };
                if inner.starts_with('#') && position >= 0 {
                    return wrong("there is no negative number after #");
                }
                steps.push(Step::Position(position));
                rest = &rest[end + 1..];
            }
            _ => return wrong("there is neither a point nor a bracket"),
        }
    }
    Ok(steps)
}

/// The length of the string in quotes at the beginning of a text.
fn quoted_len(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_values() {
        let text = r#"{"a": {"b": [10, [20, 21], {"c d": "x"}], "0": 5}, "x.y": 1, "$": 2, "q\"\\": 3}"#;
        let value = JsonValue::parse(text).unwrap();
        let found = |path: &str| Path::parse(path).unwrap().find(value).map(JsonValue::text);
        for (path, expected) in [
            ("$", Some(text)),
            ("$.a.b[0]", Some("10")),
            ("$.a.b[1][-1]", Some("21")),
            ("$.a.b[#-1].\"c d\"", Some("\"x\"")),
            ("$.a.b[3]", None),
            ("$.a.b[-4]", None),
            ("$.a.c", None),
            ("$.a.b.c", None),
            ("x.y", Some("1")),
            ("$.\"x.y\"", Some("1")),
            (r#"$."q\"\\""#, Some("3")),
            (r#"$."q\u0022\\""#, Some("3")),
            ("/a/b/1/0", Some("20")),
            ("/a/0", Some("5")),
            ("missing", None),
        ] {
            assert_eq!(found(path), expected, "{path}");
        }
        assert_eq!(Path::position(-1).find(JsonValue::parse("[1,2]").unwrap()).map(JsonValue::text), Some("2"));
        for path in ["$a", "$.", "$..a", "$[", "$[x]", "$.*", "$[*]", "$.\"a", "$[#1]"] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
    }
}
