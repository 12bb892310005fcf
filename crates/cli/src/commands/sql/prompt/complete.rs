//! Completion by Tab: keywords, functions, tables, columns of the tables that the text names, and paths of files in quotes.

use std::collections::HashMap;
use std::fs;

use arrow_schema::{DataType, Fields, SchemaRef};
use clap::ValueEnum;
use lath_sql::BlockingSession;

use super::command;
use super::scope::tables;
use super::tokens::{Kind, tokens};
use crate::args::Format;
use crate::commands::engine::quoted;

/// Looks up names, and remembers the columns of tables.
pub(super) struct Completer<'a> {
    session: &'a BlockingSession,
    columns: HashMap<String, Option<SchemaRef>>,
}

/// Completions of the text from `start` on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) start: usize,
    pub(super) words: Vec<String>,
}

impl<'a> Completer<'a> {
    pub(super) fn new(session: &'a BlockingSession) -> Self {
        Self { session, columns: HashMap::new() }
    }

    /// Forgets the columns of tables, which a statement may have changed.
    pub(super) fn forget(&mut self) {
        self.columns.clear();
    }

    /// Completes the text before `position`.
    pub(super) fn offer(&mut self, text: &str, position: usize) -> Offer {
        let before = &text[..position];
        if let Some(offer) = self.offer_to_command(before) {
            return offer;
        }
        // An unclosed comment continues at the cursor.
        let open = tokens(before).pop().filter(|token| !token.is_closed || token.kind == Kind::Comment);
        match open {
            Some(token) if token.kind == Kind::Text => {
                let start = token.range.start + 1;
                Offer { start, words: paths(&before[start..], '\'') }
            }
            Some(token) if token.kind == Kind::Name => {
                let start = token.range.start;
                let typed = &before[start + 1..];
                let names = self.fields(text).into_iter().map(|(name, _)| name).chain(self.session.tables());
                Offer { start, words: sorted(names.filter(|name| begins(name, typed)).map(|name| quoted(&name, '"'))) }
            }
            Some(token) if before[token.range.clone()].ends_with("*/") => self.offer_word(text, before),
            // There is nothing to complete in a comment.
            Some(_) => Offer { start: position, words: Vec::new() },
            None => self.offer_word(text, before),
        }
    }

