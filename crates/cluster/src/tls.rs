//! Encrypted connections.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lath_grpc::{Connection, HTTP2, certificates, provider, unusable};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};
use url::{Host, Url};

use crate::error::{Error, Result};

/// The first bytes of a client of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The first byte of an alert of TLS.
const ALERT: u8 = 21;
/// Time to find out whether a worker uses TLS.
const PROBE_PATIENCE: Duration = Duration::from_secs(1);

/// The authorities that certificates of workers are checked against.
#[derive(Clone, Default)]
pub(crate) struct Authorities {
    /// `None` for the ones that the system trusts.
    roots: Option<Arc<RootCertStore>>,
    connector: Arc<OnceLock<TlsConnector>>,
}

impl Authorities {
    /// The authorities in a PEM file, or else the system's.
    pub(crate) fn new(pem: Option<&[u8]>) -> Result<Self> {
        let Some(pem) = pem else { return Ok(Self::default()) };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(pem, "the authority's certificate")? {
            roots
                .add(certificate)
                .map_err(|error| Error::Setting(format!("the authority's certificate cannot be used: {error}")))?;
        }
        Ok(Self { roots: Some(Arc::new(roots)), connector: Arc::default() })
    }

    fn connector(&self) -> Result<TlsConnector> {
        if let Some(connector) = self.connector.get() {
            return Ok(connector.clone());
        }
        let roots = self.roots.clone().map_or_else(|| system_roots().map(Arc::new), Ok)?;
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![HTTP2.to_vec()];
        Ok(self.connector.get_or_init(|| TlsConnector::from(Arc::new(config))).clone())
    }

    /// Prepares a connection to the worker at a URL.
    pub(crate) fn connecting(&self, url: &Url) -> Result<Connecting> {
        let unnamed = || Error::Address(format!("{url}: it names no machine"));
        let (host, port) = host_and_port(url).ok_or_else(unnamed)?;
        let name = ServerName::try_from(host.clone()).map_err(|_| unnamed())?;
        Ok(Connecting { connector: self.connector()?, host, port, name })
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorities").finish_non_exhaustive()
    }
}

/// Connects to one worker.
#[derive(Clone)]
pub(crate) struct Connecting {
    connector: TlsConnector,
    host: String,
    port: u16,
    name: ServerName<'static>,
}

impl Connecting {
    pub(crate) async fn connect(self) -> io::Result<Connection> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(Connection::new(self.connector.connect(self.name, stream).await?, ()))
    }
}

/// The host of a URL as names are resolved, without the brackets of IPv6, and the port.
fn host_and_port(url: &Url) -> Option<(String, u16)> {
    let host = match url.host()? {
        Host::Domain(name) => name.to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    Some((host, url.port_or_known_default()?))
}

fn system_roots() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Error::Setting(
            "this system has no certificates of authorities; give the workers' with --cluster-ca or LATH_CLUSTER_CA"
                .to_owned(),
        ));
    }
    Ok(roots)
}

/// Advice about an error of TLS.
pub(crate) fn advice(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    let cause = error.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match cause {
        // The signature is wrong if another authority has the same name.
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "give the file of the authority that signed it with --cluster-ca or LATH_CLUSTER_CA"
        }
        rustls::Error::InvalidCertificate(error) if format!("{error:?}").contains("CaUsedAsEndEntity") => {
            "it is an authority's own certificate; let the authority sign one for the worker, with basicConstraints=CA:FALSE"
        }
        rustls::Error::InvalidCertificate(_) => "start the worker with another certificate",
        rustls::Error::InvalidMessage(_) => {
            "the worker seems to run without TLS; start it with --tls-certificate and --tls-key, or leave https:// out of its address"
        }
        _ => return None,
    })
}

/// Whether a server that was called without TLS answers in TLS.
pub(crate) async fn speaks_tls(url: &Url) -> bool {
    let Some((host, port)) = host_and_port(url) else { return false };
    let first = async move {
        let mut stream = TcpStream::connect((host.as_str(), port)).await?;
        stream.write_all(PREFACE).await?;
        stream.read_u8().await
    };
    matches!(timeout(PROBE_PATIENCE, first).await, Ok(Ok(ALERT)))
}
