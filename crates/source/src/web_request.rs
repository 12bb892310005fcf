use std::fmt;

/// A request to a web service.
#[derive(Clone, PartialEq, Eq)]
pub struct WebRequest {
    /// The URL: `http://` or `https://`.
    pub url: String,
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
    /// The method, and the form of a `POST`.
    pub method: WebMethod,
    /// The name and region of the service of AWS for which the request is signed (version 4), with the credentials of the environment.
    pub signing: Option<(String, String)>,
}

impl WebRequest {
    /// A `GET` without headers.
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Vec::new(), method: WebMethod::Get, signing: None }
    }
}

/// The method of a request.
#[derive(Clone, PartialEq, Eq)]
pub enum WebMethod {
    /// Reads it.
    Get,
    /// Deletes it.
    Delete,
    /// Posts a form to it.
    Post(String),
}

/// Without the form, which may have secrets.
impl fmt::Debug for WebMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "GET",
            Self::Delete => "DELETE",
            Self::Post(_) => "POST",
        })
    }
}

/// Without headers and form, which may have secrets.
impl fmt::Debug for WebRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebRequest").field("url", &self.url).field("signing", &self.signing).finish_non_exhaustive()
    }
}
