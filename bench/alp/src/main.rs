//! Measures Lath's ALP kernels against fastalp and the `parquet` crate. Start it with `bench/run alp`.

mod columns;
mod sides;
mod timing;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use columns::{COUNT, Column};
use lath_bench_record::machine;
use lath_bench_record::record::Record;
use lath_interop_alp::columns::Value;
use lath_kernels::Tier;
use sides::{FastAlp, Lath, Parquet};
use timing::{Timing, time};

const TIERS: [Tier; 3] = [Tier::Scalar, Tier::Avx2, Tier::Avx512];

fn main() -> ExitCode {
    let quick = match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [] => false,
        [option] if option == "--quick" => true,
        _ => {
            eprintln!("usage: lath-bench-alp [--quick]");
            return ExitCode::from(2);
        }
    };
    let mut record = Record::start("alp", quick);
    record.line(&format!(
        "- of these alone: fastalp {}, and version 60 of the `parquet` crate",
        machine::locked_version("fastalp")
    ));
    let effort = if quick { (1, Duration::from_millis(20)) } else { (5, Duration::from_millis(60)) };
    let floats: Vec<Measurement> = columns::floats().iter().map(|column| measure(column, effort)).collect();
    let doubles: Vec<Measurement> = columns::doubles().iter().map(|column| measure(column, effort)).collect();
    let rows: Vec<Measurement> = floats.into_iter().chain(doubles).collect();
    report(&mut record, &rows);
    eprintln!("record: {}", record.path().display());
    ExitCode::SUCCESS
}

/// Lath's timings are by tier, in the order of [`TIERS`].
struct Measurement {
    name: &'static str,
    plain_len: usize,
    lens: [usize; 3],
    decode: [Option<Timing>; 3],
    decode_peers: [Timing; 3],
    encode: [Option<Timing>; 3],
    encode_again: [Option<Timing>; 3],
    /// fastalp, including its analysis of the data, and the `parquet` crate.
    encode_peers: [Timing; 3],
}

fn measure<T: Value + fastalp::AlpFloat>(column: &Column<T>, (rounds, total): (usize, Duration)) -> Measurement {
    let values = &column.values[..];
    let (mut lath, mut fast, mut parquet) = (Lath::new(values), FastAlp::new(values), Parquet::new(values));
    let mut out = vec![T::default(); COUNT];
    let mut copy = vec![T::default(); COUNT];
    let mut measured = Measurement {
        name: column.name,
        plain_len: size_of_val(values),
        lens: [lath.len(), fast.len(), parquet.len()],
        decode: [None; 3],
        decode_peers: [Timing::LONGEST; 3],
        encode: [None; 3],
        encode_again: [None; 3],
        encode_peers: [Timing::LONGEST; 3],
    };
    for _ in 0..rounds {
        for (index, tier) in TIERS.into_iter().enumerate().filter(|(_, tier)| Tier::available().contains(tier)) {
            tier.select();
            out.fill(T::default());
            Timing::keep(&mut measured.decode[index], time(total, || lath.decode(black_box(&mut out))));
            assert_same(&out, values, "Lath");
            Timing::keep(&mut measured.encode[index], time(total, || lath.encode(black_box(values))));
            Timing::keep(&mut measured.encode_again[index], time(total, || lath.encode_again(black_box(values))));
            lath.decode(&mut out);
            assert_same(&out, values, "Lath");
        }
        let [of_fast, of_parquet, of_copy] = &mut measured.decode_peers;
        out.fill(T::default());
        of_fast.take(time(total, || fast.decode(black_box(&mut out))));
        assert_same(&out, values, "fastalp");
        let mut decoded = Vec::new();
        of_parquet.take(time(total, || decoded = parquet.decode()));
        assert_same(&decoded, values, "parquet");
        of_copy.take(time(total, || black_box(&mut copy[..]).copy_from_slice(black_box(values))));
        let [of_fast, of_fast_again, of_parquet] = &mut measured.encode_peers;
        of_fast.take(time(total, || fast.encode(black_box(values))));
        fast.decode(&mut out);
        assert_same(&out, values, "fastalp");
        of_fast_again.take(time(total, || fast.encode_again(black_box(values))));
        fast.decode(&mut out);
        assert_same(&out, values, "fastalp");
        of_parquet.take(time(total, || parquet.encode(black_box(values))));
    }
    measured
}

