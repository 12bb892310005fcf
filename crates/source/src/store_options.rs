use std::time::Duration;

/// Limits of the requests to a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoreOptions {
    /// The maximum number of requests to one store that are in flight at the same time.
    pub requests_in_flight: usize,
    /// The number of times that a failed request is retried.
    pub retries: usize,
    /// The maximum time of one request.
    pub timeout: Duration,
}
