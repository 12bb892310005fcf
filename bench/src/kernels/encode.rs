//! Encoding kernels, which the writer calls. Each row names its sides and their common result.

use std::hint::black_box;
use std::time::Duration;

use lath_kernels::dictionary::{NumberSlot, Numbers, SLACK, StringSlot, Strings, slot_count};
use lath_kernels::{ByteStrings, Tier, bloom, byte_array, byte_stream_split, delta, xxhash};
use parquet::basic::Encoding;
use parquet::bloom_filter::Sbbf;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type};
use parquet::encodings::encoding::{DictEncoder, Encoder, get_encoder};
use twox_hash::XxHash64;

use super::timing::{Timing, time};
use super::workload::{COUNT, descriptor};
use super::{TIERS, Timings};
use crate::data::Random;
use crate::record::{Record, against_goal};

/// The unit of a row's goal.
#[derive(Clone, Copy)]
pub enum Goal {
    NanosecondsPerValue(f64),
    /// A share of the speed of copying the same bytes.
    OfMemcpy(f64),
    /// Billions a second.
    Rate(f64),
    None,
}

/// Times one side for about the given time.
pub type Side = Box<dyn Fn(Duration) -> Timing>;

pub struct Row {
    pub name: String,
    pub what: String,
    pub goal: Goal,
    pub lath: Side,
    /// The first peer is the base of ratios, unless it is memcpy.
    pub peers: Vec<(&'static str, Side)>,
}

/// Times one side of a row and returns the time of each implementation.
pub fn measure(row: &Row, side: &str, total: Duration) -> Vec<(&'static str, Timing)> {
    match side {
        "lath" => vec![("lath", (row.lath)(total))],
        _ => row.peers.iter().map(|(who, side)| (*who, side(total))).collect(),
    }
}

pub fn rows() -> Vec<Row> {
    let mut rows = split_streams();
    rows.extend(strings());
    rows.extend(hashes());
    rows.push(bloom_insert());
    rows.extend(number_dictionaries());
    rows.extend(string_dictionaries());
    rows
}

pub fn side(work: impl Fn(Duration) -> Timing + 'static) -> Side {
    Box::new(work)
}

/// The output of the `parquet` crate for the values.
fn encoded<T: DataType>(encoding: Encoding, values: &[T::T]) -> bytes::Bytes {
    let mut encoder = get_encoder::<T>(encoding, &descriptor::<T>()).expect("encoding exists");
    encoder.put(values).expect("values can be encoded");
    encoder.flush_buffer().expect("values can be encoded")
}

/// The `parquet` crate's encoder, kept from call to call.
fn parquet_side<T: DataType>(encoding: Encoding, values: Vec<T::T>) -> Side
where
    T::T: 'static,
{
    side(move |total| {
        let mut encoder = get_encoder::<T>(encoding, &descriptor::<T>()).expect("encoding exists");
        time(total, || {
            encoder.put(black_box(&values)).expect("values can be encoded");
            black_box(encoder.flush_buffer().expect("values can be encoded"));
        })
    })
}

fn split_streams() -> Vec<Row> {
    let mut random = Random(31);
    let floats: Vec<f32> = (0..COUNT).map(|_| random.below(1 << 24) as f32).collect();
    let doubles: Vec<f64> = (0..COUNT).map(|_| random.below(1 << 40) as f64).collect();
    let narrow = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
    let wide = doubles.iter().flat_map(|value| value.to_le_bytes()).collect();
    let expected = encoded::<FloatType>(Encoding::BYTE_STREAM_SPLIT, &floats);
    let peer = parquet_side::<FloatType>(Encoding::BYTE_STREAM_SPLIT, floats);
    let first = split_row("f32", 4, narrow, expected, peer);
    let expected = encoded::<DoubleType>(Encoding::BYTE_STREAM_SPLIT, &doubles);
    let peer = parquet_side::<DoubleType>(Encoding::BYTE_STREAM_SPLIT, doubles);
    vec![first, split_row("f64", 8, wide, expected, peer)]
}

fn split_row(kind: &str, width: usize, values: Vec<u8>, expected: bytes::Bytes, parquet: Side) -> Row {
    let copied = values.clone();
    let lath = side(move |total| {
        let mut out = vec![0; values.len()];
        let timing = time(total, || {
            byte_stream_split::encode(black_box(&values), COUNT, width, 0, &mut out).expect("there is room");
        });
        assert!(out == expected);
        timing
    });
    let memcpy = side(move |total| {
        let mut out = vec![0; copied.len()];
        time(total, || black_box(&mut out[..]).copy_from_slice(black_box(&copied)))
    });
    Row {
        name: format!("encode-split-{kind}"),
        what: format!("BYTE_STREAM_SPLIT {kind}"),
        goal: Goal::OfMemcpy(0.9),
        lath,
        peers: vec![("parquet", parquet), ("memcpy", memcpy)],
    }
}

/// Strings with offsets, the same as the reader's: 10 to 20 bytes, random ones and sorted ones of four letters.
fn strings() -> Vec<Row> {
    let mut random = Random(15);
    let mut word = |letters: u64| -> Vec<u8> {
        let len = 10 + random.below(11);
        (0..len).map(|_| b'a' + random.below(letters) as u8).collect()
    };
    let loose: Vec<Vec<u8>> = (0..COUNT).map(|_| word(26)).collect();
    let mut sorted: Vec<Vec<u8>> = (0..COUNT).map(|_| word(4)).collect();
    sorted.sort();

    let arrays = |strings: &[Vec<u8>]| strings.iter().map(|value| ByteArray::from(value.clone())).collect::<Vec<_>>();
    let row = |name: &str, what: &str, goal, encoding, strings: &[Vec<u8>], lath: Side| Row {
        name: name.to_owned(),
        what: what.to_owned(),
        goal,
        lath,
        peers: vec![("parquet", parquet_side::<ByteArrayType>(encoding, arrays(strings)))],
    };
    let plain = {
        let (data, offsets) = joined(&loose);
        let expected = encoded::<ByteArrayType>(Encoding::PLAIN, &arrays(&loose));
        side(move |total| {
            let mut out = vec![0; data.len() + 4 * COUNT];
            let timing = time(total, || {
                let strings = ByteStrings::Offsets32 { data: black_box(&data), offsets: &offsets };
                byte_array::encode_plain(strings, &mut out).expect("there is room");
            });
            assert!(out == expected);
            timing
        })
    };
    let lengths = {
        let (data, offsets) = joined(&loose);
        side(move |total| {
            let mut lengths = vec![0; COUNT];
            let mut out = vec![0; delta::max_encoded_len::<i32>(COUNT) + data.len()];
            let mut len = 0;
            let timing = time(total, || {
                let strings = ByteStrings::Offsets32 { data: black_box(&data), offsets: &offsets };
                byte_array::lengths(strings, &mut lengths).expect("offsets are sound");
                let at = delta::encode_i32(&lengths, &mut out).expect("there is room");
                len = at + byte_array::concat(strings, &mut out[at..]).expect("there is room");
            });
            check_decoded(Encoding::DELTA_LENGTH_BYTE_ARRAY, &out[..len], &data, &offsets);
            timing
        })
    };
    let prefixes = |strings: &[Vec<u8>]| {
        let (data, offsets) = joined(strings);
        side(move |total| {
            let (mut prefixes, mut suffix_lengths) = (vec![0; COUNT], vec![0; COUNT]);
            let mut suffixes = vec![0; data.len()];
            let mut out = vec![0; 2 * delta::max_encoded_len::<i32>(COUNT) + data.len()];
            let mut len = 0;
            let timing = time(total, || {
                let strings = ByteStrings::Offsets32 { data: black_box(&data), offsets: &offsets };
                let suffix = byte_array::prefix_split(strings, &[], &mut prefixes, &mut suffix_lengths, &mut suffixes);
                let suffix = suffix.expect("there is room");
                let mut at = delta::encode_i32(&prefixes, &mut out).expect("there is room");
                at += delta::encode_i32(&suffix_lengths, &mut out[at..]).expect("there is room");
                out[at..at + suffix].copy_from_slice(&suffixes[..suffix]);
                len = at + suffix;
            });
            check_decoded(Encoding::DELTA_BYTE_ARRAY, &out[..len], &data, &offsets);
            timing
        })
    };
    let (random_prefixes, sorted_prefixes) = (prefixes(&loose), prefixes(&sorted));
    let delta = Encoding::DELTA_BYTE_ARRAY;
    vec![
        row("encode-plain-strings", "PLAIN BYTE_ARRAY, ~15 bytes", Goal::None, Encoding::PLAIN, &loose, plain),
        row(
            "encode-length-strings",
            "DELTA_LENGTH_BYTE_ARRAY, ~15 bytes",
            Goal::NanosecondsPerValue(1.6),
            Encoding::DELTA_LENGTH_BYTE_ARRAY,
            &loose,
            lengths,
        ),
        row(
            "encode-prefix-strings-random",
            "DELTA_BYTE_ARRAY, ~15 bytes, no prefixes",
            Goal::NanosecondsPerValue(6.0),
            delta,
            &loose,
            random_prefixes,
        ),
        row(
            "encode-prefix-strings-sorted",
            "DELTA_BYTE_ARRAY, ~15 bytes, sorted",
            Goal::NanosecondsPerValue(6.0),
            delta,
            &sorted,
            sorted_prefixes,
        ),
    ]
}

/// Bytes and offsets.
fn joined(strings: &[Vec<u8>]) -> (Vec<u8>, Vec<i32>) {
    let mut offsets = vec![0];
    let mut end = 0;
    for string in strings {
        end += string.len() as i32;
        offsets.push(end);
    }
    (strings.concat(), offsets)
}

/// Decodes with the `parquet` crate, and compares with the input.
fn check_decoded(encoding: Encoding, page: &[u8], data: &[u8], offsets: &[i32]) {
    let descriptor = descriptor::<ByteArrayType>();
    let mut decoder =
        parquet::encodings::decoding::get_decoder::<ByteArrayType>(descriptor, encoding).expect("encoding exists");
    decoder.set_data(page.to_vec().into(), COUNT).expect("page is sound");
    let mut out = vec![ByteArray::default(); COUNT];
    assert_eq!(decoder.get(&mut out).ok(), Some(COUNT));
    let ends = offsets.windows(2).map(|ends| &data[ends[0] as usize..ends[1] as usize]);
    assert!(out.iter().map(ByteArray::data).eq(ends));
}

fn hashes() -> Vec<Row> {
    let mut random = Random(64);
    let wide: Vec<u64> = (0..COUNT).map(|_| random.next()).collect();
    let narrow: Vec<u32> = wide.iter().map(|&value| value as u32).collect();
    let row = |kind: &str, goal, lath, peer| Row {
        name: format!("hash-{kind}"),
        what: format!("XXH64 of many {kind}"),
        goal: Goal::Rate(goal),
        lath,
        peers: vec![("twox-hash", peer)],
    };
    fn peer<T: Copy + 'static, const N: usize>(values: Vec<T>, bytes: fn(T) -> [u8; N]) -> (Vec<u64>, Side) {
        let hash = move |value: T| XxHash64::oneshot(0, &bytes(value));
        let expected = values.iter().map(|&value| hash(value)).collect();
        let peer = side(move |total| {
            let mut hashes = vec![0; COUNT];
            time(total, || {
                for (out, &value) in hashes.iter_mut().zip(black_box(&values)) {
                    *out = hash(value);
                }
            })
        });
        (expected, peer)
    }
    let (expected, narrow_peer) = peer(narrow.clone(), u32::to_le_bytes);
    let narrow_lath = side(move |total| {
        let mut hashes = vec![0; COUNT];
        let timing = time(total, || xxhash::hash_u32s(black_box(&narrow), &mut hashes).expect("lengths are the same"));
        assert_eq!(hashes, expected);
        timing
    });
    let (expected, wide_peer) = peer(wide.clone(), u64::to_le_bytes);
    let wide_lath = side(move |total| {
        let mut hashes = vec![0; COUNT];
        let timing = time(total, || xxhash::hash_u64s(black_box(&wide), &mut hashes).expect("lengths are the same"));
        assert_eq!(hashes, expected);
        timing
    });
    vec![row("u32", 2.1, narrow_lath, narrow_peer), row("u64", 1.8, wide_lath, wide_peer)]
}

