//! Kernels through the C interface: results compared with other implementations, invalid arguments, and every prefix of
//! an encoded page, between guard pages.
#![expect(unsafe_code, reason = "calls functions of the C interface")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::ffi::CStr;
use std::hash::Hasher;
use std::ptr::{null, null_mut};

use lath_capi::*;
use lath_testkit::{GuardedBytes, GuardedSlice};
use twox_hash::XxHash64;

const OK: Status = Status::Ok;

fn message() -> String {
    // SAFETY: the text ends with a zero byte and stays valid until the next error of this thread.
    unsafe { CStr::from_ptr(lath_last_error_message()) }.to_str().unwrap().to_owned()
}

/// Some numbers with small and large differences.
fn numbers(count: usize) -> Vec<i64> {
    let mut random = fastrand::Rng::with_seed(41);
    let mut value = 0i64;
    (0..count)
        .map(|index| {
            value = value.wrapping_add(if index % 200 < 150 { random.i64(-20..90) } else { random.i64(..) });
            value
        })
        .collect()
}

fn encoded(values: &[i64]) -> Vec<u8> {
    let mut out = vec![0; lath_delta_max_encoded_len_i64(values.len())];
    let mut len = 0;
    // SAFETY: pointers and lengths come from slices.
    let status =
        unsafe { lath_delta_encode_i64(values.as_ptr(), values.len(), out.as_mut_ptr(), out.len(), &raw mut len) };
    assert_eq!(status, OK, "{}", message());
    out.truncate(len);
    out
}

#[test]
fn delta_pages_round_trip() {
    for count in [0, 1, 2, 127, 128, 129, 1000, 4097] {
        let values = numbers(count);
        let page = GuardedBytes::ending_at_guard(&encoded(&values));
        let mut out = GuardedSlice::<i64>::ending_at_guard(&vec![0; count]);
        let (mut decoded, mut end) = (usize::MAX, usize::MAX);
        // SAFETY: pointers and lengths come from slices.
        let status = unsafe {
            lath_delta_decode_i64(page.as_ptr(), page.len(), out.as_mut_ptr(), count, &raw mut decoded, &raw mut end)
        };
        assert_eq!((status, decoded, end), (OK, count, page.len()), "{}", message());
        assert_eq!(&*out, &values[..]);
    }
}

#[test]
fn int32_pages_round_trip_in_batches() {
    let values: Vec<i32> = numbers(1000).into_iter().map(|value| value as i32).collect();
    let mut page = vec![0; lath_delta_max_encoded_len_i32(values.len())];
    let mut len = 0;
    // SAFETY: pointers and lengths come from slices.
    let status =
        unsafe { lath_delta_encode_i32(values.as_ptr(), values.len(), page.as_mut_ptr(), page.len(), &raw mut len) };
    assert_eq!(status, OK);
    page.truncate(len);
    let mut decoder = null_mut();
    let mut count = 0;
    // SAFETY: pointers and lengths come from slices and variables.
    assert_eq!(unsafe { lath_delta_i32_new(page.as_ptr(), len, &raw mut decoder, &raw mut count) }, OK);
    assert_eq!(count, 1000);
    let mut skipped = 0;
    // SAFETY: the decoder was made of this page.
    assert_eq!(unsafe { lath_delta_i32_skip(decoder, page.as_ptr(), len, 33, &raw mut skipped) }, OK);
    assert_eq!(skipped, 33);
    let mut all = Vec::new();
    loop {
        let mut out = GuardedSlice::<i32>::ending_at_guard(&[0; 77]);
        let mut decoded = 0;
        // SAFETY: the decoder was made of this page; `out` has 77 values.
        let status =
            unsafe { lath_delta_i32_decode(decoder, page.as_ptr(), len, out.as_mut_ptr(), 77, &raw mut decoded) };
        assert_eq!(status, OK);
        if decoded == 0 {
            break;
        }
        all.extend_from_slice(&out[..decoded]);
    }
    // SAFETY: it is not used any more.
    unsafe { lath_delta_i32_free(decoder) };
    assert_eq!(all, values[33..]);
}

