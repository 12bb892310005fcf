use lath_testkit::{GuardedBytes, Seeded, lengths};

use super::{SLACK_LEN, decompress, decompressed_len, reference};
use crate::KernelError;

/// Decompresses between guard pages, into a slice of exactly the data's length and into one with room to spare.
fn check(src: &[u8]) {
    check_with_slack(src, [0, 1, SLACK_LEN, 400]);
}

/// Decompresses between guard pages with `slack` bytes to spare.
fn check_with_slack(src: &[u8], slacks: impl IntoIterator<Item = usize>) {
    let expected = reference::decompress(src);
    let stated = decompressed_len(src).unwrap_or(0).min(1 << 20);
    let src = GuardedBytes::ending_at_guard(src);
    for slack in slacks {
        let mut dst = GuardedBytes::ending_at_guard(&vec![0xa5; stated + slack]);
        match (decompress(&src, &mut dst), &expected) {
            (Ok(len), Some(expected)) => assert_eq!(&dst[..len], expected),
            (Err(_), None) => {}
            (actual, expected) => {
                unreachable!("{actual:?} where {:?} bytes are right, slack {slack}", expected.as_ref().map(Vec::len))
            }
        }
    }
}

fn with_length(len: usize, elements: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut left = len;
    while left >= 128 {
        stream.push((left % 128) as u8 | 128);
        left /= 128;
    }
    stream.push(left as u8);
    stream.extend(elements);
    stream
}

/// A literal, with its length in the tag or after it.
fn literal(bytes: &[u8], length_len: usize) -> Vec<u8> {
    let mut element = match length_len {
        0 => vec![(bytes.len() as u8 - 1) << 2],
        _ => vec![(59 + length_len as u8) << 2],
    };
    element.extend(&(bytes.len() as u32 - 1).to_le_bytes()[..length_len]);
    element.extend(bytes);
    element
}

/// A copy, with its offset in `offset_len` bytes.
fn copy(len: usize, offset: usize, offset_len: usize) -> Vec<u8> {
    if offset_len == 1 {
        return vec![((offset >> 8) << 5 | (len - 4) << 2 | 1) as u8, offset as u8];
    }
    let mut element = vec![((len - 1) << 2 | if offset_len == 2 { 2 } else { 3 }) as u8];
    element.extend(&(offset as u32).to_le_bytes()[..offset_len]);
    element
}

#[test]
fn copies_of_every_length_from_every_near_offset_repeat_what_was_written() {
    let start: Vec<u8> = (0..100_u8).map(|byte| byte.wrapping_mul(7)).collect();
    let end: Vec<u8> = (0..90).collect();
    for len in 1..=64 {
        for offset in 1..=100 {
            for offset_len in [1, 2, 4] {
                if offset_len == 1 && !(4..12).contains(&len) {
                    continue;
                }
                // The following elements leave the fast loop its margins.
                let elements = [literal(&start, 1), copy(len, offset, offset_len), literal(&end, 1)].concat();
                check(&with_length(100 + len + 90, &elements));
            }
        }
    }
}

#[test]
fn the_longest_elements_stay_within_slices_of_any_length() {
    let start: Vec<u8> = (0..100_u8).map(|byte| byte.wrapping_mul(7)).collect();
    for offset in [1, 3, 5, 7, 8, 12, 16, 60] {
        for offset_len in [2, 4] {
            let step = [literal(&start[..60], 0), copy(64, offset, offset_len)].concat();
            for count in 0..4 {
                let elements = [literal(&start, 1), step.repeat(count)].concat();
                let len = 100 + count * 124;
                check_with_slack(&with_length(len, &elements), 0..=SLACK_LEN);
                let more = [&elements[..], &copy(1, 1, 2).repeat(60)].concat();
                // If more output is announced, only the input's end is near.
                for end in elements.len()..more.len() {
                    check_with_slack(&with_length(2000, &more[..end]), [0]);
                }
                // If more elements follow, only the output's end is near.
                for stated in 100..=len + 60 {
                    check_with_slack(&with_length(stated, &more), [0, SLACK_LEN]);
                }
            }
        }
    }
}

/// Records of one length, with elements before, among and after them that are almost records.
#[test]
fn records_of_equal_length_round_trip() {
    let mut random = Seeded::new("records_of_equal_length_round_trip");
    let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(200).collect();
    for literal_len in 1..=61 {
        for copy_len in 1..=17 {
            let mut elements = literal(&bytes[..100], 1);
            let mut len = 100;
            for _ in 0..3 {
                let offset_len = if (4..12).contains(&copy_len) { random.usize(1..=2) } else { 2 };
                for _ in 0..random.usize(1..20) {
                    let from = random.usize(..100);
                    let length_len = usize::from(literal_len > 60);
                    elements.extend(literal(&bytes[from..from + literal_len], length_len));
                    elements.extend(copy(copy_len, literal_len + copy_len, offset_len));
                    len += literal_len + copy_len;
                }
                let (odd, offset) = (random.usize(4..12), random.usize(1..100));
                elements.extend(copy(odd, offset, random.usize(1..=2)));
                len += odd;
            }
            let stream = with_length(len, &elements);
            check(&stream);
            check(&stream[..random.usize(..stream.len())]);
            let mut changed = stream;
            let position = random.usize(..changed.len());
            changed[position] = random.u8(..);
            check(&changed);
        }
    }
}