    fn offer_to_command(&self, before: &str) -> Option<Offer> {
        let typed = before.trim_start();
        if !typed.starts_with('.') {
            return None;
        }
        let start = before.len() - typed.len();
        let Some((name, argument)) = typed.split_once(' ') else {
            let names = command::NAMES.iter().map(|(name, _)| (*name).to_owned());
            return Some(Offer { start, words: names.filter(|name| name.starts_with(typed)).collect() });
        };
        let start = before.len() - argument.len();
        let words: Vec<String> = match name {
            ".mode" => {
                let shown = Format::value_variants().iter().filter(|format| command::is_shown(**format));
                shown.filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned())).collect()
            }
            ".timing" | ".pager" => ["on", "off"].map(str::to_owned).to_vec(),
            ".schema" if argument.starts_with('\'') => {
                return Some(Offer { start: start + 1, words: paths(&argument[1..], '\'') });
            }
            ".schema" => self.session.tables(),
            ".read" => return Some(Offer { start, words: paths(argument, ' ') }),
            _ => Vec::new(),
        };
        Some(Offer { start, words: words.into_iter().filter(|word| word.starts_with(argument)).collect() })
    }

    fn offer_word(&mut self, text: &str, before: &str) -> Offer {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let start =
            before.rfind(|c| !is_part(c)).map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
        let typed = &before[start..];
        if let Some((owner, field)) = typed.rsplit_once('.') {
            let fields = self.owned_names(text, owner);
            let names = fields.into_iter().filter(|name| begins(name, field)).map(|name| written(&name));
            return Offer { start: start + owner.len() + 1, words: sorted(names) };
        }
        let columns = self.fields(text).into_iter().map(|(name, _)| name).filter(|name| begins(name, typed));
        let columns = columns.map(|name| written(&name)).collect::<Vec<_>>();
        let names = self.session.tables().into_iter().filter(|name| begins(name, typed)).map(|name| written(&name));
        let mut words = sorted(columns.into_iter().chain(names));
        if !typed.is_empty() {
            let is_lower = typed.chars().any(char::is_lowercase);
            let keywords = KEYWORDS.split_whitespace().filter(|keyword| begins(keyword, typed));
            words.extend(keywords.map(|keyword| if is_lower { keyword.to_lowercase() } else { keyword.to_owned() }));
            let functions = self.session.functions().into_iter().filter(|name| begins(name, typed));
            words.extend(functions.map(|name| format!("{name}(")));
        }
        Offer { start, words }
    }

    /// The columns of the tables that `text` names, with the table's alias.
    fn fields(&mut self, text: &str) -> Vec<(String, Option<String>)> {
        let mut found = Vec::new();
        for named in tables(text) {
            let Some(schema) = self.table_schema(&named.table) else { continue };
            found.extend(schema.fields().iter().map(|field| (field.name().clone(), named.alias.clone())));
        }
        found
    }

    /// The columns of a table or an alias, or the fields of a column, that is called `owner`.
    fn owned_names(&mut self, text: &str, owner: &str) -> Vec<String> {
        let names = |fields: &Fields| fields.iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let is_owner = |name: &str| name.eq_ignore_ascii_case(owner);
        for named in tables(text) {
            let Some(schema) = self.table_schema(&named.table) else { continue };
            if is_owner(&named.table) || named.alias.as_deref().is_some_and(is_owner) {
                return names(schema.fields());
            }
            let path = named.alias.as_deref().and_then(|alias| owner.strip_prefix(alias)?.strip_prefix('.'));
            if let Some(fields) = struct_at(schema.fields(), path.unwrap_or(owner)) {
                return names(fields);
            }
        }
        Vec::new()
    }

    fn table_schema(&mut self, table: &str) -> Option<SchemaRef> {
        // Asking an object store would take long, and cannot be stopped.
        if table.contains("://") && !table.starts_with("file://") {
            return None;
        }
        if !self.columns.contains_key(table) {
            let schema = self.session.columns(table);
            self.columns.insert(table.to_owned(), schema);
        }
        self.columns[table].clone()
    }
}

/// The fields of the struct at a dotted path.
fn struct_at<'a>(fields: &'a Fields, path: &str) -> Option<&'a Fields> {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let field = fields.iter().find(|field| field.name().eq_ignore_ascii_case(name))?;
    let DataType::Struct(inner) = field.data_type() else { return None };
    rest.map_or(Some(inner), |rest| struct_at(inner, rest))
}

fn begins(name: &str, typed: &str) -> bool {
    name.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed))
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// Quotes a name, unless it consists of lower-case letters, digits and `_`.
fn written(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !KEYWORDS.split_whitespace().any(|keyword| keyword.eq_ignore_ascii_case(name));
    if is_plain { name.to_owned() } else { quoted(name, '"') }
}

/// Files and folders whose paths begin with `typed`. A file's path is followed by `end`, which closes it.
fn paths(typed: &str, end: char) -> Vec<String> {
    let (folder, name) = typed.rsplit_once('/').map_or(("", typed), |(folder, name)| (&typed[..=folder.len()], name));
    let Ok(entries) = fs::read_dir(if folder.is_empty() { "." } else { folder }) else { return Vec::new() };
    let entries = entries.flatten().filter_map(|entry| {
        let found = entry.file_name().into_string().ok()?;
        let is_wanted = found.starts_with(name) && (!found.starts_with('.') || name.starts_with('.'));
        let end = if entry.path().is_dir() { '/' } else { end };
        is_wanted.then(|| format!("{folder}{found}{end}"))
    });
    sorted(entries)
}