/// The `parquet` crate inserts values, not hashes: its time includes the hash.
fn bloom_insert() -> Row {
    const LEN: usize = 512 << 10;
    let mut random = Random(512);
    let values: Vec<i64> = (0..COUNT).map(|_| random.next() as i64).collect();
    let hashes: Vec<u64> = values.iter().map(|value| XxHash64::oneshot(0, &value.to_le_bytes())).collect();
    let mut expected = Sbbf::new(&[0; LEN]);
    for value in &values {
        expected.insert(value);
    }
    let lath = side(move |total| {
        let mut bitset = vec![0; LEN];
        let timing = time(total, || bloom::insert_many(&mut bitset, black_box(&hashes)).expect("blocks are whole"));
        let mut written = Vec::new();
        expected.write(&mut written).expect("memory takes bytes");
        // A header precedes the bitset.
        assert!(written.ends_with(&bitset));
        timing
    });
    let peer = side(move |total| {
        let mut filter = Sbbf::new(&[0; LEN]);
        time(total, || black_box(&values).iter().for_each(|value| filter.insert(value)))
    });
    Row {
        name: "bloom-insert".to_owned(),
        what: "Bloom insert, 0.5 MiB, prehashed (`parquet`: with the hash)".to_owned(),
        goal: Goal::NanosecondsPerValue(1.0),
        lath,
        peers: vec![("parquet", peer)],
    }
}

