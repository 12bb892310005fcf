//! Uploads in parts that were neither completed nor aborted, in S3. The `object_store` crate does not list them.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::DateTime;
use http::Method;
use object_store::path::Path;
use object_store::signer::Signer;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::client::Client;
use super::failure;
use super::web::WebClient;
use crate::{WebMethod, WebRequest, percent_decoded};

/// The characters that signatures of AWS encode in a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same in a path.
const PATH: &AsciiSet = &QUERY.remove(b'/');

/// An upload in parts that was neither completed nor aborted.
#[derive(Debug)]
pub struct UnfinishedUpload {
    /// The URL of the object that it would become.
    pub url: String,
    /// The store's name of the upload.
    pub id: String,
    /// The time at which it was begun, in microseconds since 1970.
    pub begun_micros: i64,
}

/// A page of a listing.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    is_truncated: bool,
    next_key_marker: Option<String>,
    next_upload_id_marker: Option<String>,
    /// `url` if keys are percent-encoded.
    encoding_type: Option<String>,
    #[serde(default)]
    upload: Vec<PageEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PageEntry {
    key: String,
    upload_id: String,
    initiated: String,
}

/// The error of a request, as S3 describes it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Refusal {
    code: String,
    message: Option<String>,
}

/// The unfinished uploads of the object `key`, and of the objects below it as a directory.
pub(super) fn list(client: &Arc<Client>, key: &str) -> io::Result<Vec<UnfinishedUpload>> {
    let requests = Requests::new(client)?;
    let folder = if key.is_empty() || key.ends_with('/') { key.to_owned() } else { format!("{key}/") };
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let query = format!("uploads&encoding-type=url&prefix={}{after}", utf8_percent_encode(key, QUERY));
        let page = requests.page(&query)?;
        let is_encoded = page.encoding_type.as_deref() == Some("url");
        for entry in page.upload {
            let entry_key = decoded(entry.key, is_encoded)?;
            if entry_key == key || entry_key.starts_with(&folder) {
                let begun = DateTime::parse_from_rfc3339(&entry.initiated)
                    .map_err(|_| invalid(format!("{} is not the time of an upload", entry.initiated)))?;
                found.push(UnfinishedUpload {
                    url: format!("{}/{entry_key}", client.base()),
                    id: entry.upload_id,
                    begun_micros: begun.timestamp_micros(),
                });
            }
        }
        let next = (page.next_key_marker.unwrap_or_default(), page.next_upload_id_marker.unwrap_or_default());
        if !page.is_truncated {
            return Ok(found);
        }
        let next_key = decoded(next.0, is_encoded)?;
        let further = format!(
            "&key-marker={}&upload-id-marker={}",
            utf8_percent_encode(&next_key, QUERY),
            utf8_percent_encode(&next.1, QUERY)
        );
        if further == after || next_key.is_empty() {
            return Err(invalid("the store repeats a page of the listing".to_owned()));
        }
        after = further;
    }
}

/// Deletes the parts of an upload, and returns whether there were any.
pub(super) fn abort(client: &Arc<Client>, upload: &UnfinishedUpload) -> io::Result<bool> {
    let other = || io::Error::new(ErrorKind::InvalidInput, "the upload is of another store");
    let key = upload.url.strip_prefix(client.base()).and_then(|key| key.strip_prefix('/')).ok_or_else(other)?;
    if key.split('/').any(|name| matches!(name, "." | "..")) {
        let what = "the key has a name . or .., which URLs cannot have; use another program to abort it";
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    let requests = Requests::new(client)?;
    let place = format!("/{}?uploadId={}", utf8_percent_encode(key, PATH), utf8_percent_encode(&upload.id, QUERY));
    match requests.send(WebMethod::Delete, &place)? {
        (200..300, _) => Ok(true),
        (404, body) if refusal(&body).is_some_and(|refusal| refusal.code == "NoSuchUpload") => Ok(false),
        (status, body) => Err(explain(client, status, &body)),
    }
}

/// Sends signed requests to a bucket.
struct Requests<'a> {
    client: &'a Arc<Client>,
    web: WebClient,
    /// The URL of the bucket.
    endpoint: String,
    region: String,
}

impl<'a> Requests<'a> {
    fn new(client: &'a Arc<Client>) -> io::Result<Self> {
        let unsupported = || {
            let what = "unfinished uploads are listed in S3 and compatible stores only; other stores delete them by rules of their own";
            io::Error::new(ErrorKind::Unsupported, what)
        };
        let bucket = client.bucket().ok_or_else(unsupported)?;
        let store = bucket.store.clone();
        // The crate knows how a bucket is addressed, and tells it in signed URLs alone.
        let signed = client
            .wait(async move { store.signed_url(Method::GET, &Path::default(), Duration::from_secs(60)).await })?;
        let mut endpoint = signed.map_err(|error| client.explain(&Path::default(), error))?;
        endpoint.set_query(None);
        Ok(Self {
            client,
            web: WebClient::on(&bucket.options, client.threads())?,
            endpoint: endpoint.as_str().trim_end_matches('/').to_owned(),
            region: bucket.region.clone(),
        })
    }

    fn send(&self, method: WebMethod, place: &str) -> io::Result<(u16, Bytes)> {
        let signing = Some(("s3".to_owned(), self.region.clone()));
        let url = format!("{}{place}", self.endpoint);
        self.web.send(WebRequest { method, signing, ..WebRequest::get(url) })
    }

    fn page(&self, query: &str) -> io::Result<Page> {
        match self.send(WebMethod::Get, &format!("/?{query}"))? {
            (200, body) => quick_xml::de::from_reader(&*body)
                .map_err(|error| invalid(format!("the store's list of uploads cannot be read: {error}"))),
            (status, body) => Err(explain(self.client, status, &body)),
        }
    }
}

fn decoded(text: String, is_encoded: bool) -> io::Result<String> {
    if !is_encoded {
        return Ok(text);
    }
    // A plus sign of a key is encoded, and a space may be a plus sign.
    let spaced = text.replace('+', " ");
    let decoded = percent_decoded(&spaced).ok_or_else(|| invalid(format!("{text} is not the key of an object")))?;
    Ok(decoded.into_owned())
}

fn refusal(body: &[u8]) -> Option<Refusal> {
    quick_xml::de::from_reader(body).ok()
}

fn explain(client: &Client, status: u16, body: &[u8]) -> io::Error {
    let kind = match status {
        401 | 403 => ErrorKind::PermissionDenied,
        404 => ErrorKind::NotFound,
        _ => ErrorKind::Other,
    };
    let what = match refusal(body) {
        Some(Refusal { code, message }) => {
            failure::beginning(message.map_or_else(|| code.clone(), |message| format!("{message} ({code})")))
        }
        None => format!("the store answered with status {status}"),
    };
    let what = if kind == ErrorKind::PermissionDenied {
        format!("{what}; {}", failure::credentials(client.base()))
    } else {
        what
    };
    io::Error::new(kind, what)
}

fn invalid(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
