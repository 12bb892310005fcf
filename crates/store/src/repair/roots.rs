//! Finds the commit to start from: a header's, or the newest root record among the nodes.

use std::cmp::Reverse;

use super::salvage::Salvage;
use crate::arena::{Arena, FIRST_UNIT};
use crate::error::{Error, Result};
use crate::extent::{Generation, UNIT};
use crate::node::Kind;
use crate::records::{NESTED_VERSION, newest_header};
use crate::root::Root;

/// The maximum for numbers of commits and generations.
const LIMIT: u64 = 1 << 56;

/// The bytes of the store's identity in a header.
const IDENTITY: std::ops::Range<usize> = 16..24;

#[derive(Debug)]
pub(super) struct StartingPoint {
    pub(super) root: Root,
    /// Nodes up to this generation have checksums.
    pub(super) sealed: Generation,
    /// The possible identities of the store, one of which seeds the log's checksums.
    pub(super) identities: Vec<u64>,
    /// Whether the commit comes from a header.
    pub(super) has_header: bool,
    /// Whether several trees may have the same nodes.
    pub(super) may_share: bool,
}

/// Finds the newest checkpoint.
pub(super) fn find(arena: &Arena) -> Result<StartingPoint> {
    match newest_header(arena) {
        Ok(header) => {
            let (root, identities) = (header.root, vec![header.identity]);
            let may_share = header.version >= NESTED_VERSION;
            Ok(StartingPoint { root, sealed: root.generation, identities, has_header: true, may_share })
        }
        Err(Error::Corrupt { .. }) => search(arena),
        Err(other) => Err(other),
    }
}

/// Searches every unit for the root record of a commit. The newest whose catalogs have checksums, all of them correct,
/// was a checkpoint: younger nodes have none.
fn search(arena: &Arena) -> Result<StartingPoint> {
    let mut roots: Vec<Root> = (FIRST_UNIT..arena.len() / UNIT).filter_map(|unit| record_at(arena, unit)).collect();
    roots.sort_unstable_by_key(|root| Reverse((root.sequence, root.generation)));
    roots.dedup();
    let root = roots.into_iter().find(|root| has_intact_catalogs(arena, root));
    let root =
        root.ok_or_else(|| Error::corrupt_at(0, "neither of the two headers is one, and no commit's record is"))?;
    let mut identities = Vec::new();
    for slot in 0..2 {
        // Often the damage is in another part of the header.
        if let Ok(bytes) = arena.header(slot)
            && let Some(identity) = bytes[IDENTITY].as_array()
        {
            identities.push(u64::from_le_bytes(*identity));
        }
    }
    identities.dedup();
    Ok(StartingPoint { root, sealed: u64::MAX, identities, has_header: false, may_share: true })
}

/// Reads the unit as the root record of a commit, if it can be one.
fn record_at(arena: &Arena, unit: u64) -> Option<Root> {
    let node = arena.node(unit).ok().filter(|node| Kind::from_head(node.head) == Some(Kind::Root))?;
    let root = Root::read(node).ok()?;
    let is_shaped =
        node.head[1] == 0 && node.body.len() == node.head.len() && node.head[36..].iter().all(|byte| *byte == 0);
    let is_within = root.sequence <= LIMIT && (1..=LIMIT).contains(&root.generation);
    let (stored, right) = arena.checksums(unit).ok()?;
    (is_shaped && is_within && (stored == 0 || stored == right)).then_some(root)
}

fn has_intact_catalogs(arena: &Arena, root: &Root) -> bool {
    let mut salvage = Salvage::new(arena, u64::MAX);
    let walked =
        [root.catalog, root.snapshots].map(|catalog| salvage.walk(catalog, root.generation, &mut |_, _| Ok(())));
    walked.iter().all(Result::is_ok) && salvage.problems.is_empty()
}
