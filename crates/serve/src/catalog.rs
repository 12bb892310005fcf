//! Answers the protocol's requests from a database.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hyper::{Method, StatusCode};
use lath_table::{Database, Error, Table};
use serde::Deserialize;
use serde_json::json;

use crate::answer::Answer;
use crate::route::{Route, Segment, parameter};

/// The namespace of all tables, as SQL calls their schema.
pub const NAMESPACE: &str = "public";

/// The requests that are answered, as clients look them up.
const ENDPOINTS: [&str; 6] = [
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
];

/// The published tables of a database.
#[derive(Debug)]
pub(crate) struct Catalog {
    folder: PathBuf,
    database: Mutex<Database>,
}

/// The part of a table's metadata that is checked before it is sent.
#[derive(Deserialize)]
struct MetadataLocation {
    location: String,
}

type AnswerResult<T = Answer> = Result<T, Answer>;

impl Catalog {
    pub(crate) fn new(database: Database) -> Self {
        Self { folder: database.folder().to_owned(), database: Mutex::new(database) }
    }

    /// The database with what others have committed to it.
    fn database(&self) -> lath_table::Result<Database> {
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        database.reopen_if_outdated()?;
        Ok(database.clone())
    }

    /// Answers a request. Reads the database and, for a table, its metadata file.
    pub(crate) fn answer(&self, method: &Method, path: &str, query: Option<&str>) -> Answer {
        let Some(route) = Route::parse(path) else {
            let message =
                format!("the protocol has no {path} here: its paths begin with /v1/config and /v1/namespaces");
            return Answer::error(StatusCode::NOT_FOUND, "NoSuchEndpointException", message);
        };
        let is_head = *method == Method::HEAD;
        let answered = match route {
            Route::Tokens => Err(no_tokens()),
            _ if [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(method) => {
                Err(Answer::read_only())
            }
            _ if !is_head && *method != Method::GET => Err(Answer::no_such_method(method.as_str())),
            Route::Change | Route::BelowTable => Err(Answer::no_such_method(method.as_str())),
            Route::Config => Ok(config()),
            Route::Namespaces => namespaces(query),
            Route::Namespace(namespace) => check_namespace(&namespace).map(|()| {
                let body = json!({ "namespace": [NAMESPACE], "properties": {} }).to_string();
                if is_head { Answer::exists() } else { Answer::found(body) }
            }),
            Route::Tables(namespace) => check_namespace(&namespace).and_then(|()| self.tables()),
            Route::Table(namespace, table) => check_namespace(&namespace).and_then(|()| {
                let body = self.metadata(&table)?;
                Ok(if is_head { Answer::exists() } else { Answer::found(body) })
            }),
        };
        answered.unwrap_or_else(|error| error)
    }

    /// The names of the published tables. Clients expect to be able to load what is listed, so that the others are not.
    pub(crate) fn published(&self) -> lath_table::Result<Vec<String>> {
        let database = self.database()?;
        let mut names = database.table_names()?;
        names.retain(|name| {
            let publication = database.table(name).and_then(|table| table.publication());
            // Loading a table whose publication cannot be read says why.
            !matches!(publication, Ok(None) | Err(Error::NoSuchTable { .. } | Error::NoTable { .. }))
        });
        Ok(names)
    }

    fn tables(&self) -> AnswerResult {
        self.check_folder()?;
        let names = self.published().map_err(failure)?;
        let identifiers: Vec<_> = names.iter().map(|name| json!({ "namespace": [NAMESPACE], "name": name })).collect();
        Ok(Answer::found(json!({ "identifiers": identifiers }).to_string()))
    }

    /// The newest metadata of a table, with its location. It is sent as it was written.
    fn metadata(&self, segment: &Segment) -> AnswerResult<String> {
        self.check_folder()?;
        let (name, table) = self.table(segment)?;
        let publication = table.publication().map_err(failure)?;
        let Some(publication) = publication else { return Err(self.not_published(&name)) };
        let path = &publication.metadata;
        let bytes = table.read_metadata(&publication).map_err(|error| match &error {
            // It was there a moment ago: publishing has ended since.
            Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => self.not_published(&name),
            _ => unavailable(error.to_string()),
        })?;
        let damaged = |error: &dyn std::fmt::Display| unavailable(format!("{} is damaged: {error}", path.display()));
        let metadata = String::from_utf8(bytes).map_err(|error| damaged(&error))?;
        let MetadataLocation { location } = serde_json::from_str(&metadata).map_err(|error| damaged(&error))?;
        if Path::new(&location) != table.location() {
            return Err(unavailable(format!(
                "the database was moved from {location} to {} after the table was published, and metadata has absolute paths; \
                 publish it again: lath table publish {} --table '{name}' --now",
                table.folder().display(),
                self.folder.display(),
            )));
        }
        Ok(format!("{{\"metadata-location\":{},\"metadata\":{metadata},\"config\":{{}}}}", json!(path)))
    }

    /// The table that a segment of a path means, and its name.
    fn table(&self, segment: &Segment) -> AnswerResult<(String, Table)> {
        let mut found = None;
        for name in segment.names() {
            match self.database().and_then(|database| database.table(&name)) {
                Ok(_) if found.is_some() => {
                    let message = format!(
                        "{:?} in the path can be two tables, with + and with a space: encode them as %2B and %20",
                        segment.shown()
                    );
                    return Err(Answer::error(StatusCode::BAD_REQUEST, "BadRequestException", message));
                }
                Ok(table) => found = Some((name, table)),
                Err(Error::NoSuchTable { .. }) => {}
                Err(error) => return Err(failure(error)),
            }
        }
        found.ok_or_else(|| no_such_table(format!("Table does not exist: {NAMESPACE}.{}", segment.shown())))
    }

    fn not_published(&self, name: &str) -> Answer {
        no_such_table(format!(
            "Table is not published: {NAMESPACE}.{name}; publish it: lath table publish {} --table '{name}' --as iceberg",
            self.folder.display()
        ))
    }

    /// The store stays open when its folder is moved or removed, but the paths in metadata do not.
    fn check_folder(&self) -> AnswerResult<()> {
        let folder = &self.folder;
        match folder.is_dir() {
            true => Ok(()),
            false => {
                Err(unavailable(format!("the database is no longer at {}: serve it where it is now", folder.display())))
            }
        }
    }
}

/// The answer for a table that cannot be read.
fn failure(error: Error) -> Answer {
    match error {
        Error::NoTable { .. } | Error::NoSuchTable { .. } => no_such_table("Table does not exist: it was dropped"),
        other => unavailable(other.to_string()),
    }
}

fn config() -> Answer {
    Answer::found(json!({ "defaults": {}, "overrides": {}, "endpoints": ENDPOINTS }).to_string())
}

/// The namespaces: one, which has none below it.
fn namespaces(query: Option<&str>) -> AnswerResult {
    let namespaces = match parameter(query, "parent") {
        None => vec![[NAMESPACE]],
        Some(parent) if parent.is_empty() => vec![[NAMESPACE]],
        Some(parent) if parent == NAMESPACE => Vec::new(),
        Some(parent) => return Err(no_such_namespace(&parent.replace('\u{1f}', "."))),
    };
    Ok(Answer::found(json!({ "namespaces": namespaces }).to_string()))
}

fn check_namespace(namespace: &Segment) -> AnswerResult<()> {
    match namespace.names().any(|name| name == NAMESPACE) {
        true => Ok(()),
        false => Err(no_such_namespace(&namespace.shown())),
    }
}

fn no_such_namespace(shown: &str) -> Answer {
    let message = format!("Namespace does not exist: {shown}; the namespace of all tables is {NAMESPACE}");
    Answer::error(StatusCode::NOT_FOUND, "NoSuchNamespaceException", message)
}

fn no_such_table(message: impl Into<String>) -> Answer {
    Answer::error(StatusCode::NOT_FOUND, "NoSuchTableException", message)
}

/// 500: the database cannot be read now.
fn unavailable(message: impl Into<String>) -> Answer {
    Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "ServiceFailureException", message)
}

/// The error of OAuth that ends the exchange.
fn no_tokens() -> Answer {
    let message = "this catalog makes no tokens: give clients its token itself (token, not credential)";
    Answer::json(StatusCode::BAD_REQUEST, &json!({ "error": "unsupported_grant_type", "error_description": message }))
}