/// A page that ends too early is an error, or gives the values that are complete in it; nothing outside of it is read.
#[test]
fn every_prefix_of_a_delta_page_is_an_error_or_the_page() {
    let values = numbers(300);
    let page = encoded(&values);
    let mut errors = 0;
    for len in 0..page.len() {
        let prefix = GuardedBytes::ending_at_guard(&page[..len]);
        let mut out = GuardedSlice::<i64>::ending_at_guard(&[0; 300]);
        let mut decoded = 0;
        // SAFETY: pointers and lengths come from slices.
        let status = unsafe {
            lath_delta_decode_i64(prefix.as_ptr(), len, out.as_mut_ptr(), out.len(), &raw mut decoded, null_mut())
        };
        if status == OK {
            assert_eq!((decoded, &*out), (300, &values[..]), "{len} of {} bytes", page.len());
        } else {
            assert_eq!(status, Status::Corrupt, "{}", message());
            errors += 1;
        }
    }
    assert!(errors > page.len() / 2, "{errors}");
}

#[test]
fn hashes_match_xxh64() {
    let bytes: Vec<u8> = (0..200).map(|byte: u8| byte.wrapping_mul(37)).collect();
    let expected = |bytes: &[u8]| {
        let mut hasher = XxHash64::with_seed(0);
        hasher.write(bytes);
        hasher.finish()
    };
    for width in [0, 1, 2, 3, 4, 8, 12, 16, 33] {
        for skip in [0, 1] {
            let values = &bytes[skip..];
            let count = values.len().checked_div(width).unwrap_or(5);
            let values = GuardedBytes::ending_at_guard(&values[..count * width]);
            let mut hashes = GuardedSlice::<u64>::ending_at_guard(&vec![0; count]);
            // SAFETY: pointers and lengths come from slices.
            let status = unsafe { lath_xxh64_fixed(values.as_ptr(), width, count, hashes.as_mut_ptr()) };
            assert_eq!(status, OK, "{}", message());
            for (index, hash) in hashes.iter().enumerate() {
                assert_eq!(*hash, expected(&values[index * width..][..width]), "width {width}, value {index}");
            }
        }
    }
    let mut hash = 0;
    // SAFETY: pointers and lengths come from slices.
    assert_eq!(unsafe { lath_xxh64(bytes.as_ptr(), bytes.len(), &raw mut hash) }, OK);
    assert_eq!(hash, expected(&bytes));

    let offsets = [0, 0, 7, 50, 200];
    let mut hashes = [0; 4];
    let hash = |offsets: &[i32; 5], hashes: &mut [u64; 4]| {
        // SAFETY: pointers and lengths come from slices, and there are as many hashes as strings.
        unsafe { lath_xxh64_strings(bytes.as_ptr(), bytes.len(), offsets.as_ptr(), 4, hashes.as_mut_ptr()) }
    };
    assert_eq!(hash(&offsets, &mut hashes), OK);
    assert_eq!(hashes, [0, 1, 2, 3].map(|i| expected(&bytes[offsets[i] as usize..offsets[i + 1] as usize])));
    for wrong in [[0, 0, 7, 50, 201], [0, 9, 7, 50, 200], [-1, 0, 7, 50, 200], [0, 0, 0, 0, i32::MIN]] {
        assert_eq!(hash(&wrong, &mut hashes), Status::Corrupt, "{wrong:?}");
    }
}

