use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::url_text::split_scheme;

/// Limits of the requests to a store, and access that was granted to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoreOptions {
    /// The maximum number of requests to one store that are in flight at the same time.
    pub requests_in_flight: usize,
    /// The number of times that a failed request is retried.
    pub retries: usize,
    /// The maximum time of one request.
    pub timeout: Duration,
    /// Access that a catalog has granted. Other objects are accessed as the environment says.
    pub granted: GrantedAccess,
}

/// Access to objects in S3 below some prefixes, which counts instead of environment variables. Clones share it.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct GrantedAccess {
    by_prefix: Arc<[(String, Arc<S3Access>)]>,
}

/// Access to objects in S3.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct S3Access {
    /// The credentials; without them, the ones of the environment.
    pub keys: Option<S3Keys>,
    /// The URL of the store. It is used only with [`keys`](Self::keys), because the credentials of the environment are for the store that the
    /// environment names.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// Whether the bucket is part of the endpoint's host, instead of the path.
    pub is_virtual_hosted: bool,
}

/// Credentials of S3.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct S3Keys {
    /// The ID of the access key.
    pub id: String,
    /// The secret key.
    pub secret: String,
    /// The token of temporary credentials.
    pub session_token: Option<String>,
}

impl GrantedAccess {
    /// Access by URL prefixes; an empty prefix is one of all objects in S3.
    pub fn new(by_prefix: impl IntoIterator<Item = (String, S3Access)>) -> Self {
        Self { by_prefix: by_prefix.into_iter().map(|(prefix, access)| (prefix, Arc::new(access))).collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }

    /// The access with the longest prefix of a URL.
    #[cfg_attr(not(feature = "object-store"), allow(dead_code, reason = "there are no stores"))]
    pub(crate) fn for_url(&self, url: &str) -> Option<Arc<S3Access>> {
        let url = without_s3(url)?;
        let matching = self.by_prefix.iter().filter(|(prefix, _)| match without_s3(prefix) {
            Some(prefix) => url.starts_with(prefix),
            // Some catalogs say s3 for all of it.
            None => prefix.is_empty() || prefix == "s3",
        });
        matching.max_by_key(|(prefix, _)| without_s3(prefix).map_or(0, str::len)).map(|(_, access)| Arc::clone(access))
    }
}

/// The text after the scheme of a URL in S3, which has several names.
fn without_s3(url: &str) -> Option<&str> {
    let (scheme, rest) = split_scheme(url)?;
    ["s3", "s3a", "s3n"].iter().any(|name| scheme.eq_ignore_ascii_case(name)).then_some(rest)
}

/// Without secrets.
impl fmt::Debug for GrantedAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_prefix.iter().map(|(prefix, _)| prefix)).finish()
    }
}

/// Without secrets.
impl fmt::Debug for S3Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("S3Access");
        shown.field("endpoint", &self.endpoint).field("region", &self.region).finish_non_exhaustive()
    }
}

/// Without secrets.
impl fmt::Debug for S3Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Keys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts_and_secrets_are_not_shown() {
        let access = |id: &str| {
            let keys =
                S3Keys { id: id.to_owned(), secret: "s3cret".to_owned(), session_token: Some("t0ken".to_owned()) };
            S3Access { keys: Some(keys), ..S3Access::default() }
        };
        let prefixes = ["", "s3://bucket/a/", "s3a://bucket/a/b/"].map(|prefix| (prefix.to_owned(), access(prefix)));
        let granted = GrantedAccess::new(prefixes);
        let found = |url: &str| granted.for_url(url).and_then(|access| Some(access.keys.as_ref()?.id.clone()));
        assert_eq!(found("s3://bucket/c").as_deref(), Some(""));
        assert_eq!(found("s3://bucket/a/c").as_deref(), Some("s3://bucket/a/"));
        assert_eq!(found("S3A://bucket/a/b/c").as_deref(), Some("s3a://bucket/a/b/"));
        assert_eq!(found("gs://bucket/a/c"), None);
        assert_eq!(GrantedAccess::default().for_url("s3://bucket/a"), None);
        let shown = format!("{granted:?} {:?} {:?}", access("1d"), access("1d").keys);
        assert!(!["s3cret", "t0ken", "1d"].iter().any(|secret| shown.contains(secret)), "{shown}");
    }
}
