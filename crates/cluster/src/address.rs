//! Addresses of workers.

use url::Url;

use crate::error::{Error, Result};

/// The URL of a worker at `HOST:PORT`, or `https://HOST:PORT` for one with TLS.
pub(crate) fn worker_url(address: &str) -> Result<Url> {
    let wrong = || {
        Error::Address(format!(
            "{address:?} is not the address of a worker: write HOST:PORT, as 10.0.0.7:9301, or https://HOST:PORT for a worker with TLS"
        ))
    };
    let (scheme, place) = address.split_once("://").unwrap_or(("http", address));
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return Err(wrong()),
    };
    let url = Url::parse(&format!("{scheme}://{place}/")).map_err(|_| wrong())?;
    // The URL of a port that is the default of its scheme has none.
    let has_port = url.port().is_some() || place.ends_with(default_port);
    let is_plain = url.path() == "/" && url.query().is_none() && url.username().is_empty() && url.host().is_some();
    if has_port && is_plain { Ok(url) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for address in ["10.0.0.7:9301", "localhost:9301", "[::1]:9301", "http://worker-3:80", "worker-3:80"] {
            assert!(worker_url(address).is_ok_and(|url| url.scheme() == "http"), "{address}");
        }
        for address in ["https://10.0.0.7:9301", "https://[::1]:9301", "https://worker-3:443"] {
            assert!(worker_url(address).is_ok_and(|url| url.scheme() == "https"), "{address}");
        }
        for address in [
            "",
            "worker",
            "9301",
            ":9301",
            "worker:port",
            "worker:1/path",
            "user@worker:1",
            "worker:1?x",
            "worker:99999",
            "https://worker",
            "ftp://worker:1",
            "https://worker:1/path",
        ] {
            assert!(worker_url(address).is_err(), "{address}");
        }
    }
}
