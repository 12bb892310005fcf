use std::time::Duration;

/// How requests are made of stores.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StoreOptions {
    /// Most requests to one store that wait for answers at the same time.
    pub(crate) requests_in_flight: usize,
    /// How often a request that failed is made again.
    pub(crate) retries: usize,
    /// How long a request may take.
    pub(crate) timeout: Duration,
}
