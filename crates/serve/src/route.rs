//! Parses paths of the protocol.

use percent_encoding::percent_decode_str;

/// The separator between the levels of a namespace.
const LEVELS: char = '\u{1f}';

/// A resource of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Config,
    Namespaces,
    Namespace(Segment),
    Tables(Segment),
    Table(Segment, Segment),
    /// A resource below a table, which only writers and readers with other rights need.
    BelowTable,
    /// A resource by which writers change several tables, or register one.
    Change,
    /// The endpoint that exchanges an identity for a token.
    Tokens,
}

/// A decoded segment of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    text: String,
    /// Whether a `+` was not encoded. Iceberg's own client writes a space so.
    has_plus: bool,
}

impl Segment {
    fn parse(raw: &str) -> Option<Self> {
        let text = percent_decode_str(raw).decode_utf8().ok()?.into_owned();
        Some(Self { has_plus: raw.contains('+'), text })
    }

    /// The names that the segment can mean.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let spaced = self.has_plus.then(|| self.text.replace('+', " "));
        [self.text.clone()].into_iter().chain(spaced)
    }

    /// The segment for messages.
    pub(crate) fn shown(&self) -> String {
        self.text.replace(LEVELS, ".")
    }
}

impl Route {
    /// The resource at a path; `None` if the protocol has none there.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        // Clients join an address with a slash at its end and a path with one at its start.
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let ["v1", rest @ ..] = segments.as_slice() else { return None };
        Some(match rest {
            ["config"] => Self::Config,
            ["oauth", "tokens"] => Self::Tokens,
            ["transactions", "commit"] | ["tables", "rename"] | ["views", "rename"] => Self::Change,
            ["namespaces"] => Self::Namespaces,
            ["namespaces", namespace] => Self::Namespace(Segment::parse(namespace)?),
            ["namespaces", namespace, "tables"] => Self::Tables(Segment::parse(namespace)?),
            ["namespaces", namespace, "tables", table] => {
                Self::Table(Segment::parse(namespace)?, Segment::parse(table)?)
            }
            ["namespaces", _, "tables", _, "metrics"] => Self::BelowTable,
            ["namespaces", _, "properties" | "register"] => Self::Change,
            _ => return None,
        })
    }
}

/// The value of a parameter of a query, decoded.
pub(crate) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value.replace('+', " ")).next()?;
    Some(percent_decode_str(&value).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(text: &str) -> Segment {
        Segment { text: text.to_owned(), has_plus: false }
    }

    #[test]
    fn segments_are_decoded_after_the_path_is_split() {
        let table = |text: &str| Some(Route::Table(segment("public"), segment(text)));
        assert_eq!(Route::parse("/v1/namespaces/public/tables/a%2Fb%20%C3%A9"), table("a/b é"));
        assert_eq!(Route::parse("//v1/namespaces/public/tables/t/"), table("t"));
        assert_eq!(Route::parse("/v1/namespaces/a%1Fb"), Some(Route::Namespace(segment("a\u{1f}b"))));
        assert_eq!(segment("a\u{1f}b").shown(), "a.b");
        for path in [
            "/",
            "/v1",
            "/v2/config",
            "/v1/config/x",
            "/v1/namespaces/%FF",
            "/v1/namespaces/a/b",
            "/v1/namespaces/../config/x",
        ] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }

    #[test]
    fn a_plus_may_be_a_space() {
        let names = |raw: &str| Segment::parse(raw).unwrap().names().collect::<Vec<_>>();
        assert_eq!(names("a+b"), ["a+b", "a b"]);
        assert_eq!(names("a%2Bb"), ["a+b"]);
        assert_eq!(names("a%20b"), ["a b"]);
    }

    #[test]
    fn parameters_are_decoded() {
        assert_eq!(parameter(Some("pageSize=1&parent=a%1Fb+c"), "parent").as_deref(), Some("a\u{1f}b c"));
        assert_eq!(parameter(Some("pageSize=1"), "parent"), None);
        assert_eq!(parameter(None, "parent"), None);
    }
}
