//! Asks a catalog for namespaces, tables and metadata.

use std::collections::HashMap;
use std::io;

use bytes::Bytes;
use lath_parquet::{DatasetOptions, Error, Result};
use lath_source::{WebClient, WebRequest};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::access::Access;
use super::location::{Address, encoded, parse_namespace, shown_namespace};
use super::variables::Variables;
use crate::iceberg;
use crate::lake::{Lake, LakeOptions};

/// Maximum number of requests for one list, which catalogs send in pages.
const MAX_PAGES: usize = 10_000;

/// Maximum depth of namespaces that are listed.
const MAX_LEVELS: usize = 16;

/// A REST catalog of Iceberg.
///
/// ```no_run
/// # fn main() -> lath_lake::Result<()> {
/// use lath_lake::{LakeOptions, RestCatalog};
///
/// let catalog = RestCatalog::connect("rest://localhost:8181", &LakeOptions::new())?;
/// for namespace in catalog.namespaces()? {
///     for table in catalog.tables(&namespace)? {
///         let lake = catalog.open(&namespace, &table, &LakeOptions::new())?;
///         println!("{namespace}.{table} has {} rows", lake.dataset().scan().count()?);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RestCatalog {
    client: WebClient,
    access: Access,
    /// The URL before `/v1`.
    base: String,
    /// The path between `v1/` and the rest, with a slash at its end unless it is empty.
    prefix: String,
    /// Encoded, between the levels of a namespace.
    separator: String,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    defaults: HashMap<String, Option<String>>,
    #[serde(default)]
    overrides: HashMap<String, Option<String>>,
}

