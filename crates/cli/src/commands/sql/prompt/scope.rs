//! The tables that a text names while it is typed.

use super::tokens::{Kind, Token, tokens};

/// A table, and the name that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedTable {
    /// As it would be looked up, without quotes.
    pub(super) table: String,
    pub(super) alias: Option<String>,
}

/// Words before the name of a table.
const BEFORE: [&str; 5] = ["from", "join", "into", "update", "table"];
/// Words after the name of a table that are no alias of it.
const AFTER: [&str; 22] = [
    "where",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "natural",
    "on",
    "using",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "union",
    "except",
    "intersect",
    "set",
    "select",
    "values",
    "lateral",
];

/// The tables after FROM, JOIN and the like.
pub(super) fn tables(text: &str) -> Vec<NamedTable> {
    let all = tokens(text);
    let tokens: Vec<&Token> = all.iter().filter(|token| !matches!(token.kind, Kind::Blank | Kind::Comment)).collect();
    let part = |at: usize| tokens.get(at).map_or("", |token| &text[token.range.clone()]);
    let is_word = |at: usize, words: &[&str]| words.iter().any(|word| part(at).eq_ignore_ascii_case(word));
    let mut tables = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        at += 1;
        if !is_word(at - 1, &BEFORE) {
            continue;
        }
        // One, or several with commas between them.
        while let Some((table, end)) = name_at(text, &tokens, at) {
            at = end;
            if is_word(at, &["as"]) {
                at += 1;
            }
            let is_name = tokens.get(at).is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Name));
            let alias = (is_name && !is_word(at, &AFTER)).then(|| unquoted(part(at)));
            at += usize::from(alias.is_some());
            tables.push(NamedTable { table, alias });
            if part(at) != "," {
                break;
            }
            at += 1;
        }
    }
    tables
}

/// The name at `at`, and where it ends.
fn name_at(text: &str, tokens: &[&Token], at: usize) -> Option<(String, usize)> {
    let part = |at: usize| tokens.get(at).map_or("", |token| &text[token.range.clone()]);
    let token = tokens.get(at)?;
    match token.kind {
        Kind::Text | Kind::Name if token.is_closed => Some((unquoted(part(at)), at + 1)),
        Kind::Word => {
            let mut end = at + 1;
            while part(end) == "." && tokens.get(end + 1).is_some_and(|token| token.kind == Kind::Word) {
                end += 2;
            }
            // A function that makes a table has no columns that are known.
            (part(end) != "(").then(|| ((at..end).map(part).collect::<String>().to_lowercase(), end))
        }
        _ => None,
    }
}

/// A name without the quotes around it.
pub(super) fn unquoted(name: &str) -> String {
    for quote in ['\'', '"'] {
        if let Some(inner) = name.strip_prefix(quote) {
            let inner = inner.strip_suffix(quote).unwrap_or(inner);
            return inner.replace(&format!("{quote}{quote}"), &quote.to_string());
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, Option<String>)> {
        tables(text).into_iter().map(|named| (named.table, named.alias)).collect()
    }

    #[test]
    fn tables_are_found_with_their_aliases() {
        let named = |table: &str, alias: Option<&str>| (table.to_owned(), alias.map(str::to_owned));
        assert_eq!(
            found("SELECT a FROM 'x/*.parquet' AS x, Cities c JOIN \"Odd\" ON x.a = b WHERE"),
            [named("x/*.parquet", Some("x")), named("cities", Some("c")), named("Odd", None)]
        );
        assert_eq!(found("SELECT * FROM (SELECT 1 FROM a.b) WHERE"), [named("a.b", None)]);
        assert_eq!(found("SELECT * FROM generate_series(1, 2)"), []);
        assert_eq!(found("SELECT * FROM 'open"), []);
    }
}
