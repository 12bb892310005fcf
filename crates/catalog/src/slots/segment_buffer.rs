//! Buffers changes of segments of filters.

use std::collections::BTreeMap;

use lath_store::{Transaction, Tree};

use super::segment::{Class, FREE, OpenSegment, Place};
use crate::error::Result;
use crate::records::SEGMENTS;

/// The segment to which filters are added, for each class.
#[derive(Debug, Default)]
pub(crate) struct SegmentBuffer {
    open: BTreeMap<Class, Open>,
}

#[derive(Debug)]
struct Open {
    number: u32,
    segment: OpenSegment,
    /// All positions before it are occupied.
    from: u32,
}

impl SegmentBuffer {
    /// Adds the filter of a slot.
    pub(crate) fn add(
        &mut self,
        transaction: &mut Transaction,
        class: Class,
        slot: u32,
        bitset: &[u8],
    ) -> Result<Place> {
        loop {
            let open = match self.open.get_mut(&class) {
                Some(open) => open,
                None => {
                    let number = first_with_room(transaction.tree(SEGMENTS)?.as_tree()?, &class, 0)?;
                    let segment = load(transaction, &class, number)?;
                    self.open.entry(class).or_insert(Open { number, segment, from: 0 })
                }
            };
            if let Some(position) = open.segment.free_position(open.from) {
                open.segment.put(position, slot, bitset);
                open.from = position + 1;
                return Ok(Place { segment: open.number, position });
            }
            store(transaction, &class, open.number, &open.segment)?;
            let number = first_with_room(transaction.tree(SEGMENTS)?.as_tree()?, &class, open.number + 1)?;
            *open = Open { number, segment: load(transaction, &class, number)?, from: 0 };
        }
    }

    /// Frees the place of a filter.
    pub(crate) fn remove(&mut self, transaction: &mut Transaction, class: Class, place: Place) -> Result<()> {
        if let Some(open) = self.open.get_mut(&class).filter(|open| open.number == place.segment) {
            open.segment.set_slot(place.position, FREE);
            open.from = open.from.min(place.position);
            return Ok(());
        }
        let key = class.slots_key(place.segment);
        let mut tree = transaction.tree(SEGMENTS)?;
        let Some(mut slots) = tree.get(&key)?.map(<[u8]>::to_vec) else { return Ok(()) };
        if let Some(slot) = slots.chunks_exact_mut(4).nth(place.position as usize) {
            slot.copy_from_slice(&FREE.to_le_bytes());
        }
        tree.put(&key, &slots)?;
        Ok(())
    }

    /// Writes all changes.
    pub(crate) fn write(&mut self, transaction: &mut Transaction) -> Result<()> {
        for (class, open) in std::mem::take(&mut self.open) {
            store(transaction, &class, open.number, &open.segment)?;
        }
        Ok(())
    }
}

/// The first segment at or after `from` that has room: an existing one, or the next new one.
fn first_with_room(segments: Tree<'_>, class: &Class, from: u32) -> Result<u32> {
    for number in from.. {
        match segments.get(&class.slots_key(number))? {
            Some(slots) if !slots.as_chunks::<4>().0.contains(&FREE.to_le_bytes()) => {}
            _ => return Ok(number),
        }
    }
    Ok(u32::MAX)
}

fn load(transaction: &mut Transaction, class: &Class, number: u32) -> Result<OpenSegment> {
    let mut tree = transaction.tree(SEGMENTS)?;
    let slots = tree.get(&class.slots_key(number))?.map(<[u8]>::to_vec);
    let blocks = tree.get(&class.blocks_key(number))?.map(<[u8]>::to_vec);
    Ok(match (slots, blocks) {
        (Some(slots), Some(blocks)) => OpenSegment { slots, blocks },
        _ => OpenSegment::empty(class, number),
    })
}

fn store(transaction: &mut Transaction, class: &Class, number: u32, segment: &OpenSegment) -> Result<()> {
    let mut tree = transaction.tree(SEGMENTS)?;
    tree.put(&class.slots_key(number), &segment.slots)?;
    tree.put(&class.blocks_key(number), &segment.blocks)?;
    tree.put(&class.checksums_key(number), &segment.checksums())?;
    Ok(())
}
