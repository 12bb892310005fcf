use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::thread::sleep;

use super::*;

fn appended(group: &GroupSync, sequence: u64) -> Position {
    group.appended(sequence);
    Position(sequence)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not after a minute");
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn committers_form_groups() {
    let group = GroupSync::default();
    let (syncs, next) = (AtomicUsize::new(0), Mutex::new(0));
    let (threads, rounds) = (8, 40);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..rounds {
                    let position = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        appended(&group, *next)
                    };
                    let sync = |_| {
                        syncs.fetch_add(1, Ordering::Relaxed);
                        sleep(Duration::from_millis(10));
                        Ok(())
                    };
                    group.sync(position, sync).unwrap();
                }
            });
        }
    });
    // Two alternating groups would make two syncs a round.
    let syncs = syncs.into_inner();
    assert!(syncs < rounds * 3 / 2, "{syncs} syncs for {rounds} rounds of {threads}");
}

#[test]
fn absent_committer_is_awaited_once() {
    let group = GroupSync::default();
    group.state().expected = 8;
    for sequence in 1..=3 {
        group.sync(appended(&group, sequence), |_| Ok(())).unwrap();
        assert_eq!(group.state().expected, 1);
    }
    assert_eq!(group.state().timeouts, 1);
}

#[test]
fn failed_waits_increase_rounds_without_waiting() {
    let group = GroupSync::default();
    let mut waited = Vec::new();
    for sequence in 1..=400 {
        // As if another thread had come during each sync, and then stayed away.
        group.state().expected = 2;
        let before = group.state().rounds_without_wait;
        group.sync(appended(&group, sequence), |_| Ok(())).unwrap();
        if before == 0 {
            waited.push(sequence);
        }
    }
    assert_eq!(waited, [1, 4, 9, 18, 35, 68, 133, 198, 263, 328, 393]);
}

#[test]
fn failed_sync_is_reported_to_all_waiters() {
    let group = GroupSync::default();
    let positions: Vec<_> = (1..=4).map(|sequence| appended(&group, sequence)).collect();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let sync = |_| {
            wait_until("the others come", || group.state().waiting.len() == 3);
            Err(Error::ReadOnly)
        };
        let group = &group;
        let threads: Vec<_> =
            positions.into_iter().map(|position| scope.spawn(move || group.sync(position, sync))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::ReadOnly))).count(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::Poisoned))).count(), 3);
    assert!(matches!(group.check(), Err(Error::Poisoned)));
}

#[test]
fn waiter_returns_once_checkpoint_covers_its_record() {
    let group = GroupSync::default();
    let (go_on, may_end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let first = appended(&group, 1);
        let (group, (begun, has_begun)) = (&group, mpsc::channel());
        scope.spawn(move || {
            let sync = |_| {
                begun.send(()).unwrap();
                may_end.recv().unwrap();
                Ok(())
            };
            group.sync(first, sync).unwrap();
        });
        has_begun.recv().unwrap();
        let second = appended(group, 2);
        let waiting = scope.spawn(move || group.sync(second, |_| panic!("there is nothing to sync")));
        wait_until("the second waits", || group.state().waiting.len() == 1);
        group.retire(2);
        waiting.join().unwrap().unwrap();
        go_on.send(()).unwrap();
    });
}

#[test]
fn timekeeper_that_stops_waiting_hands_over() {
    let group = GroupSync::default();
    // No other thread completes the group, and the timeout is long.
    {
        let mut state = group.state();
        (state.expected, state.took) = (8, [Duration::from_secs(2); 2]);
    }
    let positions = [appended(&group, 1), appended(&group, 2)];
    thread::scope(|scope| {
        let group = &group;
        for (index, position) in positions.into_iter().enumerate() {
            scope.spawn(move || group.sync(position, |_| Ok(())).unwrap());
            wait_until("one more waits", || group.state().waiting.len() == index + 1);
        }
        group.retire(1);
    });
    assert!(group.is_synced(2));
}