fn number_dictionaries() -> Vec<Row> {
    [50, 4096]
        .map(|distinct| {
            let mut random = Random(distinct);
            let pool: Vec<i64> = (0..distinct).map(|_| random.next() as i64).collect();
            let values: Vec<i64> = (0..COUNT).map(|_| pool[random.below(distinct) as usize]).collect();
            let bits: Vec<u64> = values.iter().map(|&value| value as u64).collect();
            let lath = side(move |total| {
                let mut slots = vec![NumberSlot::EMPTY; slot_count(distinct as usize)];
                let (mut dictionary, mut codes) = (vec![0; distinct as usize], vec![0; COUNT]);
                let timing = time(total, || {
                    let mut table = Numbers::new(&mut slots, &mut dictionary).expect("slots are a power of two");
                    assert_eq!(table.intern(black_box(&bits), &mut codes), Ok(COUNT));
                });
                assert!(codes.iter().zip(&bits).all(|(&code, &value)| dictionary[code as usize] == value));
                timing
            });
            let peer = side(move |total| {
                time(total, || {
                    let mut encoder = DictEncoder::<Int64Type>::new(descriptor::<Int64Type>());
                    encoder.put(black_box(&values)).expect("values can be encoded");
                    black_box(encoder.num_entries());
                })
            });
            Row {
                name: format!("intern-i64-{distinct}"),
                what: format!("dictionary of i64, {distinct} entries, from empty"),
                goal: Goal::NanosecondsPerValue(1.5),
                lath,
                peers: vec![("parquet", peer)],
            }
        })
        .into()
}

