//! Asks a catalog for namespaces, tables and metadata.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use bytes::Bytes;
use lath_parquet::{DatasetOptions, Error, Result};
use lath_source::{WebClient, WebMethod, WebRequest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::access::Access;
use super::location::{Address, encoded, parse_namespace, shown_namespace};
use super::variables::Variables;
use super::vended::{self, Settings};
use crate::iceberg;
use crate::lake::{Lake, LakeOptions, LakeVersion};

/// Maximum number of requests for one list, which catalogs send in pages.
const MAX_PAGES: usize = 10_000;

/// Maximum depth of namespaces that are listed.
const MAX_LEVELS: usize = 16;

/// Maximum number of requests for lists that are in flight.
const PARALLEL_LISTS: usize = 8;

/// A REST catalog of Iceberg. Clones share its connections, and the token that was made for an identity, which is made again once the
/// catalog does not take it any more.
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
    /// The token that was made for an identity.
    token: Arc<Mutex<Option<Access>>>,
    /// The URL before `/v1`.
    base: String,
    /// The path between `v1/` and the rest, with a slash at its end unless it is empty.
    prefix: String,
    /// Encoded, between the levels of a namespace.
    separator: String,
    /// Settings of stores.
    store: Arc<StoreSettings>,
}

/// Settings of stores, which may have secrets.
struct StoreSettings(Settings);

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    defaults: Value,
    #[serde(default)]
    overrides: Value,
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
    metadata: Value,
    // They have secrets, which errors about other shapes would show.
    #[serde(default)]
    config: Value,
    #[serde(default)]
    storage_credentials: Value,
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
        let (client, token) = (options.web_client()?, Arc::default());
        let store = Arc::new(StoreSettings(Settings::new()));
        let mut catalog = Self { client, access, token, base: address.base, prefix, separator, store };
        let warehouse = address.warehouse.map_or_else(String::new, |name| format!("?warehouse={}", encoded(&name)));
        let config: Config = catalog.get(&format!("config{warehouse}"))?;
        let Config { defaults, overrides } = config;
        let value = |name: &str| {
            let value = overrides.get(name).or_else(|| defaults.get(name))?;
            value.as_str().map(str::to_owned)
        };
        let mut settings = vended::settings(&defaults);
        settings.extend(vended::settings(&overrides));
        catalog.store = Arc::new(StoreSettings(settings));
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
        let mut level = self.namespaces_below(&[])?;
        let mut waiting: Vec<Vec<String>> = level.iter().rev().cloned().collect();
        let mut below: HashMap<Vec<String>, Vec<Vec<String>>> = HashMap::new();
        for _ in 1..MAX_LEVELS {
            let listed = self.all_below(&level)?;
            let next: Vec<Vec<String>> = listed.iter().flatten().cloned().collect();
            below.extend(level.into_iter().zip(listed));
            if next.is_empty() {
                break;
            }
            level = next;
        }
        let mut found = Vec::new();
        while let Some(namespace) = waiting.pop() {
            found.push(shown_namespace(&namespace));
            waiting.extend(below.remove(&namespace).unwrap_or_default().into_iter().rev());
        }
        Ok(found)
    }

    /// The namespaces that are one level below each of `parents`.
    fn all_below(&self, parents: &[Vec<String>]) -> Result<Vec<Vec<Vec<String>>>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut listed = Vec::new();
            while let Some((at, parent)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, parents.get(at)?)))
            {
                listed.push((at, self.namespaces_below(parent)));
            }
            listed
        };
        let mut listed: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..PARALLEL_LISTS.min(parents.len())).map(|_| scope.spawn(work)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        listed.sort_unstable_by_key(|(at, _)| *at);
        if listed.len() != parents.len() {
            return Err(Error::internal("a thread that lists namespaces ended early"));
        }
        let below = |(_, below)| match below {
            // Catalogs with one level say that there is no such namespace, as they do if it was removed meanwhile.
            Err(Error::Invalid { .. }) => Ok(Vec::new()),
            below => below,
        };
        listed.into_iter().map(below).collect()
    }

    fn namespaces_below(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        let query = if parent.is_empty() { String::new() } else { format!("?parent={}", self.levels(parent)) };
        let mut below = self.pages(&format!("{}namespaces{query}", self.prefix), |page| page.namespaces)?;
        // Some catalogs ignore the parent, and list all that they have.
        below.retain(|namespace| namespace.len() == parent.len() + 1 && namespace.starts_with(parent));
        Ok(below)
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
        self.version(namespace, table, options)?.open(options.filter.as_ref())
    }

    /// The version of a table that is the latest now, or that the options choose, without its files.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn version(&self, namespace: &str, table: &str, options: &LakeOptions) -> Result<LakeVersion> {
        self.load(&parse_namespace(namespace)?, table, options)
    }

    pub(super) fn load(&self, namespace: &[String], table: &str, options: &LakeOptions) -> Result<LakeVersion> {
        let path = format!("{}namespaces/{}/tables/{}", self.prefix, self.levels(namespace), encoded(table));
        let loaded: LoadedTable = match self.get_with(&path, &[vended::DELEGATION]) {
            // Some catalogs deny credentials to identities that may read the table's metadata.
            Err(denied) if is_denied(&denied) => self.get(&path).map_err(|_| denied)?,
            loaded => loaded?,
        };
        let granted = vended::granted(&self.store.0, &loaded.config, &loaded.storage_credentials);
        let options = &LakeOptions { dataset: options.dataset.clone().granted_access(granted), ..options.clone() };
        let metadata = serde_json::to_vec(&loaded.metadata).map_err(|error| Error::corrupt(error.to_string()))?;
        iceberg::open_sent(&metadata, loaded.metadata_location.as_deref(), &self.url(&path), options)
    }

    fn levels(&self, namespace: &[String]) -> String {
        namespace.iter().map(|level| encoded(level)).collect::<Vec<_>>().join(&self.separator)
    }

    fn url(&self, path: &str) -> String {
        format!("{}/v1/{path}", self.base)
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.get_with(path, &[])
    }

    fn get_with<T: DeserializeOwned>(&self, path: &str, headers: &[(&str, &str)]) -> Result<T> {
        let url = self.url(path);
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = WebRequest { headers, ..WebRequest::get(url.as_str()) };
        let Access::Credential { token_url, form, .. } = &self.access else {
            return parse(&url, self.answer(self.access.add_to(request), &self.access)?);
        };
        let known = self.token().clone();
        if let Some(access) = known {
            match self.answer(access.add_to(request.clone()), &access) {
                Err(error) if is_denied(&error) => {}
                body => return parse(&url, body?),
            }
            // Another thread may have made a new one meanwhile.
            self.token().take_if(|own| *own == access);
        }
        // Threads that need a token wait for the one that makes it.
        let mut token = self.token();
        let access = match &*token {
            Some(token) => token.clone(),
            None => {
                let request =
                    WebRequest { method: WebMethod::Post(form.clone()), ..WebRequest::get(token_url.as_str()) };
                let AccessToken { access_token } = parse(token_url, self.answer(request, &self.access)?)?;
                token.insert(Access::Bearer(access_token)).clone()
            }
        };
        drop(token);
        parse(&url, self.answer(access.add_to(request), &access)?)
    }

    fn token(&self) -> MutexGuard<'_, Option<Access>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The body of the answer to a request with `access`, if the status is a success.
    fn answer(&self, request: WebRequest, access: &Access) -> Result<Bytes> {
        let url = request.url.clone();
        let failed =
            |error: io::Error| Error::io("ask the catalog", error).locate(|at| at.file = Some(url.as_str().into()));
        let (status, body) = self.client.send(request).map_err(|error| failed(with_advice(&url, error)))?;
        let said = || access.hide(format!("the catalog answers {status}: {}", message(&body)));
        match status {
            200..300 => Ok(body),
            // 419 says that a token has expired.
            401 | 403 | 419 => {
                let advice = match access {
                    Access::Signed(..) => "set the credentials of AWS (AWS_ACCESS_KEY_ID, …)".to_owned(),
                    Access::Open => {
                        format!("set LATH_REST_URI to {}, and LATH_REST_TOKEN or LATH_REST_CREDENTIAL", self.base)
                    }
                    _ if status == 403 => "the owner of the token may not read this".to_owned(),
                    Access::Bearer(_) => {
                        "LATH_REST_TOKEN, or the token made for LATH_REST_CREDENTIAL, is not valid, or not any more"
                            .to_owned()
                    }
                    Access::Credential { .. } => "check LATH_REST_CREDENTIAL (ID:SECRET)".to_owned(),
                };
                Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}; {advice}", said()))))
            }
            400 | 404 | 406 | 410 => Err(Error::invalid(format!("{url}: {}", said()))),
            _ => Err(failed(io::Error::other(said()))),
        }
    }
}

/// Whether a catalog denied access.
fn is_denied(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}

/// Advice if a server cannot be reached.
fn with_advice(url: &str, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::NotConnected || !url.starts_with("https://") {
        return error;
    }
    let advice = "check the host; for a catalog without TLS, set LATH_REST_URI to its http:// address";
    io::Error::new(error.kind(), format!("{error}; {advice}"))
}

fn parse<T: DeserializeOwned>(url: &str, body: Bytes) -> Result<T> {
    serde_json::from_slice(&body)
        .map_err(|error| Error::corrupt(format!("{url}: the answer is not one of a REST catalog of Iceberg: {error}")))
}

/// The message in the body of an error: of the protocol, of OAuth, or the text.
fn message(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let parts = [&value["error"]["message"], &value["error_description"], &value["error"], &value["message"]];
    match parts.into_iter().find_map(|part| part.as_str()) {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(body).chars().take(300).collect(),
    }
}
