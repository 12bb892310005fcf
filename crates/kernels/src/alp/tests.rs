use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded, lengths};

use super::reference::{self, Spec, Vector};
use super::{Candidates, Float, decode, encode, max_encoded_len, value_count};
use crate::{KernelError, Tier};

/// Values that no integer represents: each has to come back bit by bit.
pub(super) fn awkward<T: Spec>() -> Vec<T> {
    let (sign, quiet, infinity) = if T::SIZE == 4 {
        (1 << 31, 1 << 22, u64::from(f32::INFINITY.to_bits()))
    } else {
        (1 << 63, 1 << 51, f64::INFINITY.to_bits())
    };
    let positive = [
        infinity | quiet,
        infinity | quiet | 0x1234,
        infinity | 1,
        infinity | (quiet - 1),
        infinity,
        infinity - 1,
        0,
        1,
        0xffff,
    ];
    positive.into_iter().flat_map(|bits| [T::from_raw_bits(bits), T::from_raw_bits(bits | sign)]).collect()
}

pub(super) fn assert_same_bits<T: Spec>(got: &[T], expected: &[T], context: &str) {
    assert_eq!(got.len(), expected.len(), "{context}");
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!(got.bits() == expected.bits(), "{context}: value {index} is {got:?}, not {expected:?}");
    }
}

/// A vector of random integers of the width, with exceptions at both ends and in between.
fn random_vector<T: Spec>(random: &mut Seeded, width: u32, len: usize) -> Vector<T> {
    let exponent = random.u8(..=T::MAX_EXPONENT);
    let ones = u64::MAX.checked_shr(64 - width).unwrap_or(0);
    let packed = match random.u8(..4) {
        0 => vec![ones; len],
        _ => (0..len).map(|_| random.u64(..) & ones).collect(),
    };
    // Frames of reference at the bounds of conversions, and random ones.
    let base = match random.u8(..6) {
        0 => 0,
        1 => (-1_i64 << 51).cast_unsigned().wrapping_add(random.u64(..3)).wrapping_sub(1),
        2 => (1_u64 << 51).wrapping_sub(ones).wrapping_add(random.u64(..4)).wrapping_sub(2),
        3 => i64::MAX.cast_unsigned() - random.u64(..3),
        4 => random.u64(..),
        _ => random.i64(-1_000_000..1_000_000).cast_unsigned(),
    };
    let base = if T::SIZE == 4 { u64::from(base as u32) } else { base };
    let unusual = awkward::<T>();
    let mut exceptions = Vec::new();
    if len > 0 && random.bool() {
        let mut positions = vec![0, len - 1];
        positions.extend(std::iter::repeat_with(|| random.usize(..len)).take(len % 5));
        exceptions = positions.into_iter().map(|at| (at as u16, unusual[random.usize(..unusual.len())])).collect();
        exceptions.truncate(len);
    }
    Vector { exponent, factor: random.u8(..=exponent), base, width, packed, exceptions }
}

fn check_decoding<T: Float + Spec + Plain>(tier: Tier) {
    let mut random = Seeded::new("every_tier_decodes_every_width_and_length");
    for width in 0..=8 * T::SIZE as u32 {
        for len in lengths().filter(|&len| len < 70 || len % 8 < 2 && len < 300) {
            let log_vector_len = random.u8(3..=7);
            let vector_len = 1 << log_vector_len;
            let count = len.div_ceil(vector_len);
            let lens = (0..count).map(|index| (len - index * vector_len).min(vector_len));
            let vectors: Vec<Vector<T>> = lens.map(|len| random_vector(&mut random, width, len)).collect();
            let mut page = reference::page(&vectors, log_vector_len);
            let expected: Vec<T> = vectors.iter().flat_map(Vector::values).collect();
            assert_same_bits(&reference::decode::<T>(&page), &expected, "the reference itself");
            let context = format!("{tier} width {width}, {len} values in vectors of {vector_len}");
            assert_eq!(value_count(&page), Ok(len));

            let src = GuardedBytes::ending_at_guard(&page);
            let mut out = GuardedSlice::ending_at_guard(&vec![T::from_raw_bits(0xa5a5); len]);
            assert_eq!(decode(&src, 0, &mut out[..]), Ok(()), "{context}");
            assert_same_bits(&out, &expected, &context);

            page.extend([0xff; 70]);
            let first = random.usize(..=len);
            let end = random.usize(first..=len);
            let mut out = GuardedSlice::starting_at_guard(&vec![T::from_raw_bits(0xa5a5); end - first]);
            assert_eq!(decode(&page, first, &mut out[..]), Ok(()), "{context}");
            assert_same_bits(&out, &expected[first..end], &format!("{context}, from {first} on"));
        }
    }
}

