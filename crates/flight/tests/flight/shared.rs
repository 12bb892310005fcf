//! Many clients of one database.

use crate::{TestServer, query, update};

/// Small changes of several connections, which share the syncs of their commits.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_many_connections_are_all_there() {
    const CONNECTIONS: i64 = 16;
    const CHANGES: i64 = 20;
    let served = TestServer::new();
    update(&mut served.client().await, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)").await;
    update(&mut served.client().await, "INSERT INTO t VALUES (-1, 0)").await;
    let tasks = (0..CONNECTIONS).map(|connection| {
        let address = served.address();
        tokio::spawn(async move {
            let mut client = crate::client(address).await;
            let text = "INSERT OR REPLACE INTO t VALUES (?, ?)";
            let mut prepared = client.prepare(text.to_owned(), None).await.unwrap();
            for change in 0..CHANGES {
                let values = crate::values(&[connection * CHANGES + change, change]);
                prepared.set_parameters(values).unwrap();
                assert_eq!(prepared.execute_update().await.unwrap(), 1);
            }
            // One row that all change.
            assert_eq!(update(&mut client, "UPDATE t SET n = n + 1 WHERE id = -1").await, 1);
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    drop(served.client().await);
    let served = served.again();
    let counted =
        query(&mut served.client().await, "SELECT count(*), max(n) FILTER (WHERE id = -1), sum(n) FROM t").await;
    assert_eq!(
        counted,
        format!(
            "{} {CONNECTIONS} {}",
            CONNECTIONS * CHANGES + 1,
            CONNECTIONS * (CHANGES * (CHANGES - 1) / 2) + CONNECTIONS
        )
    );
}
