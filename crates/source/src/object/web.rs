//! Requests to web services, by the HTTP client of the stores.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use object_store::ClientOptions;
use object_store::aws::{AmazonS3Builder, AwsAuthorizer};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, ReqwestConnector,
};

use super::runtime::RequestThreads;
use super::{Connections, failure};
use crate::{StoreOptions, WebMethod, WebRequest};

/// Maximum number of times that a request without effects is repeated.
const RETRIES: usize = 3;

/// The pause before the first repetition; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// A client of web services that answer with texts.
#[derive(Debug, Clone)]
pub struct WebClient {
    client: HttpClient,
    threads: Arc<RequestThreads>,
    retries: usize,
}

impl WebClient {
    /// A client that runs its requests on the threads of `connections`.
    ///
    /// # Errors
    /// If the client cannot be configured.
    pub fn new(options: &StoreOptions, connections: &Connections) -> io::Result<Self> {
        Self::on(options, connections.threads())
    }

    /// As [`new`](Self::new), by the threads.
    pub(super) fn on(options: &StoreOptions, threads: &Arc<RequestThreads>) -> io::Result<Self> {
        // Callers choose between http:// and https://.
        let client = ClientOptions::new()
            .with_allow_http(true)
            .with_timeout(options.timeout)
            .with_connect_timeout(options.timeout.min(Duration::from_secs(5)));
        let client = ReqwestConnector::default().connect(&client).map_err(io::Error::other)?;
        Ok(Self { client, threads: Arc::clone(threads), retries: options.retries.min(RETRIES) })
    }

    /// Sends a request, and returns the status and the body of the answer, whatever they are. A form is posted once; other requests are
    /// repeated if the service is busy.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the URL or a header is malformed, and any error of the connection.
    pub fn send(&self, request: WebRequest) -> io::Result<(u16, Bytes)> {
        let client = self.clone();
        self.threads.wait(async move { client.answer(&request).await })?
    }

    async fn answer(&self, request: &WebRequest) -> io::Result<(u16, Bytes)> {
        let mut left = if matches!(request.method, WebMethod::Post(_)) { 0 } else { self.retries };
        let mut pause = FIRST_PAUSE;
        loop {
            let answer = self.answer_once(request).await;
            let is_busy = match &answer {
                Ok((status, _)) => matches!(status, 429 | 502 | 503 | 504),
                Err(error) => error.kind() == ErrorKind::ConnectionAborted,
            };
            if !is_busy || left == 0 {
                return answer;
            }
            left -= 1;
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    async fn answer_once(&self, request: &WebRequest) -> io::Result<(u16, Bytes)> {
        let sent = http_request(request).await?;
        let answer = self.client.execute(sent).await.map_err(explain)?;
        let status = answer.status().as_u16();
        let body = answer.into_body().bytes().await.map_err(explain)?;
        Ok((status, body))
    }
}

async fn http_request(request: &WebRequest) -> io::Result<HttpRequest> {
    let invalid = |what: String| io::Error::new(ErrorKind::InvalidInput, what);
    let WebRequest { url, headers, method, signing } = request;
    // The client expects that both parsers accept a URL.
    let is_url =
        url::Url::parse(url).is_ok_and(|parsed| parsed.has_host() && matches!(parsed.scheme(), "http" | "https"));
    if !is_url {
        return Err(invalid(format!("{url} is not the URL of a web service")));
    }
    let builder = http::Request::builder().uri(url.as_str()).header(ACCEPT, "application/json");
    let mut sent = match method {
        WebMethod::Post(form) => builder
            .method("POST")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(HttpRequestBody::from(form.clone())),
        WebMethod::Get => builder.body(HttpRequestBody::empty()),
        WebMethod::Delete => builder.method("DELETE").body(HttpRequestBody::empty()),
    }
    .map_err(|error| invalid(format!("{url}: {error}")))?;
    for (name, value) in headers {
        let header = HeaderName::try_from(name.as_str()).map_err(|error| invalid(error.to_string()))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| invalid(format!("the value of the header {name} has characters that no header can have")))?;
        value.set_sensitive(true);
        sent.headers_mut().insert(header, value);
    }
    if let Some((service, region)) = signing {
        // The store is a way to the credentials alone; its bucket is never asked for.
        let store = AmazonS3Builder::from_env().with_bucket_name("none").with_region(region).build();
        let store = store.map_err(io::Error::other)?;
        let credential = store.credentials().get_credential().await.map_err(|error| {
            io::Error::new(ErrorKind::PermissionDenied, format!("no credentials of AWS were found: {error}"))
        })?;
        AwsAuthorizer::new(&credential, service, region).authorize(&mut sent, None);
    }
    Ok(sent)
}

fn explain(error: HttpError) -> io::Error {
    let kind = match error.kind() {
        HttpErrorKind::Connect => ErrorKind::NotConnected,
        HttpErrorKind::Timeout => ErrorKind::TimedOut,
        HttpErrorKind::Request | HttpErrorKind::Interrupted => ErrorKind::ConnectionAborted,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, failure::root(&error))
}
