use lath_testkit::{GuardedBytes, GuardedSlice, Seeded};

use super::{concat, encode_plain, lengths};
use crate::byte_strings::layouts::Layouts;
use crate::{ByteStrings, KernelError, Tier};

fn plain(strings: &[Vec<u8>]) -> Vec<u8> {
    strings.iter().flat_map(|string| [&(string.len() as u32).to_le_bytes()[..], string].concat()).collect()
}

fn check(strings: &[Vec<u8>], tier: Tier) {
    let expected: Vec<i32> = strings.iter().map(|string| string.len() as i32).collect();
    let (joined, plain) = (strings.concat(), plain(strings));
    Layouts::new(strings).for_each(|layout| {
        let mut out = GuardedSlice::ending_at_guard(&vec![-1; strings.len()]);
        assert_eq!(lengths(layout, &mut out), Ok(joined.len()), "{tier} {layout:?}");
        assert_eq!(*out, *expected, "{tier} {layout:?}");
        for behind in [0, 1, 70] {
            let mut out = GuardedBytes::ending_at_guard(&vec![0x5A; joined.len() + behind]);
            assert_eq!(concat(layout, &mut out), Ok(joined.len()), "{tier} {layout:?}");
            assert_eq!(out[..joined.len()], joined, "{tier} {layout:?}");
            let mut out = GuardedBytes::ending_at_guard(&vec![0x5A; plain.len() + behind]);
            assert_eq!(encode_plain(layout, &mut out), Ok(plain.len()), "{tier} {layout:?}");
            assert_eq!(out[..plain.len()], plain, "{tier} {layout:?}");
        }
        let short =
            |result, room: usize| matches!(result, Err(KernelError::LengthMismatch { actual, .. }) if actual == room);
        for (room, missing) in [(joined.len(), 1), (joined.len(), joined.len())] {
            let room = room - missing.min(room);
            let mut out = GuardedBytes::ending_at_guard(&vec![0; room]);
            assert!(joined.is_empty() || short(concat(layout, &mut out), room), "{tier} {layout:?}");
        }
        for missing in [1, 3, 4, 5, plain.len()] {
            let room = plain.len().saturating_sub(missing);
            let mut out = GuardedBytes::ending_at_guard(&vec![0; room]);
            assert!(plain.is_empty() || short(encode_plain(layout, &mut out), room), "{tier} {layout:?}");
        }
    });
}

#[test]
fn strings_come_out_as_lengths_and_as_bytes_and_plain() {
    let mut random = Seeded::new("strings come out as lengths and as bytes and plain");
    Tier::for_each_available(|tier| {
        for limit in [0, 1, 3, 12, 13, 31, 32, 33, 63, 64, 65, 130, 400] {
            for count in [0, 1, 2, 3, 9, 40] {
                for fixed in [false, true] {
                    let strings: Vec<Vec<u8>> = (0..count)
                        .map(|_| {
                            let len = if fixed { limit } else { random.usize(..=limit) };
                            (0..len).map(|_| random.u8(..)).collect()
                        })
                        .collect();
                    check(&strings, tier);
                }
            }
        }
    });
}

#[test]
fn strings_outside_their_bytes_are_refused() {
    let data = [b'x'; 100];
    let long =
        |buffer: u32, offset: u32, len: u32| u128::from(len) | (u128::from(buffer) << 64) | (u128::from(offset) << 96);
    let malformed = |result| matches!(result, Err(KernelError::Malformed { .. }));
    Tier::for_each_available(|tier| {
        let narrow: [[i32; 3]; 7] = [
            [0, 5, 101],
            [0, 5, 4],
            [0, 5, -1],
            [-1, 5, 6],
            [0, i32::MIN, 7],
            [0, -1, i32::MAX],
            [i32::MIN, i32::MIN, 1],
        ];
        for offsets in narrow {
            let wide = offsets.map(|offset| match offset {
                i32::MIN => i64::MIN,
                i32::MAX => i64::MAX,
                offset => offset.into(),
            });
            for strings in [
                ByteStrings::Offsets32 { data: &data, offsets: &offsets },
                ByteStrings::Offsets64 { data: &data, offsets: &wide },
            ] {
                assert!(malformed(lengths(strings, &mut [0; 2])), "{tier} {strings:?}");
                assert!(malformed(concat(strings, &mut [0; 300])), "{tier} {strings:?}");
                assert!(malformed(encode_plain(strings, &mut [0; 300])), "{tier} {strings:?}");
            }
        }
        for view in [long(0, 88, 13), long(1, 0, 13), long(0, u32::MAX, 13)] {
            let strings = ByteStrings::Views { views: &[3, view], buffers: &[&data] };
            assert!(malformed(concat(strings, &mut [0; 300])), "{tier} {strings:?}");
            assert!(malformed(encode_plain(strings, &mut [0; 300])), "{tier} {strings:?}");
        }
        let strings = ByteStrings::Views { views: &[3, long(0, 0, 1 << 31)], buffers: &[&data] };
        assert_eq!(lengths(strings, &mut [0; 2]), Err(KernelError::OffsetOverflow { position: 1 }), "{tier}");
    });
}

#[test]
fn number_of_lengths_must_match_number_of_strings() {
    let strings = ByteStrings::Offsets32 { data: b"ab", offsets: &[0, 1, 2] };
    let refused = lengths(strings, &mut [0; 3]);
    assert_eq!(refused, Err(KernelError::LengthMismatch { expected: 2, actual: 3 }));
}