#[test]
fn all_filter_functions_agree() {
    let hashes: Vec<u64> = (0..1000u64).map(|value| value.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let mut filter = GuardedBytes::ending_at_guard(&[0; 32 * 32]);
    let len = filter.len();
    // SAFETY: pointers and lengths come from slices.
    assert_eq!(unsafe { lath_bloom_insert(filter.as_mut_ptr(), len, hashes.as_ptr(), 200) }, OK);
    let mut many = GuardedSlice::<u64>::ending_at_guard(&[u64::MAX; 16]);
    // SAFETY: pointers and lengths come from slices.
    let status =
        unsafe { lath_bloom_check_many(filter.as_ptr(), len, hashes.as_ptr(), 1000, many.as_mut_ptr(), many.len()) };
    assert_eq!(status, OK);
    let filters = vec![Bytes { data: filter.as_ptr(), len }; 700];
    for (index, &hash) in hashes.iter().enumerate() {
        let mut found = false;
        // SAFETY: pointers and lengths come from slices.
        assert_eq!(unsafe { lath_bloom_check(filter.as_ptr(), len, hash, &raw mut found) }, OK);
        assert_eq!(found, many[index / 64] >> (index % 64) & 1 == 1, "hash {index}");
        assert!(found || index >= 200);
        let mut words = [0; 11];
        // SAFETY: pointers and lengths come from slices.
        let status = unsafe { lath_bloom_check_filters(filters.as_ptr(), 700, hash, words.as_mut_ptr(), 11) };
        assert_eq!(status, OK);
        assert_eq!(words.iter().map(|word| word.count_ones()).sum::<u32>(), if found { 700 } else { 0 });
        let block = lath_bloom_block_index(hash, 32);
        let mut in_block = false;
        // SAFETY: the block is within the filter.
        assert_eq!(unsafe { lath_bloom_check(filter[32 * block..].as_ptr(), 32, hash, &raw mut in_block) }, OK);
        assert_eq!(in_block, found);
    }
    assert_eq!(many[15] >> 40, 0, "bits behind the last answer");
    let hit = many.iter().map(|word| word.count_ones()).sum::<u32>();
    assert!((200..400).contains(&hit), "{hit}");
}

#[test]
fn arguments_that_are_not_allowed_are_errors() {
    let filter = [0u8; 64];
    let mut found = true;
    let check = |bitset: *const u8, len, found: *mut bool| {
        // SAFETY: pointers are null, or lead to as many bytes.
        unsafe { lath_bloom_check(bitset, len, 1, found) }
    };
    assert_eq!(check(null(), 32, &raw mut found), Status::Invalid);
    assert_eq!(message(), "bitset is a null pointer: only where its length is zero may it be one");
    assert_eq!(check(null(), 0, &raw mut found), Status::Invalid);
    assert_eq!(check(filter.as_ptr(), 63, &raw mut found), Status::Invalid);
    assert_eq!(check(filter.as_ptr(), 64, null_mut()), Status::Invalid);
    assert_eq!(message(), "found is a null pointer: only where its length is zero may it be one");
    assert!(found, "nothing was written");

    let mut words = [0u64; 3];
    let hashes = [0u64; 64];
    // SAFETY: the lengths are wrong in a way that is checked: there is more room than asked for.
    let wrong = unsafe { lath_bloom_check_many(filter.as_ptr(), 64, hashes.as_ptr(), 64, words.as_mut_ptr(), 2) };
    assert_eq!(wrong, Status::Invalid);
    let astray = words.as_mut_ptr().cast::<u8>().wrapping_add(4).cast::<u64>();
    // SAFETY: a misaligned pointer is refused.
    let wrong = unsafe { lath_bloom_check_many(filter.as_ptr(), 64, hashes.as_ptr(), 64, astray, 1) };
    assert_eq!(wrong, Status::Invalid);
    assert!(message().contains("no multiple of 8"), "{}", message());
    // SAFETY: a length that no memory has is refused.
    let wrong = unsafe { lath_bloom_check_many(filter.as_ptr(), 64, hashes.as_ptr(), usize::MAX, astray, 1) };
    assert_eq!(wrong, Status::Invalid);
    assert!(message().contains("more than a memory has"), "{}", message());
    // SAFETY: a product that overflows is refused.
    assert_eq!(unsafe { lath_xxh64_fixed(filter.as_ptr(), usize::MAX, 2, words.as_mut_ptr()) }, Status::Invalid);
    // SAFETY: nothing is read or written.
    assert_eq!(unsafe { lath_bloom_insert(filter.as_ptr().cast_mut(), 64, null(), 0) }, OK);
    // SAFETY: null is allowed.
    unsafe { lath_delta_i64_free(null_mut()) };
    // SAFETY: null is refused.
    assert_eq!(unsafe { lath_delta_i64_new(filter.as_ptr(), 64, null_mut(), null_mut()) }, Status::Corrupt);
    let mut decoded = 0;
    // SAFETY: null is refused.
    let wrong = unsafe { lath_rle_decode_u32(null_mut(), filter.as_ptr(), 64, null_mut(), 0, &raw mut decoded) };
    assert_eq!(wrong, Status::Invalid);
}

#[test]
fn runs_and_packed_bits_are_decoded() {
    // A run of five sevens, then eight values of three bits.
    let runs = GuardedBytes::ending_at_guard(&[5 << 1, 7, 1 << 1 | 1, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    let mut decoder = null_mut();
    // SAFETY: there is room for a pointer.
    assert_eq!(unsafe { lath_rle_new(3, &raw mut decoder) }, OK);
    let mut skipped = 0;
    // SAFETY: the decoder is new, and lengths come from slices.
    assert_eq!(unsafe { lath_rle_skip(decoder, runs.as_ptr(), runs.len(), 2, &raw mut skipped) }, OK);
    let mut out = [9; 20];
    let mut decoded = 0;
    // SAFETY: as above.
    let status =
        unsafe { lath_rle_decode_u8(decoder, runs.as_ptr(), runs.len(), out.as_mut_ptr(), 20, &raw mut decoded) };
    assert_eq!((status, skipped, decoded), (OK, 2, 11), "{}", message());
    assert_eq!(out[..11], [7, 7, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
    // SAFETY: it is not used any more.
    unsafe { lath_rle_free(decoder) };
    // SAFETY: there is room for a pointer.
    assert_eq!(unsafe { lath_rle_new(33, &raw mut decoder) }, Status::Invalid);

    let mut out = GuardedSlice::<u32>::ending_at_guard(&[0; 8]);
    let packed = &runs[3..];
    // SAFETY: pointers and lengths come from slices.
    assert_eq!(unsafe { lath_bitunpack_u32(packed.as_ptr(), 3, 3, out.as_mut_ptr(), 8) }, OK);
    assert_eq!(*out, [0, 1, 2, 3, 4, 5, 6, 7]);
    // SAFETY: as above; two bytes are too few, which is checked.
    assert_eq!(unsafe { lath_bitunpack_u32(packed.as_ptr(), 2, 3, out.as_mut_ptr(), 8) }, Status::Corrupt);
    // SAFETY: as above; the width is checked.
    assert_eq!(unsafe { lath_bitunpack_u32(packed.as_ptr(), 3, 33, out.as_mut_ptr(), 0) }, Status::Invalid);
}

#[test]
fn streams_of_bytes_are_split_and_joined() {
    let values: Vec<u8> = (0..7 * 8).collect();
    let mut page = GuardedBytes::ending_at_guard(&[0; 56]);
    // SAFETY: pointers and lengths come from slices.
    let status = unsafe { lath_byte_stream_split_encode(values.as_ptr(), 56, 7, 8, 0, page.as_mut_ptr(), page.len()) };
    assert_eq!(status, OK);
    assert_eq!(page[..7], [0, 8, 16, 24, 32, 40, 48]);
    let mut back = GuardedBytes::ending_at_guard(&[0; 40]);
    // SAFETY: pointers and lengths come from slices.
    let status = unsafe { lath_byte_stream_split_decode(page.as_ptr(), 56, 7, 8, 2, back.as_mut_ptr(), 40) };
    assert_eq!(status, OK);
    assert_eq!(*back, values[16..]);
    // SAFETY: as above; the page is too short, which is checked.
    let status = unsafe { lath_byte_stream_split_decode(page.as_ptr(), 55, 7, 8, 2, back.as_mut_ptr(), 40) };
    assert_eq!(status, Status::Corrupt);
}

#[test]
fn bytes_are_counted_and_found() {
    let bytes = GuardedBytes::ending_at_guard(&[1, 3, 3, 3, 200]);
    let mut answer = 0;
    // SAFETY: pointers and lengths come from slices.
    assert_eq!(unsafe { lath_count_byte(bytes.as_ptr(), 5, 3, &raw mut answer) }, OK);
    assert_eq!(answer, 3);
    // SAFETY: pointers and lengths come from slices.
    assert_eq!(unsafe { lath_lower_bound_u8(bytes.as_ptr(), 5, 4, &raw mut answer) }, OK);
    assert_eq!(answer, 4);
    // SAFETY: there are no bytes to read.
    assert_eq!(unsafe { lath_count_byte(null(), 0, 3, &raw mut answer) }, OK);
    assert_eq!(answer, 0);
}
