//! Measures synced commits of one thread and of four, each with its tree.

use std::path::PathBuf;
use std::time::Instant;

use lath_store::{Error, Options, Store};

const SECONDS: f64 = 3.0;

#[derive(Clone, Copy)]
enum Kind {
    Ordinary,
    Optimistic,
    OnTree,
}

fn commit(store: &Store, kind: Kind, name: &str, count: u64) {
    let key = count.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 10_000;
    match kind {
        Kind::Ordinary => {
            let mut transaction = store.begin().unwrap();
            let mut tree = transaction.tree(name).unwrap();
            let next = tree.get(&key.to_be_bytes()).unwrap().map_or(0, |value| value[0]).wrapping_add(1);
            tree.put(&key.to_be_bytes(), &[next; 100]).unwrap();
            transaction.commit().unwrap();
        }
        Kind::Optimistic => {
            let add = |transaction: &mut lath_store::OptimisticTransaction| {
                let mut tree = transaction.tree(name)?;
                let next = tree.get(&key.to_be_bytes())?.map_or(0, |value| value[0]).wrapping_add(1);
                tree.put(&key.to_be_bytes(), &[next; 100])
            };
            store.transact::<_, Error>(add).unwrap();
        }
        Kind::OnTree => {
            let mut transaction = store.begin_on(&[name]).unwrap();
            let mut tree = transaction.tree(name).unwrap();
            let next = tree.get(&key.to_be_bytes()).unwrap().map_or(0, |value| value[0]).wrapping_add(1);
            tree.put(&key.to_be_bytes(), &[next; 100]).unwrap();
            transaction.commit().unwrap();
        }
    }
}

fn commits_per_second(kind: Kind, threads: usize) -> f64 {
    let folder = std::env::var_os("LATH_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder).unwrap();
    let store = Options::new().open(folder.path().join("store")).unwrap();
    let started = Instant::now();
    let counts: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let store = store.clone();
                scope.spawn(move || {
                    let (name, mut count) = (format!("tree {thread}"), 0);
                    while started.elapsed().as_secs_f64() < SECONDS {
                        commit(&store, kind, &name, count);
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.sequence(), counts);
    counts as f64 / started.elapsed().as_secs_f64()
}

#[test]
#[ignore = "measures for half a minute; run it alone, with LATH_BENCH_DIR on the disk to measure"]
fn synced_commits_of_trees_per_second() {
    for (name, kind) in [("begin", Kind::Ordinary), ("transact", Kind::Optimistic), ("begin_on", Kind::OnTree)] {
        let mut best = [0.0_f64; 2];
        for _ in 0..2 {
            best[0] = best[0].max(commits_per_second(kind, 1));
            best[1] = best[1].max(commits_per_second(kind, 4));
        }
        let [one, four] = best;
        println!("{name:<9} {one:>6.0} commits/s by 1 thread, {four:>6.0} by 4 on 4 trees: {:.1} times", four / one);
    }
}
