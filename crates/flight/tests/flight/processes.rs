//! A server in a separate process, which is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use lath_flight::FlightOptions;

use crate::{query, update, values};

/// The folder of the database that the server of [`server`] has.
const DATABASE: &str = "LATH_TEST_FLIGHT_DATABASE";

/// A server, if the variable is set; otherwise nothing is tested.
#[test]
fn server() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let running = crate::serve(database.as_ref(), FlightOptions::new());
    println!("said: {}", running.address());
    std::io::stdout().flush().unwrap();
    // Until the process that has started this one is gone.
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
}

fn start(database: &std::path::Path) -> (Child, std::net::SocketAddr) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["processes::server", "--exact", "--nocapture", "--test-threads=1"])
        .env(DATABASE, database)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find_map(|line| line.split_once("said: ").map(|(_, said)| said.to_owned()));
    (child, said.unwrap().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_acknowledged_is_lost_when_the_server_is_killed() {
    const CONNECTIONS: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("shop");
    let (mut child, address) = start(&database);
    update(
        &mut crate::client(address).await,
        "CREATE TABLE t (connection BIGINT, n BIGINT, PRIMARY KEY (connection, n))",
    )
    .await;
    let acknowledged: Arc<Vec<AtomicI64>> = Arc::new((0..CONNECTIONS).map(|_| AtomicI64::new(0)).collect());
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|connection| {
            let acknowledged = Arc::clone(&acknowledged);
            tokio::spawn(async move {
                let mut client = crate::client(address).await;
                let text = "INSERT INTO t VALUES (?, ?)";
                let mut prepared = client.prepare(text.to_owned(), None).await.unwrap();
                // It ends when the server is gone.
                for n in 0.. {
                    prepared.set_parameters(values(&[connection as i64, n])).unwrap();
                    if prepared.execute_update().await.is_err() {
                        break;
                    }
                    acknowledged[connection].store(n + 1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    while acknowledged.iter().any(|count| count.load(Ordering::SeqCst) < 10) {
        tokio::task::yield_now().await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    let (mut child, address) = start(&database);
    let mut client = crate::client(address).await;
    for (connection, count) in acknowledged.iter().enumerate() {
        let count = count.load(Ordering::SeqCst);
        let text = format!("SELECT count(*) FROM t WHERE connection = {connection} AND n < {count}");
        assert_eq!(query(&mut client, &text).await, count.to_string(), "connection {connection}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
