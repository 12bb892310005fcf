//! A server that uses TLS.

use std::process::Command;
use std::sync::Arc;

use arrow_flight::sql::client::FlightSqlServiceClient;
use hyper_util::rt::TokioIo;
use lath_flight::{FlightOptions, FlightServer};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::transport::{Endpoint, Uri};
use tower::service_fn;

use crate::query;

/// A certificate for 127.0.0.1 that signs itself, and its key, made by the command `openssl`.
fn certificate() -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=lath -addext subjectAltName=IP:127.0.0.1
        -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out certificate.pem";
    let run = Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    (read("certificate.pem"), read("key.pem"))
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_connect_by_tls_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate();
    let options = FlightOptions::new().tls(certificate.clone(), key.clone());
    let server = FlightServer::bind("127.0.0.1:0", &folder.path().join("shop"), options).unwrap();
    assert!(server.uses_tls());
    let running = server.start();
    let address = running.address();

    let mut roots = RootCertStore::empty();
    roots.add(lath_grpc::certificates(&certificate, "the certificate").unwrap().remove(0)).unwrap();
    let config =
        ClientConfig::builder_with_provider(lath_grpc::provider()).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![lath_grpc::HTTP2.to_vec()];
    let connector = TlsConnector::from(Arc::new(config));
    let connecting = service_fn(move |_: Uri| {
        let connector = connector.clone();
        async move {
            let stream = TcpStream::connect(address).await?;
            let name = ServerName::IpAddress(address.ip().into());
            connector.connect(name, stream).await.map(TokioIo::new)
        }
    });
    // The scheme says nothing to this connector.
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let mut client = FlightSqlServiceClient::new(endpoint.connect_with_connector(connecting).await.unwrap());
    assert_eq!(query(&mut client, "SELECT 6 * 7").await, "42");

    // Without TLS, a client is not understood.
    let mut plain = crate::client(address).await;
    assert!(plain.execute("SELECT 1".to_owned(), None).await.is_err());
    assert_eq!(query(&mut client, "SELECT 1").await, "1");
}

#[test]
fn a_certificate_that_cannot_be_used_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate();
    for (certificate, key) in [(b"x".to_vec(), key), (certificate, b"x".to_vec())] {
        let options = FlightOptions::new().tls(certificate, key);
        let error = FlightServer::bind("127.0.0.1:0", &folder.path().join("shop"), options).unwrap_err().to_string();
        assert!(error.contains("the server's") && error.contains("cannot be read"), "{error}");
    }
}
