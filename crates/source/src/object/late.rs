//! Connections to S3, whose answer to a request that arrives too slowly has the status of a request that is wrong.

use http::StatusCode;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};

/// The code in the body of the answer. AWS's own clients send the request again.
const CODE: &[u8] = b"<Code>RequestTimeout</Code>";

/// Connects to S3.
#[derive(Debug)]
pub(super) struct S3Connector;

#[derive(Debug)]
struct S3Service(HttpClient);

impl HttpConnector for S3Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(S3Service(ReqwestConnector::default().connect(options)?)))
    }
}

#[async_trait::async_trait]
impl HttpService for S3Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.0.execute(request).await?;
        if answer.status() != StatusCode::BAD_REQUEST {
            return Ok(answer);
        }
        let (mut head, body) = answer.into_parts();
        let body = body.bytes().await?;
        if body.windows(CODE.len()).any(|part| part == CODE) {
            head.status = StatusCode::REQUEST_TIMEOUT;
        }
        Ok(HttpResponse::from_parts(head, body.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use object_store::aws::AmazonS3Builder;
    use object_store::path::Path;
    use object_store::{BackoffConfig, ObjectStoreExt, PutPayload, RetryConfig};

    use super::*;

    /// What becomes of an object that is sent to a server which answers so, one answer a request; and how many were sent.
    fn put(answers: &[(&str, &str)]) -> (Result<(), String>, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let count = answers.len();
        let answers: Vec<_> = answers.iter().map(|(status, body)| (status.to_string(), body.to_string())).collect();
        let server = thread::spawn(move || {
            let mut sent = 0;
            for (status, body) in answers {
                let mut connection = listener.accept().unwrap().0;
                let mut input = BufReader::new(connection.try_clone().unwrap());
                let mut len = 0;
                loop {
                    let mut line = String::new();
                    input.read_line(&mut line).unwrap();
                    let line = line.trim_end().to_ascii_lowercase();
                    if line.is_empty() {
                        break;
                    }
                    len = line.strip_prefix("content-length: ").map_or(len, |value| value.parse().unwrap());
                }
                input.read_exact(&mut vec![0; len]).unwrap();
                if len == 0 {
                    // The end of the test.
                    break;
                }
                sent += 1;
                let length = body.len();
                write!(
                    connection,
                    "HTTP/1.1 {status}\r\nETag: \"1\"\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                )
                .unwrap();
            }
            sent
        });
        let pause = std::time::Duration::from_millis(1);
        let retry = RetryConfig {
            max_retries: count,
            backoff: BackoffConfig { init_backoff: pause, max_backoff: pause, ..BackoffConfig::default() },
            ..RetryConfig::default()
        };
        let store = AmazonS3Builder::new()
            .with_bucket_name("bucket")
            .with_endpoint(&endpoint)
            .with_allow_http(true)
            .with_access_key_id("test")
            .with_secret_access_key("test")
            .with_retry(retry)
            .with_http_connector(S3Connector)
            .build()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let put = runtime.block_on(store.put(&Path::from("object"), PutPayload::from_static(b"bytes")));
        let mut last = std::net::TcpStream::connect(endpoint.trim_start_matches("http://"));
        if let Ok(last) = &mut last {
            // A server that has answered everything has ended.
            let _ = last.write_all(b"GET / HTTP/1.1\r\n\r\n");
        }
        (put.map(drop).map_err(|error| error.to_string()), server.join().unwrap())
    }

    #[test]
    fn requests_that_were_too_slow_are_sent_again() {
        let late = "<Error><Code>RequestTimeout</Code><Message>Idle connections will be closed.</Message></Error>";
        assert_eq!(put(&[("400 Bad Request", late), ("400 Bad Request", late), ("200 OK", "")]), (Ok(()), 3));
        let wrong = "<Error><Code>InvalidRequest</Code><Message>What was asked?</Message></Error>";
        let (put, sent) = put(&[("400 Bad Request", wrong), ("200 OK", "")]);
        assert!(put.unwrap_err().contains("What was asked?"));
        assert_eq!(sent, 1);
    }
}
