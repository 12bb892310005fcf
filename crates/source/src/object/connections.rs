use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::client::Client;
use super::runtime::RequestThreads;
use crate::{S3Access, StoreOptions};

/// Connections to stores, and the threads that requests run on. Clones share them.
#[derive(Clone, Default)]
pub struct Connections {
    shared: Arc<Clients>,
}

/// The configuration of a client.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct ClientKey {
    /// The scheme and the bucket or host.
    pub(super) base: String,
    /// Without granted access, which is the next one.
    pub(super) options: StoreOptions,
    /// The access that was granted to the objects that are asked for.
    pub(super) access: Option<Arc<S3Access>>,
    /// The environment variables that configure the store.
    pub(super) variables: Vec<(String, String)>,
}

#[derive(Default)]
struct Clients {
    threads: Arc<RequestThreads>,
    clients: Mutex<HashMap<ClientKey, Arc<Client>>>,
}

impl Connections {
    /// No connection yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The threads that requests run on.
    pub(super) fn threads(&self) -> &Arc<RequestThreads> {
        &self.shared.threads
    }

    /// The client for `key`, made by `make` if there is none.
    pub(super) fn client(
        &self,
        key: ClientKey,
        make: impl FnOnce(&Arc<RequestThreads>) -> io::Result<Client>,
    ) -> io::Result<Arc<Client>> {
        let mut clients = self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(Arc::clone(client));
        }
        if key.access.is_some() {
            // Granted credentials last for some minutes, and a process may be given very many.
            clients.retain(|other, client| {
                other.access.is_none() || other.base != key.base || Arc::strong_count(client) > 1
            });
        }
        let client = Arc::new(make(&self.shared.threads)?);
        clients.insert(key, Arc::clone(&client));
        Ok(client)
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").finish_non_exhaustive()
    }
}