/// Keywords that are offered and coloured.
pub(super) const KEYWORDS: &str = "ALL ANALYZE AND ANY AS ASC BETWEEN BY CASE CAST COPY CREATE CROSS CURRENT DELETE DESC DESCRIBE DISTINCT \
    DROP ELSE END ESCAPE EXCEPT EXISTS EXPLAIN EXTERNAL EXTRACT FALSE FILTER FIRST FOLLOWING FOR FROM FULL GROUP GROUPING HAVING \
    ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN LAST LATERAL LEFT LIKE LIMIT LOCATION NATURAL NOT NULL NULLS OFFSET ON OR \
    ORDER OUTER OVER PARTITION PRECEDING QUALIFY RANGE RECURSIVE RIGHT ROLLUP ROW ROWS SELECT SET SHOW STORED TABLE TABLES THEN TO \
    TRUE TRY_CAST UNBOUNDED UNION UNNEST USING VALUES VIEW WHEN WHERE WINDOW WITH WITHIN";

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(session: &BlockingSession, text: &str) -> (String, Vec<String>) {
        let position = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        let offer = Completer::new(session).offer(&text, position);
        (text[..offer.start].to_owned(), offer.words)
    }

    #[test]
    fn columns_of_the_tables_that_are_named_are_offered() {
        let session = BlockingSession::new(lath_sql::Session::new()).unwrap();
        session.run("CREATE VIEW trips AS SELECT 1 AS price, named_struct('age', 3, 'Plan', 'x') AS rider, 2 AS \"Odd Name\"").unwrap();
        assert_eq!(offered(&session, "SELECT pric| FROM trips").1, ["price"]);
        assert_eq!(offered(&session, "SELECT \"o| FROM trips"), ("SELECT ".to_owned(), Vec::<String>::new()));
        assert_eq!(offered(&session, "SELECT t.| FROM trips AS t").1, ["\"Odd Name\"", "price", "rider"]);
        assert_eq!(offered(&session, "SELECT rider.| FROM trips").1, ["\"Plan\"", "age"]);
        assert_eq!(offered(&session, "SELECT t.rider.a| FROM trips t").1, ["age"]);
        assert_eq!(offered(&session, "SELECT * FROM tri|").1[0], "trips");
        assert_eq!(offered(&session, "SELECT pric|").1, [""; 0]);
    }

    #[test]
    fn keywords_are_offered_as_they_are_typed() {
        let session = BlockingSession::new(lath_sql::Session::new()).unwrap();
        assert_eq!(offered(&session, "SEL|"), (String::new(), vec!["SELECT".to_owned()]));
        assert_eq!(offered(&session, "sel|").1, ["select"]);
        assert!(offered(&session, "SELECT approx_d|").1.contains(&"approx_distinct(".to_owned()));
        assert_eq!(offered(&session, "-- SEL|").1, [""; 0]);
    }

    #[test]
    fn commands_and_their_arguments_are_offered() {
        let session = BlockingSession::new(lath_sql::Session::new()).unwrap();
        assert_eq!(offered(&session, ".ti|"), (String::new(), vec![".timing".to_owned()]));
        assert_eq!(offered(&session, ".mode ver|").1, ["vertical"]);
        assert_eq!(offered(&session, ".mode parq|").1, [""; 0]);
    }

    #[test]
    fn paths_are_offered_in_quotes() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a b.parquet"), "").unwrap();
        fs::create_dir(folder.path().join("a c")).unwrap();
        fs::write(folder.path().join(".hidden"), "").unwrap();
        let session = BlockingSession::new(lath_sql::Session::new()).unwrap();
        let path = folder.path().to_str().unwrap();
        let (before, words) = offered(&session, &format!("SELECT * FROM '{path}/|"));
        assert_eq!(before, "SELECT * FROM '");
        assert_eq!(words, [format!("{path}/a b.parquet'"), format!("{path}/a c/")]);
    }
}
