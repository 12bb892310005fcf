//! A web server on loopback: files from memory, ranges, keep-alive, and delays and faults on request.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `HEAD`, …
    pub method: String,
    /// The requested path, including the leading slash.
    pub path: String,
    /// The value of the header `Range`.
    pub range: Option<String>,
}

/// A fault in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The correct response.
    None,
    /// A delayed response.
    Delay(Duration),
    /// Another status, without a body.
    Status(u16),
    /// A closed connection.
    Reset,
    /// The body ends after this many bytes, although more were announced.
    Truncate(usize),
    /// The body ends after this many bytes, and only the range was announced.
    Short(usize),
    /// The whole file, as if no range had been requested.
    Whole,
}

type Choose = dyn Fn(&Request, usize) -> Fault + Send + Sync;

/// A server on loopback, which stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<ServerState>,
}

struct ServerState {
    files: Mutex<HashMap<String, (Bytes, String)>>,
    requests: Mutex<Vec<Request>>,
    choose: Box<Choose>,
    sent: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
    is_stopped: AtomicUsize,
}

impl Server {
    /// Starts a server without faults.
    ///
    /// # Panics
    /// The same as [`Server::with_faults`].
    pub fn of(files: impl IntoIterator<Item = (String, Bytes)>) -> Self {
        Self::with_faults(files, |_, _| Fault::None)
    }

    /// Starts a server with the faults that `choose` returns for each request and its number.
    ///
    /// # Panics
    /// If loopback has no free port.
    pub fn with_faults(
        files: impl IntoIterator<Item = (String, Bytes)>,
        choose: impl Fn(&Request, usize) -> Fault + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let files = files.into_iter().map(|(path, bytes)| (path, (bytes, "\"1\"".to_owned()))).collect();
        let shared = Arc::new(ServerState {
            files: Mutex::new(files),
            requests: Mutex::default(),
            choose: Box::new(choose),
            sent: AtomicUsize::new(0),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            is_stopped: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming() {
                if serving.is_stopped.load(Ordering::Relaxed) == 1 {
                    break;
                }
                let (Ok(connection), shared) = (connection, Arc::clone(&serving)) else { continue };
                // A connection that the client closes is no failure.
                thread::spawn(move || drop(shared.serve(connection)));
            }
        });
        Self { address, shared }
    }

    /// The URL of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// The number of body bytes sent so far, or being sent.
    pub fn sent(&self) -> usize {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// The maximum number of concurrent requests.
    pub fn most_at_once(&self) -> usize {
        self.shared.most.load(Ordering::Relaxed)
    }

    /// Replaces a file.
    pub fn replace(&self, path: &str, bytes: Bytes) {
        lock(&self.shared.files).insert(path.to_owned(), (bytes, "\"2\"".to_owned()));
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_stopped.store(1, Ordering::Relaxed);
        // Wakes the thread that accepts connections.
        drop(TcpStream::connect(self.address));
    }
}

impl ServerState {
    fn serve(&self, connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection.try_clone()?);
        let mut writer = connection;
        while let Some(request) = read_request(&mut reader)? {
            let number = {
                let mut requests = lock(&self.requests);
                requests.push(request.clone());
                requests.len() - 1
            };
            if !self.answer(&mut writer, &request, number)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether the connection stays open.
    fn answer(&self, writer: &mut TcpStream, request: &Request, number: usize) -> io::Result<bool> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let fault = (self.choose)(request, number);
        if let Fault::Delay(time) = fault {
            thread::sleep(time);
        }
        // Before the client can receive the response and send another request.
        self.now.fetch_sub(1, Ordering::SeqCst);
        match fault {
            Fault::Status(status) => {
                write!(writer, "HTTP/1.1 {status} Fault\r\nContent-Length: 0\r\n\r\n")?;
                return Ok(true);
            }
            Fault::Reset => return Ok(false),
            _ => {}
        }
        let path = request.path.trim_start_matches('/');
        let Some((file, tag)) = lock(&self.files).get(path).cloned() else {
            write!(writer, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(true);
        };
        let range =
            request.range.as_deref().filter(|_| fault != Fault::Whole).and_then(|range| parse_range(range, file.len()));
        let (status, body) = match &range {
            Some(range) => ("206 Partial Content", file.slice(range.clone())),
            None => ("200 OK", file.clone()),
        };
        write!(writer, "HTTP/1.1 {status}\r\nETag: {tag}\r\nAccept-Ranges: bytes\r\n")?;
        if let Some(range) = &range {
            write!(writer, "Content-Range: bytes {}-{}/{}\r\n", range.start, range.end - 1, file.len())?;
        }
        let announced = match fault {
            Fault::Short(len) => len.min(body.len()),
            _ => body.len(),
        };
        write!(writer, "Content-Length: {announced}\r\n\r\n")?;
        if request.method == "HEAD" {
            return Ok(true);
        }
        let sent = match fault {
            Fault::Truncate(len) | Fault::Short(len) => len.min(body.len()),
            _ => body.len(),
        };
        // Counted first, so that a client that has received a body finds it counted.
        self.sent.fetch_add(sent, Ordering::Relaxed);
        writer.write_all(&body[..sent])?;
        Ok(!matches!(fault, Fault::Truncate(_)))
    }
}

/// Locks a mutex, even if a thread panicked while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let (mut range, mut body_len) = (None, 0);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "range" => range = Some(value.trim().to_owned()),
            "content-length" => body_len = value.trim().parse().unwrap_or(0),
            _ => {}
        }
    }
    io::copy(&mut reader.take(body_len), &mut io::sink())?;
    Ok(Some(Request { method, path, range }))
}

/// `bytes=1-5`, `bytes=5-` or `bytes=-5`.
fn parse_range(range: &str, len: usize) -> Option<std::ops::Range<usize>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    Some(match (first, last) {
        ("", suffix) => len.saturating_sub(suffix.parse().ok()?)..len,
        (first, "") => first.parse().ok()?..len,
        (first, last) => first.parse().ok()?..len.min(last.parse::<usize>().ok()? + 1),
    })
}
