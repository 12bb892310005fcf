use lath_testkit::{GuardedBytes, GuardedSlice, Seeded, lengths};
use twox_hash::XxHash64;

use super::{hash_strings, hash_u8s, hash_u16s, hash_u32s, hash_u64s, hash_u128s, reference, xxh64};
use crate::{ByteStrings, KernelError, Tier};

#[test]
fn hashes_match_published_values() {
    assert_eq!(xxh64(b""), 0xEF46_DB37_51D8_E999);
    assert_eq!(xxh64(b"a"), 0xD24E_C4F1_A98C_6E5B);
    assert_eq!(xxh64(b"abc"), 0x44BC_2CF5_AD77_0999);
}

#[test]
fn strings_of_every_length_hash_as_the_specification_says() {
    let mut random = Seeded::new("strings of every length hash");
    for len in lengths() {
        let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
        let expected = reference::xxh64(&bytes);
        assert_eq!(expected, XxHash64::oneshot(0, &bytes), "the oracles agree on {len} bytes");
        assert_eq!(xxh64(&GuardedBytes::ending_at_guard(&bytes)), expected, "{len} bytes");
        assert_eq!(xxh64(&GuardedBytes::starting_at_guard(&bytes)), expected, "{len} bytes");
    }
}

macro_rules! conformance {
    ($test:ident $hash:ident $number:ty) => {
        #[test]
        fn $test() {
            let mut random = Seeded::new(stringify!($test));
            Tier::for_each_available(|tier| {
                for len in lengths().filter(|len| len % 3 == 0 || *len < 40) {
                    let mut bytes = || random.u8(..);
                    let mut values: Vec<$number> =
                        (0..len).map(|_| <$number>::from_le_bytes(std::array::from_fn(|_| bytes()))).collect();
                    if let [first, .., last] = &mut values[..] {
                        (*first, *last) = (<$number>::MAX, 0);
                    }
                    let expected: Vec<u64> =
                        values.iter().map(|value| XxHash64::oneshot(0, &value.to_le_bytes())).collect();
                    let garbage = vec![0xEE; len];
                    for (values, mut hashes) in [
                        (GuardedSlice::ending_at_guard(&values), GuardedSlice::ending_at_guard(&garbage)),
                        (GuardedSlice::starting_at_guard(&values), GuardedSlice::starting_at_guard(&garbage)),
                    ] {
                        $hash(&values, &mut hashes).unwrap();
                        assert_eq!(*hashes, *expected, "{tier} {len} values");
                    }
                }
                let refused = $hash(&[1, 2, 3], &mut [0; 2]);
                assert_eq!(refused, Err(KernelError::LengthMismatch { expected: 3, actual: 2 }), "{tier}");
            });
        }
    };
}
conformance!(values_of_one_byte_hash_as_their_bytes hash_u8s u8);
conformance!(values_of_two_bytes_hash_as_their_bytes hash_u16s u16);
conformance!(values_of_four_bytes_hash_as_their_bytes hash_u32s u32);
conformance!(values_of_eight_bytes_hash_as_their_bytes hash_u64s u64);
conformance!(values_of_sixteen_bytes_hash_as_their_bytes hash_u128s u128);

#[test]
fn strings_hash_from_any_start_index() {
    let data: Vec<u8> = (0..2000).map(|i| (i * 7) as u8).collect();
    let offsets: Vec<i32> = (0..60).map(|i| i * i / 2).collect();
    Tier::for_each_available(|tier| {
        let strings = ByteStrings::Offsets32 { data: &data, offsets: &offsets };
        for first in [0, 1, 20, 59] {
            let mut hashes = vec![0; 59 - first];
            hash_strings(strings, first, &mut hashes).unwrap();
            for (hash, window) in hashes.iter().zip(offsets[first..].windows(2)) {
                assert_eq!(*hash, reference::xxh64(&data[window[0] as usize..window[1] as usize]), "{tier}");
            }
        }
        let refused = hash_strings(strings, 30, &mut [0; 30]);
        assert_eq!(refused, Err(KernelError::InputTooShort { needed: 60, available: 59 }), "{tier}");
        let astray = ByteStrings::Offsets32 { data: &data, offsets: &[0, 3000] };
        assert!(matches!(hash_strings(astray, 0, &mut [0]), Err(KernelError::Malformed { .. })), "{tier}");
    });
}