#[test]
fn every_tier_decodes_every_width_and_length() {
    Tier::for_each_available(|tier| {
        check_decoding::<f32>(tier);
        check_decoding::<f64>(tier);
    });
}

#[test]
fn vectors_of_every_size_decode() {
    let mut random = Seeded::new("vectors_of_every_size_decode");
    Tier::for_each_available(|tier| {
        for log_vector_len in 3..=15 {
            let vector_len = 1 << log_vector_len;
            let vectors: Vec<Vector<f64>> =
                [vector_len, vector_len, vector_len / 2 + 1].map(|len| random_vector(&mut random, 11, len)).into();
            let page = reference::page(&vectors, log_vector_len);
            let expected: Vec<f64> = vectors.iter().flat_map(Vector::values).collect();
            let mut out = vec![0.0; expected.len()];
            assert_eq!(decode(&page, 0, &mut out), Ok(()));
            assert_same_bits(&out, &expected, &format!("{tier} vectors of {vector_len}"));
        }
    });
}

/// The example at the end of the specification, byte by byte.
#[test]
fn the_specifications_example_decodes() {
    let nan = f64::from_bits(0x7ff8_0000_0000_0007);
    let mut page = vec![0, 0, 10, 4, 0, 0, 0, 4, 0, 0, 0];
    page.extend([4, 3, 1, 0]);
    page.extend(3335_i64.to_le_bytes());
    page.push(15);
    let packed = 11665 | 11665 << 15 | 21665 << 30_u64;
    page.extend(u64::to_le_bytes(packed));
    page.extend([1, 0]);
    page.extend(nan.to_le_bytes());
    assert_eq!(page.len(), 7 + 4 + 31);
    Tier::for_each_available(|tier| {
        let mut out = [0.0; 4];
        assert_eq!(decode(&page, 0, &mut out), Ok(()));
        assert_same_bits(&out, &[1500.0, nan, 2500.0, 333.5], tier.name());
    });
}

#[test]
fn an_empty_page_has_no_values() {
    let page = [0, 0, 10, 0, 0, 0, 0];
    assert_eq!(value_count(&page), Ok(0));
    assert_eq!(decode::<f64>(&page, 0, &mut []), Ok(()));
    assert!(decode(&page, 0, &mut [0.0]).is_err());
    assert!(decode::<f64>(&page, 1, &mut []).is_err());
    assert!(decode::<f64>(&page, usize::MAX, &mut [0.0]).is_err());
}

fn small_page<T: Spec>() -> Vec<u8> {
    let mut random = Seeded::with_seed("small page", 5);
    let mut vectors: Vec<Vector<T>> = [8, 8, 3].map(|len| random_vector(&mut random, 13, len)).into();
    for vector in &mut vectors {
        vector.exceptions = vec![(1, T::from_raw_bits(7)), (2, T::from_raw_bits(8))];
    }
    reference::page(&vectors, 3)
}

fn check_truncation<T: Float + Spec>() {
    let page = small_page::<T>();
    let mut out = [T::from_raw_bits(0); 19];
    assert_eq!(decode(&page, 0, &mut out), Ok(()));
    for len in 0..page.len() {
        let short = GuardedBytes::ending_at_guard(&page[..len]);
        assert!(matches!(decode(&short, 0, &mut out), Err(KernelError::InputTooShort { .. })), "{len} bytes");
    }
}

