//! Encodes random FLOAT and DOUBLE pages as ALP by Lath's kernels and by the `parquet` crate, has each decode the other's,
//! and compares every value bit by bit. Then the crate writes a file, whose pages the kernels decode.
//!
//! ```text
//! lath-interop-alp PAGES [FILE]      FILE is kept
//! ```

use std::fmt::Debug;
use std::fs::File;

use bytes::Bytes;
use lath_interop_alp::columns::Value;
use lath_interop_alp::{Outcome, columns, peer};
use lath_kernels::alp::{self, Candidates};
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::file::reader::{FileReader, SerializedFileReader};

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (pages, file) = match &arguments[..] {
        [pages] => (pages, None),
        [pages, file] => (pages, Some(file)),
        _ => return Err("usage: lath-interop-alp PAGES [FILE]".into()),
    };
    let (mut lath_len, mut peer_len) = (0, 0);
    for seed in 0..pages.parse()? {
        let mut random = fastrand::Rng::with_seed(seed);
        for (lath, peer) in [exchange::<f32>(&mut random)?, exchange::<f64>(&mut random)?] {
            lath_len += lath;
            peer_len += peer;
        }
    }
    println!("ALP pages: {pages} FLOAT and {pages} DOUBLE, {lath_len} bytes by Lath and {peer_len} by `parquet` 60");
    let temporary = std::env::temp_dir().join(format!("lath-interop-alp-{}.parquet", std::process::id()));
    let path = file.map_or(temporary.as_path(), |file| file.as_ref());
    let checked = columns::write_file(path).and_then(|columns| decode_file(path, &columns));
    if file.is_none() {
        std::fs::remove_file(path)?;
    }
    println!("ALP file: {} pages of `parquet` 60 decoded", checked?);
    Ok(())
}

/// One page each way; returns their lengths.
fn exchange<T: Value>(random: &mut fastrand::Rng) -> Outcome<(usize, usize)> {
    let len = random.usize(1..20_000);
    let values: Vec<T> = columns::values(random, len);
    let mut page = vec![0; alp::max_encoded_len::<T>(len)];
    let page_len = alp::encode(&values, &Candidates::find(&values), &mut page)?;
    page.truncate(page_len);
    compare(&peer::decode::<T>(Bytes::from(page), len)?, &values);

    let page = peer::encode::<T>(&values)?;
    assert_eq!(alp::value_count(&page)?, len);
    let mut out = vec![T::default(); len];
    alp::decode(&page, 0, &mut out)?;
    compare(&out, &values);
    let first = random.usize(..len);
    alp::decode(&page, first, &mut out[first..])?;
    compare(&out, &values);
    Ok((page_len, page.len()))
}

/// Decodes every page of the file, whose columns have no nulls and no levels; returns how many.
fn decode_file(path: &std::path::Path, (floats, doubles): &(Vec<f32>, Vec<f64>)) -> Outcome<usize> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let (mut row, mut pages) = (0, 0);
    for index in 0..file.num_row_groups() {
        let group = file.get_row_group(index)?;
        for (column, first) in [(0, row), (1, row)] {
            let mut at = first;
            for page in group.get_column_page_reader(column)? {
                let page = page?;
                assert_eq!(page.encoding(), Encoding::ALP);
                at += match column {
                    0 => decode_page(&page, &floats[at..])?,
                    _ => decode_page(&page, &doubles[at..])?,
                };
                pages += 1;
            }
        }
        row += group.metadata().num_rows() as usize;
    }
    assert_eq!(row, floats.len());
    Ok(pages)
}

fn decode_page<T: Value>(page: &Page, expected: &[T]) -> Outcome<usize> {
    let count = alp::value_count(page.buffer())?;
    let mut out = vec![T::default(); count];
    alp::decode(page.buffer(), 0, &mut out)?;
    compare(&out, &expected[..count]);
    Ok(count)
}

fn compare<T: Value + Debug>(got: &[T], expected: &[T]) {
    assert_eq!(got.len(), expected.len());
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!(got.bits() == expected.bits(), "value {index}: {got:?}, not {expected:?}");
    }
}
