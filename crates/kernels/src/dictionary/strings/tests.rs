use lath_testkit::{GuardedBytes, GuardedSlice, Seeded};

use super::{MAX_CHAIN, SLACK, StringSlot, Strings};
use crate::byte_strings::layouts::Layouts;
use crate::dictionary::{reference, slot_count};
use crate::{ByteStrings, KernelError, Tier};

/// The strings in PLAIN encoding.
fn plain(strings: &[Vec<u8>]) -> Vec<u8> {
    strings.iter().flat_map(|string| [&(string.len() as u32).to_le_bytes()[..], string].concat()).collect()
}

/// Strings, each of which is one of a few, shorter than `limit`, or of length `limit` if `fixed`.
fn draw(random: &mut Seeded, count: usize, distinct: usize, limit: usize, fixed: bool) -> Vec<Vec<u8>> {
    let pool: Vec<Vec<u8>> = (0..distinct)
        .map(|_| {
            let len = if fixed { limit } else { random.usize(..=limit) };
            // Few letters, so that strings share their starts and ends.
            (0..len).map(|_| random.u8(b'a'..b'c')).collect()
        })
        .collect();
    (0..count).map(|_| pool[random.usize(..distinct)].clone()).collect()
}

fn check(strings: &[Vec<u8>], layout: ByteStrings<'_>, room: usize, page_room: usize, call_len: usize, tier: Tier) {
    let (codes, distinct) = reference::intern(strings.iter().cloned());
    let fits = |&count: &usize| count <= room.next_power_of_two() && plain(&distinct[..count]).len() <= page_room;
    let distinct_taken = (0..=distinct.len()).rfind(fits).unwrap();
    let taken = codes.iter().position(|&code| code as usize >= distinct_taken).unwrap_or(strings.len());

    // Garbage in slots does not matter.
    let mut slots = vec![StringSlot { key: 0, offset: 1, code: 2 }; slot_count(room)];
    let mut page = GuardedBytes::ending_at_guard(&vec![0xEE; page_room + SLACK]);
    let mut out = GuardedSlice::ending_at_guard(&vec![0xDEAD; strings.len()]);
    let table = Strings::new(&mut slots, &mut page).unwrap();
    let (mut len, mut page_len) = (table.len(), table.page().len());
    let mut done = 0;
    while done < strings.len() {
        let codes = &mut out[done..strings.len().min(done + call_len)];
        let asked = codes.len();
        let mut table = Strings::resume(&mut slots, &mut page, len, page_len).unwrap();
        let took = table.intern(layout, done, codes).unwrap();
        (len, page_len) = (table.len(), table.page().len());
        done += took;
        if took < asked {
            break;
        }
    }
    assert_eq!(done, taken, "{tier} {strings:?}");
    assert_eq!(out[..taken], codes[..taken], "{tier} {strings:?}");
    assert_eq!(len, distinct_taken);
    assert_eq!(page[..page_len], plain(&distinct[..len]));

    // After it is full, a larger table continues.
    let mut slots = vec![StringSlot::EMPTY; slot_count(distinct.len())];
    let mut larger = page[..page_len].to_vec();
    larger.resize(plain(&distinct).len() + SLACK, 0xEE);
    let mut table = Strings::rebuild(&mut slots, &mut larger, len, page_len).unwrap();
    assert_eq!(table.intern(layout, taken, &mut out[taken..]), Ok(strings.len() - taken));
    assert_eq!(*out, *codes);
    assert_eq!((table.len(), table.page()), (distinct.len(), &plain(&distinct)[..]));
}

#[test]
fn strings_get_the_code_of_their_first_occurrence() {
    let mut random = Seeded::new("strings get the code of their first occurrence");
    Tier::for_each_available(|tier| {
        for limit in [0, 1, 2, 7, 8, 9, 12, 13, 15, 16, 17, 31, 32, 33, 34, 64, 65, 300] {
            for (count, distinct) in [(0, 1), (1, 1), (2, 2), (9, 3), (40, 30), (100, 7), (400, 200)] {
                for fixed in [false, true] {
                    let strings = draw(&mut random, count, distinct, limit, fixed);
                    let layouts = Layouts::new(&strings);
                    let (room, page_room) = [(1000, 100_000), (4, 100_000), (1000, 50), (0, 0)][random.usize(..4)];
                    layouts.for_each(|layout| check(&strings, layout, room, page_room, random.usize(1..500), tier));
                }
            }
        }
    });
}

#[test]
fn strings_that_differ_in_one_bit_or_in_length_are_two() {
    Tier::for_each_available(|tier| {
        for len in [1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 100] {
            let base: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let mut strings = vec![base.clone(), [&base[..], &[0]].concat(), base[..len - 1].to_vec()];
            for bit in 0..8 * len {
                let mut other = base.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                strings.push(other);
            }
            strings.extend(strings.clone());
            let layouts = Layouts::new(&strings);
            layouts.for_each(|layout| check(&strings, layout, 1000, 100_000, 1000, tier));
        }
    });
}

