//! Connections of clients.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, Stream, StreamExt, unfold};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tonic::transport::server::Connected;

/// A client that does not say what it wants within this time is dropped.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection, encrypted or not. Requests have `info`, which is dropped with the connection and its requests.
pub struct Connection<I = ()> {
    stream: Pin<Box<dyn ReadWrite>>,
    info: I,
}

trait ReadWrite: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> ReadWrite for S {}

impl<I> Connection<I> {
    /// A connection over a stream.
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + 'static, info: I) -> Self {
        Self { stream: Box::pin(stream), info }
    }
}

impl<I: Unpin> AsyncRead for Connection<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(context, buffer)
    }
}

impl<I: Unpin> AsyncWrite for Connection<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}

impl<I: Clone + Send + Sync + 'static> Connected for Connection<I> {
    type ConnectInfo = I;

    fn connect_info(&self) -> I {
        self.info.clone()
    }
}

impl<I: fmt::Debug> fmt::Debug for Connection<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("info", &self.info).finish_non_exhaustive()
    }
}

/// The connections that a listener accepts, each with a value of `info`. Clients that fail to agree on TLS are dropped.
pub fn connections<I>(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    info: impl Fn() -> I,
) -> impl Stream<Item = io::Result<Connection<I>>> {
    // Handshakes run at the same time, so that a silent client holds up no other.
    let accepted = unfold((listener, FuturesUnordered::new()), move |(listener, mut handshakes)| {
        let acceptor = acceptor.clone();
        async move {
            loop {
                let accepted = tokio::select! {
                    Some(agreed) = handshakes.next(), if !handshakes.is_empty() => match agreed {
                        Some(stream) => return Some((Ok(stream), (listener, handshakes))),
                        None => continue,
                    },
                    accepted = listener.accept() => accepted,
                };
                match accepted {
                    Ok((stream, _)) => handshakes.push(handshake(stream, acceptor.clone())),
                    Err(error) => return Some((Err(error), (listener, handshakes))),
                }
            }
        }
    });
    accepted.map(move |accepted| accepted.map(|stream| Connection { stream, info: info() }))
}

async fn handshake(stream: TcpStream, acceptor: Option<TlsAcceptor>) -> Option<Pin<Box<dyn ReadWrite>>> {
    // Without it, small messages wait for others.
    stream.set_nodelay(true).ok()?;
    let Some(acceptor) = acceptor else { return Some(Box::pin(stream)) };
    let stream = timeout(PATIENCE, acceptor.accept(stream)).await.ok()?.ok()?;
    Some(Box::pin(stream))
}
