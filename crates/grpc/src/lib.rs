//! Parts that the gRPC servers of Lath share.
//!
//! | module | contents |
//! | --- | --- |
//! | `tls` | Certificates and keys in PEM, and the acceptor of encrypted connections. |
//! | `connection` | Accepts connections, encrypted or not, so that a silent client holds up no other. |
//! | `token` | Tokens, which clients send with each request, compared in constant time. |
//! | `threads` | Threads of connections, apart from threads that compute. |
//!
//! ```
//! let token = lath_grpc::bearer("secret")?;
//! assert!(lath_grpc::is_token(b"Bearer secret", &token) && !lath_grpc::is_token(b"Bearer other", &token));
//! # Ok::<(), lath_grpc::Error>(())
//! ```

mod connection;
mod error;
mod threads;
mod tls;
mod token;

pub use self::connection::{Connection, connections};
pub use self::error::{Error, Result};
pub use self::threads::{NetworkThreads, threads};
pub use tokio_rustls::TlsAcceptor;

pub use self::tls::{HTTP2, acceptor, certificates, provider, unusable};
pub use self::token::{bearer, is_token};
