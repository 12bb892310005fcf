//! The deferred puts of a transaction. Applying many together is faster than one by one.

use crate::error::Result;
use crate::node::Word;
use crate::trie::{Writer, warm};

/// The maximum number of puts that are applied together.
const MAX_PUTS: usize = 1024;

/// The maximum number of bytes of their keys and values.
const MAX_BYTES: usize = 1 << 18;

/// The paths to this many keys are loaded before the first of them is put.
const WARM_AHEAD: usize = 64;

#[derive(Debug, Clone, Copy)]
struct DeferredPut {
    /// The first eight bytes of the key, which decide the order of most keys.
    head: u64,
    key: (u32, u32),
    value_end: u32,
}

/// A tree of a transaction: the index of the named tree, and how many nested trees of its chain lead to it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) tree: usize,
    pub(crate) depth: usize,
}

/// Puts into one tree, in the order of the calls.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The tree of the puts.
    pub(crate) place: Place,
    bytes: Vec<u8>,
    puts: Vec<DeferredPut>,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.puts.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.puts.len() >= MAX_PUTS || self.bytes.len() >= MAX_BYTES
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.puts.clear();
    }

    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        let end = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        let mut head = [0; 8];
        let len = key.len().min(8);
        head[..len].copy_from_slice(&key[..len]);
        let value_end = self.bytes.len() as u32;
        self.puts.push(DeferredPut { head: u64::from_be_bytes(head), key: (start, end), value_end });
    }

    fn key(&self, put: &DeferredPut) -> &[u8] {
        &self.bytes[put.key.0 as usize..put.key.1 as usize]
    }

    /// Applies all puts in key order, because neighbours share most of their path. If a key repeats, the last put wins.
    pub(crate) fn apply(&mut self, writer: &mut Writer, root: &mut Word) -> Result<()> {
        let mut puts = std::mem::take(&mut self.puts);
        // A put with an empty key and value begins at the same offset as the next one but does not end there, unless
        // the next is the same.
        puts.sort_unstable_by(|a, b| {
            a.head.cmp(&b.head).then_with(|| self.key(a).cmp(self.key(b))).then_with(|| a.value_end.cmp(&b.value_end))
        });
        writer.discard_path();
        let entry = |index: usize| {
            let put: &DeferredPut = &puts[index];
            (self.key(put), &self.bytes[put.key.1 as usize..put.value_end as usize])
        };
        let (mut done, mut warmed, mut result) = (0, 0, Ok(()));
        while done < puts.len() && result.is_ok() {
            if done >= warmed {
                warmed = puts.len().min(done + WARM_AHEAD);
                warm::warm(writer.shared(), *root, (done..warmed).map(|index| entry(index).0));
            }
            match writer.put_run(root, done..puts.len(), entry) {
                Ok(count) => done += count,
                Err(error) => result = Err(error),
            }
        }
        self.puts = puts;
        self.clear();
        result.and_then(|()| writer.close_path(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{FIRST_UNIT, WriteArena};
    use crate::extent::UNIT;
    use crate::space::Space;
    use crate::trie::find;

    #[test]
    fn last_put_wins_with_empty_keys_and_values() {
        const LEN: u64 = 1 << 20;
        let mut writer = Writer::new(WriteArena::in_memory(LEN, LEN), Space::new(FIRST_UNIT, LEN / UNIT), 1);
        let mut root = Word::NONE;
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..500 {
            let mut pending = Pending::default();
            let others = random.usize(..200);
            let at = random.usize(..=others);
            for number in 0..=others {
                if number == at {
                    (0..random.usize(1..4)).for_each(|_| pending.push(b"", b""));
                    pending.push(b"", b"last");
                } else {
                    pending.push(&random.u16(..).to_be_bytes(), b"");
                }
            }
            pending.apply(&mut writer, &mut root).unwrap();
            assert_eq!(find::get(writer.shared(), root, b"").unwrap(), Some(&b"last"[..]));
        }
    }
}