fn string_dictionaries() -> Vec<Row> {
    let modes = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"].map(Vec::from).to_vec();
    let instructions = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"].map(Vec::from).to_vec();
    let mut random = Random(4096);
    let many = (0..4096).map(|_| {
        let len = 5 + random.below(11);
        (0..len).map(|_| b'a' + random.below(26) as u8).collect()
    });
    let many: Vec<Vec<u8>> = many.collect();
    [
        ("modes", "ship modes", modes),
        ("instructions", "ship instructions", instructions),
        ("4096", "5 to 15 bytes", many),
    ]
    .map(|(name, what, pool)| {
        let mut random = Random(7);
        let distinct = pool.len();
        let strings: Vec<Vec<u8>> = (0..COUNT).map(|_| pool[random.below(distinct as u64) as usize].clone()).collect();
        let values: Vec<ByteArray> = strings.iter().map(|string| ByteArray::from(string.clone())).collect();
        let (data, offsets) = joined(&strings);
        let lath = side(move |total| {
            let mut slots = vec![StringSlot::EMPTY; slot_count(distinct)];
            let mut page = vec![0; pool.concat().len() + 4 * distinct + SLACK];
            let mut codes = vec![0; COUNT];
            let mut page_len = 0;
            let timing = time(total, || {
                let source = ByteStrings::Offsets32 { data: black_box(&data), offsets: &offsets };
                let mut table = Strings::new(&mut slots, &mut page).expect("slots are a power of two");
                assert_eq!(table.intern(source, 0, &mut codes), Ok(COUNT));
                page_len = table.page().len();
            });
            let mut entries = Vec::new();
            let mut rest = &page[..page_len];
            while let Some((len, behind)) = rest.split_first_chunk::<4>() {
                let (entry, behind) = behind.split_at(u32::from_le_bytes(*len) as usize);
                entries.push(entry);
                rest = behind;
            }
            assert!(codes.iter().zip(&strings).all(|(&code, string)| entries[code as usize] == string));
            timing
        });
        let peer = side(move |total| {
            time(total, || {
                let mut encoder = DictEncoder::<ByteArrayType>::new(descriptor::<ByteArrayType>());
                encoder.put(black_box(&values)).expect("values can be encoded");
                black_box(encoder.num_entries());
            })
        });
        Row {
            name: format!("intern-{name}"),
            what: format!("dictionary of strings, {what}, {distinct} entries, from empty"),
            goal: Goal::NanosecondsPerValue(5.0),
            lath,
            peers: vec![("parquet", peer)],
        }
    })
    .into()
}