fn assert_same<T: Value>(got: &[T], values: &[T], who: &str) {
    assert!(got.iter().map(|value| value.bits()).eq(values.iter().map(|value| value.bits())), "{who} lost something");
}

fn report(record: &mut Record, rows: &[Measurement]) {
    let table = |record: &mut Record, peers: &[&str], cells: &dyn Fn(&Measurement) -> Vec<String>| {
        let mut head = vec!["column".to_owned()];
        head.extend(TIERS.map(|tier| tier.to_string()));
        head.extend(peers.iter().map(|&peer| peer.to_owned()));
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let mut line = vec![row.name.to_owned()];
                line.extend(cells(row));
                line
            })
            .collect();
        record.table(&head, &rows);
    };
    let tiers = |row: &Measurement, timings: &[Option<Timing>; 3]| -> Vec<String> {
        timings
            .iter()
            .map(|timing| timing.map_or("not measured".to_owned(), |timing| timing.rate(row.plain_len)))
            .collect()
    };
    let ratio = |lath: &[Option<Timing>; 3], peer: Timing| {
        let best = lath.iter().flatten().map(|timing| timing.best).fold(f64::INFINITY, f64::min);
        format!("{:.2} ×", peer.best / best)
    };

    record.heading("Decoding 65,536 values: GB/s of values, best (median)");
    let peers = ["fastalp", "parquet 60", "memcpy", "best tier / fastalp", "best tier / parquet"];
    table(record, &peers, &|row| {
        let mut cells = tiers(row, &row.decode);
        cells.extend(row.decode_peers.map(|timing| timing.rate(row.plain_len)));
        cells.extend([0, 1].map(|peer| ratio(&row.decode, row.decode_peers[peer])));
        cells
    });
    record.line("The `parquet` crate decodes through its column reader to memory that it allocates.");

    record.heading("Encoding 65,536 values, parameters found at each call: GB/s of values, best (median)");
    let peers = ["fastalp", "parquet 60", "best tier / fastalp", "best tier / parquet"];
    table(record, &peers, &|row| {
        let [fast, _, parquet] = row.encode_peers;
        let mut cells = tiers(row, &row.encode);
        cells.extend([fast, parquet].map(|timing| timing.rate(row.plain_len)));
        cells.extend([fast, parquet].map(|timing| ratio(&row.encode, timing)));
        cells
    });
    record.line("The `parquet` crate encodes through its column writer, without statistics.");

    record.heading("Encoding 65,536 values, parameters known: GB/s of values, best (median)");
    table(record, &["fastalp", "best tier / fastalp"], &|row| {
        let fast = row.encode_peers[1];
        let mut cells = tiers(row, &row.encode_again);
        cells.extend([fast.rate(row.plain_len), ratio(&row.encode_again, fast)]);
        cells
    });
    record.line("Lath is given its candidates, fastalp keeps its encoder from call to call.");

    record.heading("Bits a value");
    let head = ["column", "plain", "Lath", "fastalp", "parquet 60"].map(str::to_owned);
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let bits = |len: usize| format!("{:.2}", len as f64 * 8.0 / COUNT as f64);
            let mut line = vec![row.name.to_owned(), bits(row.plain_len)];
            line.extend(row.lens.map(bits));
            line
        })
        .collect();
    record.table(&head, &lines);
    record.line("Every output was compared bit by bit with the values. fastalp has a format of its own, with other schemes beside ALP (differences, dictionaries, the two halves of real numbers), in chunks of 1,024 values.");
}