/// A record's copy may reach back to just the output's start, and no further.
#[test]
fn first_record_copies_only_preceding_bytes() {
    for literal_len in [8, 20, 33, 60] {
        for start_len in 8..=20 {
            for copy_len in 4..=16 {
                let start: Vec<u8> = (0..start_len).collect();
                let record = [literal(&[7; 60][..literal_len], 0), copy(copy_len, literal_len + copy_len, 2)].concat();
                let elements = [literal(&start, 0), record.repeat(12)].concat();
                check(&with_length(start.len() + 12 * (literal_len + copy_len), &elements));
            }
        }
    }
}

#[test]
fn copies_from_far_back_and_literals_with_long_lengths_are_read() {
    let mut random = Seeded::new("copies_from_far_back_and_literals_with_long_lengths_are_read");
    let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(70_000).collect();
    for length_len in 3..=4 {
        for offset in [1, 2047, 2048, 65_535, 65_536, 70_000] {
            let copies = [copy(33, offset, 4), copy(9, offset % 2048, 1), copy(64, offset % 65_536, 2)].concat();
            let elements = [literal(&bytes, length_len), copies, literal(&[1; 60], 0)].concat();
            check(&with_length(70_000 + 33 + 9 + 64 + 60, &elements));
        }
    }
}

#[test]
fn copies_from_before_the_start_are_refused() {
    for (len, offset) in [(4, 0), (4, 101), (64, 2000), (64, 65_535)] {
        let elements = [literal(&[1; 100], 1), copy(len, offset, 2), literal(&[2; 90], 1)].concat();
        let stream = with_length(190 + len, &elements);
        let mut dst = vec![0; 1000];
        assert_eq!(decompress(&stream, &mut dst), Err(KernelError::Malformed { what: "Snappy copy offset" }));
        check(&stream);
    }
}

#[test]
fn lengths_that_do_not_agree_are_refused() {
    let elements = literal(&[1; 100], 1);
    assert_eq!(
        decompress(&with_length(101, &elements), &mut [0; 300]),
        Err(KernelError::LengthMismatch { expected: 101, actual: 100 })
    );
    assert!(decompress(&with_length(99, &elements), &mut [0; 300]).is_err());
    assert_eq!(
        decompress(&with_length(100, &elements), &mut [0; 99]),
        Err(KernelError::LengthMismatch { expected: 100, actual: 99 })
    );
    for stream in [&[][..], &[0x80], &[0xff; 5], &[0xff, 0xff, 0xff, 0xff, 0x1f], &[0x80; 9]] {
        assert_eq!(decompressed_len(stream), Err(KernelError::Malformed { what: "Snappy length" }));
    }
    assert_eq!(decompressed_len(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX as usize));
}

/// Bytes that compress like pages: runs, repeats from near and far, and noise.
fn compressible(random: &mut Seeded, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 100);
    while bytes.len() < len {
        let count = random.usize(1..100);
        match random.u8(0..4) {
            0 => bytes.extend(std::iter::repeat_with(|| random.u8(..)).take(count)),
            1 => bytes.extend(std::iter::repeat_n(random.u8(..), count)),
            _ if bytes.is_empty() => {}
            kind => {
                let offset = random.usize(1..=bytes.len()).min(if kind == 2 { 40 } else { usize::MAX });
                (0..count).for_each(|_| bytes.push(bytes[bytes.len() - offset]));
            }
        }
    }
    bytes.truncate(len);
    bytes
}

#[test]
fn output_of_snap_crate_decompresses() {
    let mut random = Seeded::new("output_of_snap_crate_decompresses");
    for len in lengths().chain([5_000, 65_535, 65_536, 65_537, 200_000]) {
        let bytes = compressible(&mut random, len);
        let stream = snap::raw::Encoder::new().compress_vec(&bytes).expect("bytes that can be compressed");
        assert_eq!(reference::decompress(&stream).as_ref(), Some(&bytes));
        check(&stream);
    }
}

#[test]
fn corrupt_streams_are_accepted_or_refused_as_by_the_reference() {
    let mut random = Seeded::new("corrupt_streams_are_accepted_or_refused_as_by_the_reference");
    for _ in 0..100 {
        let len = random.usize(1..1500);
        let bytes = compressible(&mut random, len);
        let stream = snap::raw::Encoder::new().compress_vec(&bytes).expect("bytes that can be compressed");
        for _ in 0..20 {
            let mut changed = stream.clone();
            for _ in 0..random.usize(1..3) {
                let position = random.usize(..changed.len());
                changed[position] = random.u8(..);
            }
            check(&changed);
            check(&stream[..random.usize(..stream.len())]);
        }
    }
}

#[test]
fn random_bytes_are_accepted_or_refused_as_by_the_reference() {
    let mut random = Seeded::new("random_bytes_are_accepted_or_refused_as_by_the_reference");
    for _ in 0..2000 {
        let len = random.usize(..300);
        let elements: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
        check(&with_length(random.usize(..3000), &elements));
    }
}