#[test]
fn strings_outside_their_bytes_are_refused() {
    let data = [b'x'; 100];
    let long =
        |buffer: u32, offset: u32, len: u32| u128::from(len) | u128::from(buffer) << 64 | u128::from(offset) << 96;
    Tier::for_each_available(|tier| {
        let cases = [
            ByteStrings::Offsets32 { data: &data, offsets: &[0, 5, 101] },
            ByteStrings::Offsets32 { data: &data, offsets: &[0, 5, 4] },
            ByteStrings::Offsets32 { data: &data, offsets: &[0, 5, -1] },
            ByteStrings::Offsets32 { data: &data, offsets: &[0, 0, i32::MIN] },
            ByteStrings::Offsets64 { data: &data, offsets: &[0, 5, 101] },
            ByteStrings::Offsets64 { data: &data, offsets: &[0, 5, i64::MAX] },
            ByteStrings::Offsets64 { data: &data, offsets: &[0, 5, i64::MIN] },
            ByteStrings::Views { views: &[3, long(0, 88, 13)], buffers: &[&data] },
            ByteStrings::Views { views: &[3, long(1, 0, 13)], buffers: &[&data] },
            ByteStrings::Views { views: &[3, long(0, u32::MAX, u32::MAX)], buffers: &[&data] },
        ];
        for strings in cases {
            let (mut slots, mut page) = ([StringSlot::EMPTY; 64], [0; 1000]);
            let mut table = Strings::new(&mut slots, &mut page).unwrap();
            let refused = table.intern(strings, 0, &mut [0; 2]);
            assert!(matches!(refused, Err(KernelError::Malformed { .. })), "{tier} {strings:?}");
            assert_eq!(table.len(), 1, "{tier} {strings:?}");
            let refused = table.intern(strings, 1, &mut [0; 2]);
            assert_eq!(refused, Err(KernelError::InputTooShort { needed: 3, available: 2 }), "{tier}");
            assert!(table.intern(strings, usize::MAX, &mut [0; 2]).is_err(), "{tier}");
        }
    });
}

#[test]
fn any_bytes_in_slots_are_safe() {
    let mut random = Seeded::new("any bytes in string slots are safe");
    let strings = draw(&mut random, 300, 100, 40, false);
    let layouts = Layouts::new(&strings);
    Tier::for_each_available(|_| {
        for _ in 0..20 {
            let slot = |random: &mut Seeded| {
                let key = random.u64(..);
                let offset = if random.bool() { random.u32(..) } else { random.u32(..2000) };
                StringSlot { key, offset, code: random.u32(..) }
            };
            let mut slots: Vec<StringSlot> = (0..256).map(|_| slot(&mut random)).collect();
            // Hashes of real strings, so that compares with the page happen.
            for string in &strings {
                let hash = super::scalar::hash(string);
                slots[(hash >> 56) as usize].key = super::key(hash, string.len());
            }
            layouts.for_each(|layout| {
                let mut page = GuardedBytes::ending_at_guard(&[7; 1500]);
                let mut table = Strings::resume(&mut slots, &mut page, 5, 70).unwrap();
                assert!(table.intern(layout, 0, &mut [0; 300]).unwrap() <= 300);
            });
        }
    });
}

#[test]
fn pages_that_do_not_hold_the_strings_are_refused() {
    let mut slots = [StringSlot::EMPTY; 64];
    let mut page = [0; 100];
    page[0] = 200;
    assert!(Strings::rebuild(&mut slots, &mut page, 1, 40).is_err());
    page[..4].copy_from_slice(&(-1_i32).to_le_bytes());
    assert_eq!(Strings::rebuild(&mut slots, &mut page, 1, 40).err(), Some(KernelError::NegativeLength { position: 0 }));
    assert!(Strings::resume(&mut slots, &mut page, 17, 40).is_err(), "a quarter of 64 slots is 16");
    assert!(Strings::resume(&mut slots, &mut page, 1, 69).is_err(), "32 of 100 bytes stay free");
    assert!(Strings::new(&mut slots[..3], &mut page).is_err());
    // One string over and over is one chain, which ends.
    let mut slots = [StringSlot::EMPTY; 1024];
    let mut page = [0; 1000];
    let refused = Strings::rebuild(&mut slots, &mut page, 200, 800).err();
    assert_eq!(refused, Some(KernelError::LengthMismatch { expected: 200, actual: MAX_CHAIN }));
}

#[test]
fn page_shorter_than_slack_decodes_nothing() {
    let mut slots = [StringSlot::EMPTY; 4];
    for len in 0..SLACK + 4 {
        let mut page = vec![0; len];
        let mut table = Strings::new(&mut slots, &mut page).unwrap();
        let strings = ByteStrings::Offsets32 { data: b"", offsets: &[0, 0] };
        assert_eq!(table.intern(strings, 0, &mut [0]), Ok(0));
    }
}
