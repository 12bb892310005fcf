//! Every tier keeps the same keys: random histories, compared with ordered maps and, by their digests, with each other.
//!
//! A process selects its tier once, so each tier runs the sweep in a separate process.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use lath_kernels::Tier;
use lath_store::{Durability, MemoryStorage, Options, Snapshot};
use lath_testkit::{DIGEST_MARK, Seeded, digests_at};

use crate::history::{Version, assert_same, assert_sound, change_often};

const HISTORIES: usize = 3;
const COMMITS: usize = 400;

#[test]
fn every_tier_gives_the_same_digests() {
    let seed = Seeded::new("every_tier_gives_the_same_digests");
    let digests: Vec<_> =
        Tier::available().iter().map(|&tier| (tier, digests_at(tier.name(), "tiers::sweep", seed.seed()))).collect();
    let (best, expected) = digests.last().unwrap();
    assert_eq!(expected.len(), HISTORIES);
    for (tier, lines) in &digests {
        assert_eq!(lines, expected, "at {tier}, and at {best}");
    }
}

#[test]
#[ignore = "every_tier_gives_the_same_digests runs it once per tier"]
fn sweep() {
    assert_eq!(std::env::var("LATH_SIMD").as_deref(), Ok(Tier::current().name()), "the tier that was asked for");
    let mut random = Seeded::new("sweep");
    for history in 0..HISTORIES {
        let storage = Arc::new(MemoryStorage::new(1 << 28).unwrap());
        let store = Options::new().background_checkpoints(false).open_storage(storage).unwrap();
        let (mut last, mut hasher) = (Version::default(), DefaultHasher::new());
        for commit in 0..COMMITS {
            let mut version = last.clone();
            let mut transaction = store.begin().unwrap();
            change_often(&mut random, &mut transaction, &mut version, &last, || ()).unwrap();
            transaction.commit_with(Durability::Off).unwrap();
            last = version;
            if commit % 40 == 0 {
                let snapshot = store.snapshot().unwrap();
                assert_same(&snapshot, &last, &format!("history {history}, commit {commit}"));
                look_up(&snapshot, &last, &mut random, &mut hasher);
            }
        }
        assert_sound(&store, &format!("history {history}"));
        println!("{DIGEST_MARK}history {history}: {:x}", hasher.finish());
    }
}

/// Looks up existing and missing keys, one by one and in both directions.
fn look_up(snapshot: &Snapshot, version: &Version, random: &mut fastrand::Rng, hasher: &mut DefaultHasher) {
    for (name, entries) in &version.trees {
        let tree = snapshot.tree(name).unwrap().unwrap();
        for entry in tree.iter().rev() {
            entry.unwrap().hash(hasher);
        }
        for key in entries.keys() {
            let mut other = key.clone();
            other.push(random.u8(..));
            for key in [key, &other] {
                tree.get(key).unwrap().hash(hasher);
                tree.rank(key).unwrap().hash(hasher);
            }
        }
        for rank in 0..entries.len() as u64 {
            tree.nth(rank).unwrap().hash(hasher);
        }
    }
}
