//! moto's S3 on loopback, if the variable `LATH_MOTO_SERVER` names its program. `.ci/run tests` installs it.

use std::env;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// moto requires a signature to replace an object, but does not verify it.
const SIGNATURE: &str =
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A server with the bucket `lath`, which ends when it is dropped.
#[derive(Debug)]
pub struct S3Server {
    process: Child,
    bucket: Bucket,
}

/// The bucket `lath` of a server.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    port: u16,
}

impl S3Server {
    /// Starts the server and creates the bucket; `None`, with a message, if there is no server to start.
    ///
    /// # Panics
    /// If the server cannot be started or does not answer for two minutes.
    pub fn start() -> Option<Self> {
        let Some(program) = env::var_os("LATH_MOTO_SERVER") else {
            eprintln!("SKIPPED: no S3 server to test with; `.ci/run tests` installs one and sets LATH_MOTO_SERVER");
            return None;
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("LATH_MOTO_SERVER names a program that runs");
        let server = Self { process, bucket: Bucket { port } };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(120), "moto does not answer");
            sleep(Duration::from_millis(100));
        }
        assert_eq!(server.bucket.send("PUT", "lath", b"").0, 200);
        Some(server)
    }

    /// The bucket.
    pub fn bucket(&self) -> Bucket {
        self.bucket
    }
}

impl Bucket {
    /// The bucket of the server at a port of this machine.
    pub fn at(port: u16) -> Self {
        Self { port }
    }

    /// The server's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The variables of the environment by which programs find the server.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }

    /// The status and the body of the response to a request. The path begins with the bucket.
    ///
    /// # Panics
    /// If there is no response.
    pub fn send(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).expect("the server accepts connections");
        let head = format!(
            "{method} /{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: {SIGNATURE}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        connection.write_all(&[head.as_bytes(), body].concat()).expect("the server takes a request");
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).expect("the server answers");
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("the answer has a head");
        let head = String::from_utf8_lossy(&answer[..end]);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("the answer has a status"), answer[end + 4..].to_vec())
    }

    /// Writes an object.
    ///
    /// # Panics
    /// If the server refuses it.
    pub fn put(&self, key: &str, bytes: &[u8]) {
        assert_eq!(self.send("PUT", &format!("lath/{key}"), bytes).0, 200, "{key}");
    }

    /// The bytes of an object, if there is one.
    ///
    /// # Panics
    /// If the server answers with another error.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let (status, body) = self.send("GET", &format!("lath/{key}"), b"");
        assert!(matches!(status, 200 | 404), "{key}: {status}");
        (status == 200).then_some(body)
    }

    /// The number of uploads that were begun, and neither completed nor aborted.
    ///
    /// # Panics
    /// If the server does not list them.
    pub fn unfinished_uploads(&self) -> usize {
        let (status, body) = self.send("GET", "lath?uploads", b"");
        assert_eq!(status, 200);
        String::from_utf8_lossy(&body).matches("<UploadId>").count()
    }
}

/// A server on another port that passes on what the server of a bucket is sent, but holds back some requests.
///
/// A test that has to act in the middle of an upload does so while a request of it is held back.
#[derive(Debug)]
pub struct Gate {
    bucket: Bucket,
    held: Receiver<()>,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Closed,
    Open,
    /// Requests that are held back are never sent.
    Gone,
}

impl Gate {
    /// Holds back requests of `method` whose path and query have `part`.
    ///
    /// # Panics
    /// If there is no port.
    pub fn new(bucket: Bucket, method: &'static str, part: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, held) = channel();
        let state = Arc::new((Mutex::new(State::Closed), Condvar::new()));
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", bucket.port)) else { break };
                let (Ok(from), Ok(to)) = (server.try_clone(), client.try_clone()) else { break };
                thread::spawn(move || copy(from, to, |_| true));
                let (sender, shared) = (sender.clone(), shared.clone());
                thread::spawn(move || copy(client, server, |bytes| pass(bytes, method, part, &sender, &shared)));
            }
        });
        Self { bucket: Bucket { port }, held, state }
    }

    /// The bucket behind the gate.
    pub fn bucket(&self) -> Bucket {
        self.bucket
    }

    /// Waits until a request is held back.
    ///
    /// # Panics
    /// If there is none within two minutes.
    pub fn wait(&self) {
        self.held.recv_timeout(Duration::from_secs(120)).expect("a request is held back");
    }

    /// Sends what was held back, and holds back nothing any more. A gate that is dropped never sends it.
    pub fn open(&self) {
        self.set(State::Open);
    }

    fn set(&self, new: State) {
        let (state, changed) = &*self.state;
        *state.lock().unwrap_or_else(PoisonError::into_inner) = new;
        changed.notify_all();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let is_open = *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) == State::Open;
        if !is_open {
            self.set(State::Gone);
        }
    }
}

/// Whether bytes that a client sent may go on to the server. A client sends no request before the previous one is answered,
/// so that the head of a request begins where a read does.
fn pass(bytes: &[u8], method: &str, part: &str, held: &Sender<()>, shared: &(Mutex<State>, Condvar)) -> bool {
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    if !(line.starts_with(method) && line.contains(part) && line.ends_with("HTTP/1.1")) {
        return true;
    }
    // A gate that was dropped counts no requests.
    let _ = held.send(());
    let mut state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    while *state == State::Closed {
        state = shared.1.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    *state == State::Open
}

/// Copies from one connection to another, until the end, an error, or bytes that may not go on.
fn copy(mut from: TcpStream, mut to: TcpStream, pass: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(count) if count > 0 && pass(&buffer[..count]) && to.write_all(&buffer[..count]).is_ok() => {}
            _ => break,
        }
    }
    // The other direction ends with this one.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

impl Drop for S3Server {
    fn drop(&mut self) {
        // A process that has ended already need not be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
