//! Encodes random FLOAT and DOUBLE pages as ALP with Lath's kernels and with the `parquet` crate, decodes each with the
//! other, and compares every value bit by bit. Then does the same with whole files: required, optional and repeated
//! columns, both page versions, with and without dictionaries that overflow.
//!
//! ```text
//! lath-interop-alp PAGES      a file each way for every ten
//! ```

mod files;
mod table;

use std::fmt::Debug;

use bytes::Bytes;
use lath_interop_alp::columns::Value;
use lath_interop_alp::{Outcome, columns, peer};
use lath_kernels::alp::{self, Candidates};

use files::Layout;
use table::Table;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pages] = &arguments[..] else { return Err("usage: lath-interop-alp PAGES".into()) };
    let pages: u64 = pages.parse()?;
    let (mut lath_len, mut peer_len) = (0, 0);
    for seed in 0..pages {
        let mut random = fastrand::Rng::with_seed(seed);
        for (lath, peer) in [exchange::<f32>(&mut random)?, exchange::<f64>(&mut random)?] {
            lath_len += lath;
            peer_len += peer;
        }
    }
    println!("ALP pages: {pages} FLOAT and {pages} DOUBLE, {lath_len} bytes by Lath and {peer_len} by `parquet` 60");
    let file_count = pages.div_ceil(10);
    for seed in 0..file_count {
        let mut random = fastrand::Rng::with_seed(seed);
        let rows = random.usize(..12_000);
        files::lath_to_peer(&Table::random(&mut random, rows), Layout::random(&mut random))?;
        let row_groups = [0, 1, 2].map(|_| {
            let rows = random.usize(..6_000);
            Table::random(&mut random, rows)
        });
        files::peer_to_lath(row_groups.into(), Layout::random(&mut random))?;
    }
    println!("ALP files: {file_count} of Lath read by `parquet` 60, and as many of `parquet` 60 read by Lath");
    Ok(())
}

/// Exchanges one page each way, and returns their lengths.
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

fn compare<T: Value + Debug>(got: &[T], expected: &[T]) {
    assert_eq!(got.len(), expected.len());
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!(got.bits() == expected.bits(), "value {index}: {got:?}, not {expected:?}");
    }
}
