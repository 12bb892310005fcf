//! moto's S3 on loopback, if the variable `LATH_MOTO_SERVER` names its program. `.ci/run tests` installs it.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
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

/// The way in which a [`Proxy`] answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Passes it on, and its answer back.
    Pass,
    /// As `Pass`, but not before [`Proxy::open`]. If the proxy is dropped before, it is never passed on.
    Hold,
    /// As `Pass`, a second later.
    Slow,
    /// Passes it on, and closes the connection instead of answering.
    LoseAnswer,
    /// Passes it on, and answers that the server has failed.
    FailAfterwards,
    /// Does not pass it on, and answers that there are too many requests.
    Throttle,
    /// Does not pass it on, and closes the connection in the middle of its body.
    Reset,
}

/// A server on another port that passes on what the server of a bucket is sent, and treats some requests badly.
///
/// A test that has to act in the middle of an upload does so while a request of it is held back.
#[derive(Debug)]
pub struct Proxy {
    bucket: Bucket,
    held: Receiver<()>,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum State {
    #[default]
    Closed,
    Open,
    Gone,
}

impl Proxy {
    /// Treats each request as `choose` says for its first line: `PUT /lath/key?partNumber=1&uploadId=…`.
    ///
    /// # Panics
    /// If there is no port.
    pub fn new(bucket: Bucket, choose: impl Fn(&str) -> Treatment + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, held) = channel();
        let (gate, choose) = (Arc::new(Gate::default()), Arc::new(choose));
        let shared = Arc::clone(&gate);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (sender, gate, choose) = (sender.clone(), Arc::clone(&shared), Arc::clone(&choose));
                // A client may go at any time.
                thread::spawn(move || drop(treat(client, bucket, &*choose, &sender, &gate)));
            }
        });
        Self { bucket: Bucket { port }, held, gate }
    }

    /// Holds back requests of `method` whose path and query have `part`.
    ///
    /// # Panics
    /// As [`Proxy::new`].
    pub fn hold(bucket: Bucket, method: &'static str, part: &'static str) -> Self {
        let is_held = move |line: &str| line.starts_with(method) && line.contains(part);
        Self::new(bucket, move |line| if is_held(line) { Treatment::Hold } else { Treatment::Pass })
    }

    /// The bucket behind the proxy.
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

    /// Passes on what was held back, and holds back nothing any more.
    pub fn open(&self) {
        self.gate.set(State::Open);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if self.gate.get() == State::Closed {
            self.gate.set(State::Gone);
        }
    }
}

impl Gate {
    fn get(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, new: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = new;
        self.changed.notify_all();
    }

    /// Whether it opened.
    fn wait(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.changed.wait_while(state, |state| *state == State::Closed);
        *state.unwrap_or_else(PoisonError::into_inner) == State::Open
    }
}

/// Answers the one request of a connection.
fn treat(
    mut client: TcpStream,
    bucket: Bucket,
    choose: &dyn Fn(&str) -> Treatment,
    held: &Sender<()>,
    gate: &Gate,
) -> io::Result<()> {
    let mut input = BufReader::new(client.try_clone()?);
    let (mut head, mut len) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let lower = line.to_ascii_lowercase();
        match lower.trim_end().split_once(": ") {
            None if lower.trim().is_empty() => break,
            Some(("connection", _)) => continue,
            Some(("content-length", value)) => len = value.parse().map_err(io::Error::other)?,
            _ => {}
        }
        head.push_str(&line);
    }
    let treatment = choose(head.lines().next().unwrap_or_default());
    let mut body = vec![0; if treatment == Treatment::Reset { len / 2 } else { len }];
    input.read_exact(&mut body)?;
    let failure = |status: &str, code: &str| {
        let body = format!("<Error><Code>{code}</Code></Error>");
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    match treatment {
        Treatment::Hold => {
            // The proxy was dropped if this fails.
            let _ = held.send(());
            if !gate.wait() {
                return Ok(());
            }
        }
        Treatment::Slow => sleep(Duration::from_secs(1)),
        Treatment::Throttle => return client.write_all(failure("503 Slow Down", "SlowDown").as_bytes()),
        Treatment::Reset => return Ok(()),
        Treatment::Pass | Treatment::LoseAnswer | Treatment::FailAfterwards => {}
    }
    let mut server = TcpStream::connect(("127.0.0.1", bucket.port))?;
    server.write_all(head.as_bytes())?;
    server.write_all(b"Connection: close\r\n\r\n")?;
    server.write_all(&body)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    match treatment {
        Treatment::LoseAnswer => Ok(()),
        Treatment::FailAfterwards => client.write_all(failure("500 Internal Server Error", "InternalError").as_bytes()),
        _ => client.write_all(&answer),
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        // A process that has ended already need not be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
