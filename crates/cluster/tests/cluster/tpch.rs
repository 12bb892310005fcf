//! The queries of TPC-H.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use lath_sql::BlockingSession;
use lath_writer::{ParquetWriter, WriteOptions};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

use crate::{Workers, alone, register, text};

const TABLES: [&str; 8] = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"];

/// Writes the tables as folders of files with small row groups.
pub(crate) fn write_tables(folder: &Path) {
    const SCALE: f64 = 0.01;
    macro_rules! rows {
        ($arrow:ident, $generator:ident) => {
            $arrow::new($generator::new(SCALE, 1, 1)).collect::<Result<Vec<RecordBatch>, _>>().unwrap()
        };
    }
    let tables = [
        rows!(CustomerArrow, CustomerGenerator),
        rows!(LineItemArrow, LineItemGenerator),
        rows!(NationArrow, NationGenerator),
        rows!(OrderArrow, OrderGenerator),
        rows!(PartArrow, PartGenerator),
        rows!(PartSuppArrow, PartSuppGenerator),
        rows!(RegionArrow, RegionGenerator),
        rows!(SupplierArrow, SupplierGenerator),
    ];
    for (name, batches) in TABLES.into_iter().zip(tables) {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        for (number, part) in batches.chunks(3).enumerate() {
            let path = folder.join(format!("{number}.parquet"));
            let options = WriteOptions::default().row_group_rows(5000);
            let mut writer = ParquetWriter::create(path, &part[0].schema(), options).unwrap();
            part.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
    }
}

/// The session with these tables.
pub(crate) fn with_tables(session: BlockingSession, folder: &Path) -> BlockingSession {
    TABLES.iter().for_each(|name| register(&session, name, &folder.join(name)));
    session
}

fn query(number: usize) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../sql/tests/tpch/q{number:02}.sql"));
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_queries_of_tpch_answer_as_in_one_process() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let one = with_tables(alone(), folder.path());
    let expected: Vec<String> = (1..=22).map(|number| text(&one, &query(number))).collect();
    let counts: &[usize] = if std::env::var_os("LATH_FULL").is_some() { &[1, 2, 3, 5] } else { &[3] };
    for &count in counts {
        let workers = Workers::start(count, folder.path());
        let session = with_tables(workers.session(), folder.path());
        for (number, expected) in (1..=22).zip(&expected) {
            assert_eq!(text(&session, &query(number)), *expected, "query {number} on {count} workers");
        }
        drop(session);
        workers.stop();
    }
}

/// The counters of the scan of a table in a plan that was run, as text.
fn counters(session: &BlockingSession, query: &str, of: &str) -> Vec<(String, String)> {
    let plan = text(session, &format!("EXPLAIN ANALYZE {query}"));
    let scan = plan.lines().find(|line| line.contains("lath, tasks=") && line.contains(of));
    let scan = scan.unwrap_or_else(|| panic!("no scan with {of}: {plan}"));
    let counted = scan.rsplit_once("metrics=[").unwrap().1.split(']').next().unwrap();
    let pairs = counted.split(", ").filter_map(|pair| pair.split_once('='));
    let mut pairs: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    pairs.retain(|(name, _)| ["output_rows", "row_groups_read", "rows_tested", "rows_found"].contains(&name.as_str()));
    pairs.sort();
    pairs
}

#[test]
fn counters_of_workers_add_up() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let one = with_tables(alone(), folder.path());
    let workers = Workers::start(3, folder.path());
    let session = with_tables(workers.session(), folder.path());
    let query = "SELECT count(*) FROM lineitem WHERE l_quantity < 10 AND l_discount > 0.05";
    let expected = counters(&one, query, "l_quantity");
    assert_eq!(expected.len(), 4, "{expected:?}");
    assert_eq!(counters(&session, query, "l_quantity"), expected);
    workers.stop();
}

#[test]
fn keys_of_a_join_rule_out_rows_on_workers() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let workers = Workers::start(2, folder.path());
    let session = with_tables(workers.session(), folder.path());
    let query = "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_totalprice > 400000";
    let plan = text(&session, &format!("EXPLAIN ANALYZE {query}"));
    let scan = plan.lines().find(|line| line.contains("lath, tasks=") && !line.contains("o_totalprice")).unwrap();
    let tested = scan.split("rows_tested=").nth(1).and_then(|rest| rest.split([',', ']']).next()).unwrap();
    let all = text(&session, "EXPLAIN ANALYZE SELECT count(*) FROM lineitem WHERE l_quantity > 0");
    assert!(!all.contains(&format!("rows_tested={tested},")), "{scan}\n{all}");
    workers.stop();
}
