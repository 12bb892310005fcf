//! Finds the store of a URL, and lists, opens and writes its objects.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use super::bucket::Bucket;
use super::client::Client;
use super::connections::ClientKey;
use super::late::S3Connector;
use super::unfinished::UnfinishedUpload;
use super::upload::{PART_BYTES, Upload};
use super::{Connections, ObjectFile, unfinished, version};
use crate::{GrantedAccess, Replaces, S3Access, S3Keys, SentObject, StoreOptions, Version};

/// The schemes of URLs, in lower case.
const SCHEMES: [&str; 10] = ["s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https"];

/// The address of an object in a store, and the connections to that store.
#[derive(Debug, Clone)]
pub struct Store {
    client: Arc<Client>,
    /// The path of an object or of a prefix, as it was written.
    key: String,
    is_web: bool,
}

/// An object in the listing of a store.
#[derive(Debug)]
pub struct ListedObject {
    /// The object's whole URL.
    pub url: String,
    /// Length in bytes.
    pub len: u64,
    /// The version of its contents.
    pub version: Version,
    /// The time of its last change in microseconds since 1970.
    pub modified_micros: i64,
}

impl Store {
    /// Finds the store of `url`. `connections` keep it with its credentials, as long as the environment variables that configure it do not
    /// change.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the URL has no host or bucket, has a query, or if the configuration of the
    /// store is invalid.
    pub fn from_url(url: &str, options: &StoreOptions, connections: &Connections) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
        let (scheme, rest) = url.split_once("://").ok_or_else(|| invalid("not a URL"))?;
        let scheme = scheme.to_ascii_lowercase();
        let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
        let is_web = matches!(scheme.as_str(), "http" | "https");
        if authority.is_empty() {
            return Err(invalid(if is_web { "the host is missing" } else { "the bucket is missing" }));
        }
        if is_web && key.contains(['?', '#']) {
            return Err(invalid("URLs with a query are not supported"));
        }
        if !SCHEMES.contains(&scheme.as_str()) {
            return Err(invalid("expected a URL that begins with s3://, gs://, az://, abfss://, http:// or https://"));
        }
        let base = format!("{scheme}://{authority}");
        let access = options.granted.for_url(url);
        let configuration = ClientKey {
            base: base.clone(),
            options: StoreOptions { granted: GrantedAccess::default(), ..options.clone() },
            access: access.clone(),
            variables: variables(&scheme),
        };
        let client = connections.client(configuration, |threads| {
            let BuiltStore { store, parts, bucket } = build(&scheme, authority, options, access.as_deref())?;
            Ok(Client::new(store, base.into(), options, threads, bucket).with_parts(parts))
        })?;
        Ok(Self { client, key: key.to_owned(), is_web })
    }

    /// Another object of the same store, by its key.
    pub fn sibling(&self, key: &str) -> Self {
        Self { client: Arc::clone(&self.client), key: key.to_owned(), is_web: self.is_web }
    }

    /// The path below the bucket or host.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether this is a web server, which cannot list its files.
    pub fn is_web(&self) -> bool {
        self.is_web
    }

    /// Opens the object, and returns its version.
    ///
    /// # Errors
    /// If the request fails, there is no such object, or its version differs from `known`.
    pub fn open(&self, known: Option<&Version>) -> io::Result<(ObjectFile, Version)> {
        let file = ObjectFile::open(&self.client, &self.path(&self.key)?, known)?;
        let version = file.version();
        Ok((file, version))
    }

    /// The object with the version `known`, without a request: the first one is sent when it is read.
    ///
    /// # Errors
    /// If the URL has no path of an object, or `known` is the version of a local file.
    pub fn open_unread(&self, known: &Version) -> io::Result<ObjectFile> {
        ObjectFile::unread(&self.client, &self.path(&self.key)?, known)
    }

    /// The current version of the object.
    ///
    /// # Errors
    /// If the request fails, or there is no such object.
    pub fn version(&self) -> io::Result<Version> {
        self.client.head(&self.path(&self.key)?).map(|meta| version(&meta))
    }

    /// Begins an object, which is visible once it is committed.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] for a web server, [`io::ErrorKind::InvalidInput`] if the URL has no path of an object,
    /// [`io::ErrorKind::AlreadyExists`] if there is an object that must not be replaced; if the request that finds it out fails.
    pub fn upload(&self, replaces: Replaces) -> io::Result<Upload> {
        Upload::begin(&self.client, self.written_path()?, replaces, PART_BYTES)
    }

    /// Begins an object that another process makes visible; see [`Upload::sent`].
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] for a web server, [`io::ErrorKind::InvalidInput`] if the URL has no path of an object.
    pub fn upload_for_another(&self) -> io::Result<Upload> {
        Upload::begin_named(&self.client, self.written_path()?, PART_BYTES)
    }

    /// The upload of an object whose parts another process has sent. Its name has to be new: if the answer to the commit is lost, an object of
    /// this length is taken for it.
    ///
    /// # Errors
    /// As [`Store::upload_for_another`].
    pub fn resume_upload(&self, object: SentObject) -> io::Result<Upload> {
        Upload::resume(&self.client, self.written_path()?, object, PART_BYTES)
    }

    /// The path of an object that can be written.
    fn written_path(&self) -> io::Result<Path> {
        if self.is_web {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "files are not written to web servers, only to s3:, gs:, az: and abfss:",
            ));
        }
        if self.key.is_empty() || self.key.ends_with('/') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of the object is missing"));
        }
        self.path(&self.key)
    }

    /// Writes an object by one request, so that the store compares what it replaces.
    ///
    /// # Errors
    /// As [`Store::upload`] and [`Upload::commit`].
    pub fn put(&self, bytes: Vec<u8>, replaces: Replaces) -> io::Result<Version> {
        self.upload(replaces)?.commit_bytes(bytes)
    }

    /// The objects below the directory `prefix`, in no particular order.
    ///
    /// # Errors
    /// If the request fails, or the store cannot list objects.
    pub fn list(&self, prefix: &str) -> io::Result<Vec<ListedObject>> {
        self.list_after(prefix, None)
    }

    /// As [`Store::list`], without the objects whose keys are not after `after`.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn list_after(&self, prefix: &str, after: Option<&str>) -> io::Result<Vec<ListedObject>> {
        let after = after.map(|key| self.path(key)).transpose()?;
        let objects = self.client.list(self.path(prefix)?, after)?;
        let listed = objects.into_iter().map(|meta| ListedObject {
            url: self.client.url(&meta.location),
            len: meta.size,
            version: version(&meta),
            modified_micros: meta.last_modified.timestamp_micros(),
        });
        Ok(listed.collect())
    }

    /// The key of an object below one of the directories `prefixes` that `is_wanted` by its key. They are listed at the same time, until one is
    /// found.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn find(
        &self,
        prefixes: &[String],
        is_wanted: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> io::Result<Option<String>> {
        let prefixes = prefixes.iter().map(|prefix| self.path(prefix)).collect::<io::Result<Vec<_>>>()?;
        self.client.find(prefixes, is_wanted)
    }

    /// Deletes the object, if it has a version.
    ///
    /// # Errors
    /// If a request fails. It is no error if there is another object, or none.
    pub fn delete(&self, version: &Version) -> io::Result<()> {
        match self.version() {
            Ok(found) if found == *version => self.client.delete(&self.path(&self.key)?),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The uploads in parts of the object and of those below it as a directory, that were neither completed nor aborted. A program may still be
    /// writing some of them.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] unless the store is S3; if a request fails.
    pub fn unfinished_uploads(&self) -> io::Result<Vec<UnfinishedUpload>> {
        unfinished::list(&self.client, &self.key)
    }

    /// Deletes the parts of an unfinished upload of this store, and returns whether there were any: `false` if it was completed or aborted.
    ///
    /// # Errors
    /// As [`Store::unfinished_uploads`].
    pub fn abort_upload(&self, upload: &UnfinishedUpload) -> io::Result<bool> {
        unfinished::abort(&self.client, upload)
    }

    /// Deletes the object, whatever version it has.
    ///
    /// # Errors
    /// If the request fails. It is no error if there is no object.
    pub fn delete_any(&self) -> io::Result<()> {
        match self.client.delete(&self.path(&self.key)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Keys of buckets are literal; paths of web servers are parts of URLs.
    fn path(&self, key: &str) -> io::Result<Path> {
        // The parser would drop the slash, and so name another object.
        if !self.is_web && key.starts_with('/') {
            let what = "the key begins with a slash: there is one slash too many after the bucket";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let path = if self.is_web { Path::from_url_path(key) } else { Path::parse(key) };
        path.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))
    }
}

/// The environment variables that configure the stores of a scheme.
fn variables(scheme: &str) -> Vec<(String, String)> {
    let prefix = match scheme {
        "s3" | "s3a" => "AWS_",
        "gs" => "GOOGLE_",
        "http" | "https" => return Vec::new(),
        _ => "AZURE_",
    };
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let mut variables: Vec<(String, String)> =
        std::env::vars_os().filter_map(text).filter(|(name, _)| name.starts_with(prefix)).collect();
    variables.sort_unstable();
    variables
}

/// The configuration of a bucket in S3: by the access that was granted, or else by the environment.
fn s3_builder(bucket: &str, access: Option<&S3Access>) -> AmazonS3Builder {
    let environment = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let Some(access) = access else { return environment };
    let Some(S3Keys { id, secret, session_token }) = &access.keys else {
        return access.region.iter().fold(environment, AmazonS3Builder::with_region);
    };
    let value = |keys: [AmazonS3ConfigKey; 2]| keys.iter().find_map(|key| environment.get_config_value(key));
    let region = access.region.clone();
    let region = region.or_else(|| value([AmazonS3ConfigKey::Region, AmazonS3ConfigKey::DefaultRegion]));
    let endpoint = access.endpoint.clone();
    let endpoint = endpoint.or_else(|| value([AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]));
    let builder = AmazonS3Builder::new().with_bucket_name(bucket).with_access_key_id(id).with_secret_access_key(secret);
    let builder = session_token.iter().fold(builder, AmazonS3Builder::with_token);
    let builder = region.into_iter().fold(builder, AmazonS3Builder::with_region);
    let Some(endpoint) = endpoint else { return builder };
    match endpoint.split_once("://").filter(|_| access.is_virtual_hosted) {
        Some((scheme, host)) => {
            builder.with_endpoint(format!("{scheme}://{bucket}.{host}")).with_virtual_hosted_style_request(true)
        }
        None => builder.with_endpoint(endpoint),
    }
}

/// A store, as the traits that it has.
struct BuiltStore {
    store: Arc<dyn ObjectStore>,
    parts: Option<Arc<dyn MultipartStore>>,
    bucket: Option<Bucket>,
}

impl BuiltStore {
    fn with_parts<S: ObjectStore + MultipartStore>(store: S) -> Self {
        let store = Arc::new(store);
        Self { parts: Some(Arc::clone(&store) as _), store, bucket: None }
    }
}

fn build(scheme: &str, authority: &str, options: &StoreOptions, access: Option<&S3Access>) -> io::Result<BuiltStore> {
    let failed = |error: object_store::Error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: options.retries,
        retry_timeout: Duration::from_secs(180),
    };
    let client = ClientOptions::new()
        .with_timeout(options.timeout)
        .with_connect_timeout(options.timeout.min(Duration::from_secs(5)))
        .with_pool_max_idle_per_host(options.requests_in_flight);
    let url = format!("{scheme}://{authority}");
    Ok(match scheme {
        "s3" | "s3a" => {
            let mut builder = s3_builder(authority, access);
            let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
                .iter()
                .find_map(|key| builder.get_config_value(key));
            let is_plain = is_plain("AWS_ENDPOINT_URL", endpoint)?;
            builder = builder
                .with_client_options(client.with_allow_http(is_plain))
                .with_retry(retry)
                .with_http_connector(S3Connector);
            let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
            let store = builder.build().map_err(failed)?;
            let bucket = Bucket::new(store.clone(), region, options.clone());
            BuiltStore { bucket: Some(bucket), ..BuiltStore::with_parts(store) }
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(authority);
            let is_plain = is_plain("GOOGLE_BASE_URL", builder.get_config_value(&GoogleConfigKey::BaseUrl))?;
            let builder = builder.with_client_options(client.with_allow_http(is_plain)).with_retry(retry);
            BuiltStore::with_parts(builder.build().map_err(failed)?)
        }
        "http" | "https" => {
            let client = client.with_allow_http(scheme == "http");
            let builder = HttpBuilder::new().with_url(url).with_client_options(client).with_retry(retry);
            BuiltStore { store: Arc::new(builder.build().map_err(failed)?), parts: None, bucket: None }
        }
        _ => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url);
            let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
            let is_plain = is_plain("AZURE_STORAGE_ENDPOINT", endpoint)?;
            let builder = builder.with_client_options(client.with_allow_http(is_plain)).with_retry(retry);
            BuiltStore::with_parts(builder.build().map_err(failed)?)
        }
    })
}

/// Whether an endpoint that was configured is reached without TLS.
fn is_plain(variable: &str, endpoint: Option<String>) -> io::Result<bool> {
    match endpoint {
        None => Ok(false),
        Some(url) if url.starts_with("http://") => Ok(true),
        Some(url) if url.starts_with("https://") => Ok(false),
        Some(other) => {
            let what = format!("{variable} is {other}, and has to begin with http:// or https://");
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
    }
}
