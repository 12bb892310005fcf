//! Certificates and keys of servers.

use std::fmt;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::{Error, Result};

/// The protocol that both sides agree on.
pub const HTTP2: &[u8] = b"h2";

/// Accepts clients by a server's certificate and private key, both in PEM. `whose` is how errors name the server, such as `the worker's`.
///
/// # Errors
/// If the certificate or the key cannot be used.
pub fn acceptor(certificate: &[u8], key: &[u8], whose: &str) -> Result<TlsAcceptor> {
    let chain = certificates(certificate, &format!("{whose} certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
        Error::Setting(format!(
            "{whose} key cannot be read: {error}; it has to be a private key in PEM without a password"
        ))
    })?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| Error::Setting(format!("{whose} certificate and key cannot be used: {error}")))?;
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The provider of cryptography.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The error for TLS that cannot be set up.
pub fn unusable(error: impl fmt::Display) -> Error {
    Error::Setting(format!("TLS cannot be used: {error}"))
}

/// The certificates in a PEM file. `whose` is how errors name them, such as `the worker's certificate`.
///
/// # Errors
/// If there is none, or one cannot be read.
pub fn certificates(pem: &[u8], whose: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| Error::Setting(format!("{whose} cannot be read: {error}")))?;
    if read.is_empty() {
        return Err(Error::Setting(format!("{whose} cannot be read: it has to be in PEM, with BEGIN CERTIFICATE")));
    }
    Ok(read)
}