#[derive(Deserialize)]
struct AccessToken {
    access_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Page {
    #[serde(default)]
    namespaces: Vec<Vec<String>>,
    #[serde(default)]
    identifiers: Vec<Identifier>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct Identifier {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct LoadedTable {
    metadata_location: Option<String>,
    metadata: serde_json::Value,
}

impl RestCatalog {
    /// Connects to the catalog at `rest://HOST[:PORT][/PATH][?warehouse=NAME]`: asks for its configuration. Requests go by `https`, and to
    /// this machine by `http`. The variable `LATH_REST_URI` names one catalog, to which `LATH_REST_TOKEN`, or a token for
    /// `LATH_REST_CREDENTIAL` (`ID:SECRET`), is sent. Catalogs of AWS Glue and S3 Tables get signed requests.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a malformed location, [`Error::Io`] if the catalog does not answer or denies access.
    pub fn connect(location: &str, options: &LakeOptions) -> Result<Self> {
        let variables = Variables::read();
        Self::new(Address::parse(location, &variables)?, &variables, &options.dataset)
    }

    pub(super) fn new(address: Address, variables: &Variables, options: &DatasetOptions) -> Result<Self> {
        let access = Access::new(&address, variables)?;
        let (prefix, separator) = (String::new(), "%1F".to_owned());
        let mut catalog = Self { client: options.web_client()?, access, base: address.base, prefix, separator };
        catalog.log_in()?;
        let warehouse = address.warehouse.map_or_else(String::new, |name| format!("?warehouse={}", encoded(&name)));
        let config: Config = catalog.get(&format!("config{warehouse}"))?;
        let Config { defaults, mut overrides } = config;
        let mut value = |name: &str| overrides.remove(name).or_else(|| defaults.get(name).cloned()).flatten();
        if let Some(uri) = value("uri") {
            catalog.base = uri.trim_end_matches('/').to_owned();
        }
        if let Some(separator) = value("namespace-separator").filter(|separator| !separator.is_empty()) {
            catalog.separator = separator;
        }
        let prefix = value("prefix").unwrap_or_default();
        let prefix = prefix.trim_matches('/');
        catalog.prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(catalog)
    }

    /// The namespaces, in the catalog's order, each followed by the ones below it. Levels have dots between them; a dot within a level is
    /// `%2E`.
    ///
    /// # Errors
    /// [`Error::Io`] if the catalog does not answer.
    pub fn namespaces(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        self.namespaces_below(&[], &mut found)?;
        Ok(found)
    }

    fn namespaces_below(&self, parent: &[String], found: &mut Vec<String>) -> Result<()> {
        let query = if parent.is_empty() { String::new() } else { format!("?parent={}", self.levels(parent)) };
        for namespace in self.pages(&format!("{}namespaces{query}", self.prefix), |page| page.namespaces)? {
            // Some catalogs ignore the parent, and list all that they have.
            if namespace.len() != parent.len() + 1 || !namespace.starts_with(parent) {
                continue;
            }
            found.push(shown_namespace(&namespace));
            if namespace.len() < MAX_LEVELS {
                match self.namespaces_below(&namespace, found) {
                    // Catalogs with one level say that there is no such namespace.
                    Err(Error::Invalid { .. }) => {}
                    listed => listed?,
                }
            }
        }
        Ok(())
    }

    /// The tables of a namespace, in the catalog's order.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such namespace, [`Error::Io`] if the catalog does not answer.
    pub fn tables(&self, namespace: &str) -> Result<Vec<String>> {
        let namespace = self.levels(&parse_namespace(namespace)?);
        let tables = self.pages(&format!("{}namespaces/{namespace}/tables", self.prefix), |page| page.identifiers)?;
        Ok(tables.into_iter().map(|table| table.name).collect())
    }

    /// Opens a table of a namespace, as it is now.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such table, [`Error::Io`] if the catalog does not answer, and as [`open`](crate::open).
    pub fn open(&self, namespace: &str, table: &str, options: &LakeOptions) -> Result<Lake> {
        self.open_levels(&parse_namespace(namespace)?, table, options)
    }

    pub(super) fn open_levels(&self, namespace: &[String], table: &str, options: &LakeOptions) -> Result<Lake> {
        let path = format!("{}namespaces/{}/tables/{}", self.prefix, self.levels(namespace), encoded(table));
        let loaded: LoadedTable = self.get(&path)?;
        let metadata = serde_json::to_vec(&loaded.metadata).map_err(|error| Error::corrupt(error.to_string()))?;
        iceberg::open_sent(&metadata, loaded.metadata_location.as_deref(), &self.url(&path), options)
    }

    /// Gets a token for the identity, if there is one.
    fn log_in(&mut self) -> Result<()> {
        let Access::Credential { token_url, form } = &self.access else { return Ok(()) };
        let request = WebRequest { form: Some(form.clone()), ..WebRequest::get(token_url.as_str()) };
        let AccessToken { access_token } = parse(token_url, self.answer(request)?)?;
        self.access = Access::Bearer(access_token);
        Ok(())
    }

    fn levels(&self, namespace: &[String]) -> String {
        namespace.iter().map(|level| encoded(level)).collect::<Vec<_>>().join(&self.separator)
    }

    fn url(&self, path: &str) -> String {
        format!("{}/v1/{path}", self.base)
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let url = self.url(path);
        let body = self.answer(self.access.add_to(WebRequest::get(url.as_str())))?;
        parse(&url, body)
    }

    /// A list that may come in several pages.
    fn pages<T>(&self, path: &str, items: impl Fn(Page) -> Vec<T>) -> Result<Vec<T>> {
        let (mut found, mut next) = (Vec::new(), String::new());
        for _ in 0..MAX_PAGES {
            let joint = if path.contains('?') { '&' } else { '?' };
            let token = if next.is_empty() { next } else { format!("{joint}pageToken={}", encoded(&next)) };
            let mut page: Page = self.get(&format!("{path}{token}"))?;
            let token = page.next_page_token.take();
            found.extend(items(page));
            match token.filter(|token| !token.is_empty()) {
                Some(token) => next = token,
                None => return Ok(found),
            }
        }
        Err(Error::corrupt(format!("{} sends a list without an end", self.url(path))))
    }

    /// The body of the answer, if the status is a success.
    fn answer(&self, request: WebRequest) -> Result<Bytes> {
        let url = request.url.clone();
        let failed = |error| Error::io("ask the catalog", error).locate(|at| at.file = Some(url.as_str().into()));
        let (status, body) = self.client.send(request).map_err(failed)?;
        let message = || format!("{url}: the catalog answers {status}: {}", message(&body));
        match status {
            200..300 => Ok(body),
            401 | 403 => {
                let advice = match &self.access {
                    Access::Signed(..) => "set the credentials of AWS (AWS_ACCESS_KEY_ID, …)".to_owned(),
                    _ => format!("set LATH_REST_URI to {}, and LATH_REST_TOKEN or LATH_REST_CREDENTIAL", self.base),
                };
                Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}; {advice}", message()))))
            }
            400 | 404 | 406 | 410 => Err(Error::invalid(message())),
            _ => Err(failed(io::Error::other(message()))),
        }
    }
}

fn parse<T: DeserializeOwned>(url: &str, body: Bytes) -> Result<T> {
    serde_json::from_slice(&body)
        .map_err(|error| Error::corrupt(format!("{url}: the answer is not one of a REST catalog of Iceberg: {error}")))
}

/// The message in the body of an error: of the protocol, of OAuth, or the text.
fn message(body: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let parts = [&value["error"]["message"], &value["error_description"], &value["error"], &value["message"]];
    match parts.into_iter().find_map(|part| part.as_str()) {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(body).chars().take(300).collect(),
    }
}