/// One table; `note` explains it.
pub fn report(record: &mut Record, heading: &str, rows: &[Row], timings: &Timings, note: &str) {
    if rows.is_empty() {
        return;
    }
    record.heading(&format!("{heading}: ns per value, best (median)"));
    let mut head = vec!["kernel".to_owned(), "goal".to_owned()];
    head.extend(TIERS.map(|tier| tier.to_string()));
    head.extend(["peers", "best tier / goal", "best tier / best peer"].map(str::to_owned));
    let mut cells = Vec::new();
    for Row { name, what, goal, peers, .. } in rows {
        let get = |who: &str| timings.get(&format!("{name} {who}")).copied();
        let write = |timing: Timing| {
            format!("{:.3} ({:.3})", timing.best * 1e9 / COUNT as f64, timing.median * 1e9 / COUNT as f64)
        };
        let mut row = vec![what.clone()];
        row.push(match goal {
            Goal::NanosecondsPerValue(goal) => format!("≤ {goal}"),
            Goal::OfMemcpy(goal) => format!("≥ {goal} × memcpy"),
            Goal::Rate(goal) => format!("≥ {goal} G/s"),
            Goal::None => "–".to_owned(),
        });
        row.extend(TIERS.map(|tier| match get(tier.name()) {
            Some(timing) => write(timing),
            None => "not measured".to_owned(),
        }));
        let named = peers.iter().filter_map(|(who, _)| get(who).map(|timing| format!("{who} {}", write(timing))));
        row.push(named.collect::<Vec<_>>().join(", "));

        let lath = TIERS
            .iter()
            .filter_map(|tier: &Tier| get(tier.name()))
            .map(|timing| timing.best)
            .fold(f64::INFINITY, f64::min);
        let to_goal = match goal {
            Goal::NanosecondsPerValue(goal) => Some(goal * COUNT as f64 / 1e9 / lath),
            Goal::OfMemcpy(goal) => get("memcpy").map(|copy| copy.best / lath / goal),
            Goal::Rate(goal) => Some(COUNT as f64 / 1e9 / lath / goal),
            Goal::None => None,
        };
        row.push(to_goal.map_or_else(|| "–".to_owned(), |ratio| against_goal(ratio, 1.0)));
        let peer = peers.iter().filter(|(who, _)| *who != "memcpy").filter_map(|(who, _)| get(who));
        let peer = peer.map(|timing| timing.best).fold(f64::INFINITY, f64::min);
        row.push(if peer.is_finite() { format!("{:.2} ×", peer / lath) } else { "–".to_owned() });
        cells.push(row);
    }
    record.table(&head, &cells);
    record.line(note);
}
