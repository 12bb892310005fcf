//! Paths of columns: the names from a root column to a field within it, and their text.

/// Whether the dotted `path` is the column or group at the dotted path `name`, or below it.
///
/// ```
/// use lath_format::schema::is_at_or_below;
///
/// assert!(is_at_or_below("point", "point") && is_at_or_below("point.x", "point"));
/// assert!(!is_at_or_below("points", "point"));
/// ```
pub fn is_at_or_below(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether the text of a path is the name of this root column, in quotes or not.
///
/// ```
/// use lath_format::schema::is_column;
///
/// assert!(is_column("point", "point") && is_column("\"a.b\"", "a.b"));
/// assert!(!is_column("point.x", "point"));
/// ```
pub fn is_column(path: &str, name: &str) -> bool {
    path == name || quoted_names(path).is_some_and(|names| names == [name])
}

/// The text of a path: names joined by dots, in double quotes if they are empty or have dots or quotes.
///
/// ```
/// use lath_format::schema::write_path;
///
/// assert_eq!(write_path(&["point", "x"]), "point.x");
/// assert_eq!(write_path(&["point.x"]), "\"point.x\"");
/// assert_eq!(write_path(&["a", "b\"c"]), "a.\"b\"\"c\"");
/// ```
pub fn write_path<S: AsRef<str>>(names: &[S]) -> String {
    let mut path = String::new();
    for (at, name) in names.iter().enumerate() {
        let name = name.as_ref();
        path.push_str(if at > 0 { "." } else { "" });
        if name.is_empty() || name.contains(['.', '"']) {
            path.push('"');
            path.push_str(&name.replace('"', "\"\""));
            path.push('"');
        } else {
            path.push_str(name);
        }
    }
    path
}

/// Splits a text with quoted names; `None` for a text without quotes, or with an unclosed one.
pub fn quoted_names(text: &str) -> Option<Vec<String>> {
    if !text.contains('"') {
        return None;
    }
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let mut name = String::new();
        if let Some(mut quoted) = rest.strip_prefix('"') {
            loop {
                let end = quoted.find('"')?;
                name.push_str(&quoted[..end]);
                quoted = &quoted[end + 1..];
                match quoted.strip_prefix('"') {
                    Some(after) => {
                        name.push('"');
                        quoted = after;
                    }
                    None => break,
                }
            }
            rest = quoted;
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            name.push_str(&rest[..end]);
            rest = &rest[end..];
        }
        names.push(name);
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix('.')?;
    }
}

/// The result of searching a path by its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathMatch {
    /// These names.
    Names(Vec<String>),
    /// No path matches.
    Nothing,
    /// Several paths match; their unambiguous texts.
    Ambiguous(Vec<String>),
}

/// Finds the column with a text among `paths`, the paths of leaves. The column can be a leaf or a group above one.
///
/// A root column whose name is the whole text has precedence. Otherwise names in double quotes are literal, and a text without quotes is names
/// joined by dots. These names can have dots themselves, if only one path matches.
///
/// ```
/// use lath_format::schema::{PathMatch, find_path};
///
/// let paths = [vec!["a", "b"], vec!["a.b"], vec!["x", "b.c"], vec!["x.b", "c"]];
/// let names = |names: &[&str]| PathMatch::Names(names.iter().map(|name| name.to_string()).collect());
/// assert_eq!(find_path("a.b", &paths), names(&["a.b"]));
/// assert_eq!(find_path("a.\"b\"", &paths), names(&["a", "b"]));
/// assert_eq!(find_path("a", &paths), names(&["a"]));
/// assert_eq!(find_path("x.b.c", &paths), PathMatch::Ambiguous(vec!["x.\"b.c\"".to_owned(), "\"x.b\".c".to_owned()]));
/// assert_eq!(find_path("x.c", &paths), PathMatch::Nothing);
/// ```
pub fn find_path<S: AsRef<str>, P: AsRef<[S]>>(text: &str, paths: &[P]) -> PathMatch {
    if paths.iter().any(|path| path.as_ref().first().is_some_and(|root| root.as_ref() == text)) {
        return PathMatch::Names(vec![text.to_owned()]);
    }
    if let Some(names) = quoted_names(text) {
        let is_there = paths.iter().any(|path| begins_with(path.as_ref(), &names));
        return if is_there { PathMatch::Names(names) } else { PathMatch::Nothing };
    }
    let mut found: Vec<&[S]> = Vec::new();
    for path in paths {
        let path = path.as_ref();
        if let Some(count) = spelled(text, path) {
            let names = &path[..count];
            let is_same = |other: &&[S]| other.len() == names.len() && begins_with(names, other);
            if !found.iter().any(is_same) {
                found.push(names);
            }
        }
    }
    match found.as_slice() {
        [] => PathMatch::Nothing,
        [only] => PathMatch::Names(only.iter().map(|name| name.as_ref().to_owned()).collect()),
        several => PathMatch::Ambiguous(several.iter().map(|names| write_path(names)).collect()),
    }
}

/// Whether the first names of a path are `names`.
pub fn begins_with<S: AsRef<str>, N: AsRef<str>>(path: &[S], names: &[N]) -> bool {
    path.len() >= names.len() && path.iter().zip(names).all(|(one, other)| one.as_ref() == other.as_ref())
}

/// The number of names at the start of a path whose joined text is `text`.
pub fn spelled<S: AsRef<str>>(text: &str, path: &[S]) -> Option<usize> {
    let mut rest = text;
    for (at, name) in path.iter().enumerate() {
        let after = rest.strip_prefix(name.as_ref())?;
        if after.is_empty() {
            return Some(at + 1);
        }
        rest = after.strip_prefix('.')?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found_whatever_the_names_are() {
        let odd = ["", ".", "a", "a.b", "\"", "\"a\".\"b\"", "é", " ", "A", "a\"b.c"];
        let mut paths: Vec<Vec<&str>> = Vec::new();
        for one in odd {
            for other in odd {
                paths.push(vec![one, other]);
            }
        }
        let roots: Vec<&str> = odd.to_vec();
        for path in &paths {
            let written = write_path(path);
            let expected = match roots.contains(&written.as_str()) {
                true => vec![written.clone()],
                false => path.iter().map(|name| (*name).to_owned()).collect(),
            };
            match find_path(&written, &paths) {
                PathMatch::Names(names) => assert_eq!(names, expected, "{written}"),
                other => assert!(!written.contains('"'), "{written}: {other:?}"),
            }
        }
    }
}