#[test]
fn every_truncated_page_is_an_error() {
    Tier::for_each_available(|_| {
        check_truncation::<f32>();
        check_truncation::<f64>();
    });
}

/// Writes `bytes` at `at` and expects the error.
fn assert_refused(at: usize, bytes: &[u8], expected: KernelError) {
    let mut page = small_page::<f64>();
    page[at..at + bytes.len()].copy_from_slice(bytes);
    assert_eq!(decode(&page, 0, &mut [0.0_f64; 19]), Err(expected), "{bytes:?} at {at}");
}

#[test]
fn each_rule_of_the_format_is_checked() {
    let malformed = |what| KernelError::Malformed { what };
    let (first, second) = (7 + 12, small_page::<f64>()[11] + 7);
    assert_refused(0, &[1], malformed("ALP compression mode"));
    assert_refused(1, &[1], malformed("ALP integer encoding"));
    assert_refused(2, &[2], malformed("ALP vector size"));
    assert_refused(2, &[16], malformed("ALP vector size"));
    assert_refused(2, &[255], malformed("ALP vector size"));
    assert_refused(3, &(-1_i32).to_le_bytes(), malformed("ALP number of values"));
    assert_refused(7, &[13], malformed("ALP vector offset"));
    assert_refused(7, &[0], malformed("ALP vector offset"));
    assert_refused(11, &[second - 6], malformed("ALP vector offset"));
    assert_refused(first, &[19], malformed("ALP exponent or factor"));
    assert_refused(first, &[3, 4], malformed("ALP exponent or factor"));
    assert_refused(first + 2, &[9], malformed("ALP number of exceptions"));
    assert_refused(first + 12, &[65], KernelError::WidthOutOfRange { width: 65, max: 64 });
    assert_refused(first + 13 + 13, &[8], malformed("ALP exception position"));
    assert_refused(first + 12, &[12], malformed("ALP vector offset"));
}

/// A header that announces very many values takes no memory, and no time, before its missing offsets are noticed.
#[test]
fn page_with_excessive_count_is_an_error() {
    for log_vector_len in [3, 10, 15] {
        let mut page = vec![0, 0, log_vector_len];
        page.extend(i32::MAX.to_le_bytes());
        page.extend([0; 100]);
        assert!(matches!(value_count(&page), Err(KernelError::InputTooShort { .. })));
    }
}

#[test]
fn damaged_pages_decode_as_in_the_scalar_tier_or_fail() {
    let mut random = Seeded::new("damaged_pages_decode_as_in_the_scalar_tier_or_fail");
    let mut values: Vec<f64> = (0..300).map(|_| f64::from(random.i32(-99_999..99_999)) / 100.0).collect();
    values.splice(40..40, awkward());
    let mut pages = vec![small_page::<f64>()];
    let mut page = vec![0; max_encoded_len::<f64>(values.len())];
    let len = encode(&values, &Candidates::find(&values), &mut page).unwrap();
    page.truncate(len);
    pages.push(page);
    let damaged: Vec<Vec<u8>> = (0..4_000)
        .map(|index| {
            let mut page = pages[index % 2].clone();
            for _ in 0..random.usize(1..4) {
                let at = if random.bool() { random.usize(..page.len()) } else { random.usize(..32) };
                page[at] = if random.bool() { random.u8(..) } else { page[at] ^ 1 << random.u8(..8) };
            }
            page
        })
        .collect();
    let outcome = |page: &[u8]| {
        let src = GuardedBytes::ending_at_guard(page);
        let count = value_count(&src)?.min(10_000);
        let mut out = vec![0.0_f64; count];
        decode(&src, 0, &mut out)?;
        Ok::<_, KernelError>(out.into_iter().map(f64::to_bits).collect::<Vec<_>>())
    };
    let mut expected = None;
    Tier::for_each_available(|tier| {
        let outcomes: Vec<_> = damaged.iter().map(|page| outcome(page)).collect();
        assert!(outcomes.iter().any(Result::is_ok) && outcomes.iter().any(Result::is_err));
        let expected = expected.get_or_insert_with(|| outcomes.clone());
        assert!(*expected == outcomes, "{tier}");
    });
}
