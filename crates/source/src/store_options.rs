use std::time::Duration;

/// How requests are sent to stores.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoreOptions {
    /// The maximum number of requests to one store that are in flight at the same time.
    pub requests_in_flight: usize,
    /// How often a failed request is sent again.
    pub retries: usize,
    /// How long a request may take.
    pub timeout: Duration,
}
