//! Compares the 22 queries of TPC-H over files of several layouts with the same queries over rows in memory.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_cast::pretty::pretty_format_batches;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use lath_parquet::{Dataset, DatasetOptions, Runtime};
use lath_sql::Session;
use lath_writer::{Codec, ParquetWriter, ValueEncoding, WriteOptions};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

use crate::{answer, in_memory, wait};

/// Scale factor 0.1 with `LATH_FULL`, 0.01 otherwise.
fn scale() -> f64 {
    if std::env::var_os("LATH_FULL").is_some() { 0.1 } else { 0.01 }
}

fn tables() -> Vec<(&'static str, Vec<RecordBatch>)> {
    let scale = scale();
    macro_rules! rows {
        ($arrow:ident, $generator:ident) => {
            $arrow::new($generator::new(scale, 1, 1)).collect::<Result<Vec<_>, _>>().unwrap()
        };
    }
    vec![
        ("customer", rows!(CustomerArrow, CustomerGenerator)),
        ("lineitem", rows!(LineItemArrow, LineItemGenerator)),
        ("nation", rows!(NationArrow, NationGenerator)),
        ("orders", rows!(OrderArrow, OrderGenerator)),
        ("part", rows!(PartArrow, PartGenerator)),
        ("partsupp", rows!(PartSuppArrow, PartSuppGenerator)),
        ("region", rows!(RegionArrow, RegionGenerator)),
        ("supplier", rows!(SupplierArrow, SupplierGenerator)),
    ]
}

/// Registers tables of several files each, written with `options`.
fn register_files(folder: &Path, tables: &[(&str, Vec<RecordBatch>)], options: &WriteOptions, session: &Session) {
    for (name, batches) in tables {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        for (number, part) in batches.chunks(3).enumerate() {
            let path = folder.join(format!("{number}.parquet"));
            let mut writer = ParquetWriter::create(path, &part[0].schema(), options.clone()).unwrap();
            part.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
        session.register(name, Dataset::open([folder], DatasetOptions::new()).unwrap()).unwrap();
    }
}

/// Registers files with two tables partitioned by a column, which only the folder names have.
fn partitioned(folder: &Path, tables: &[(&str, Vec<RecordBatch>)], options: &WriteOptions, session: &Session) {
    let columns = [("lineitem", "l_shipmode"), ("orders", "o_orderpriority")];
    let (in_directories, others): (Vec<_>, Vec<_>) =
        tables.iter().cloned().partition(|(name, _)| columns.iter().any(|(table, _)| table == name));
    register_files(folder, &others, options, session);
    for (name, batches) in in_directories {
        let folder = folder.join(name);
        let (_, column) = columns.iter().find(|(table, _)| *table == name).unwrap();
        let all = concat_batches(&batches[0].schema(), &batches).unwrap();
        let at = all.schema().index_of(column).unwrap();
        let of_rows = as_strings(all.column(at));
        for value in of_rows.iter().flatten().collect::<BTreeSet<_>>() {
            let is_value = BooleanArray::from_iter(of_rows.iter().map(|other| Some(other == Some(value))));
            let mut rows = filter_record_batch(&all, &is_value).unwrap();
            rows.remove_column(at);
            let folder = folder.join(format!("{column}={}", value.replace(' ', "%20")));
            fs::create_dir_all(&folder).unwrap();
            let mut writer = ParquetWriter::create(folder.join("0.parquet"), &rows.schema(), options.clone()).unwrap();
            writer.write(&rows).unwrap();
            writer.finish().unwrap();
        }
        session.register(name, Dataset::open([folder], DatasetOptions::new()).unwrap()).unwrap();
    }
}

fn as_strings(column: &ArrayRef) -> StringArray {
    cast(column, &DataType::Utf8).unwrap().as_string::<i32>().clone()
}

fn query(number: usize) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/tpch/q{number:02}.sql"));
    fs::read_to_string(path).unwrap()
}

async fn text(session: &Session, query: &str) -> String {
    pretty_format_batches(&answer(session, query).await).unwrap().to_string()
}

#[test]
fn the_queries_of_tpch_answer_over_files_as_in_memory() {
    let tables = tables();
    let memory = Session::new();
    for (name, batches) in &tables {
        in_memory(&memory, name, batches.clone());
    }
    let small = |options: WriteOptions| options.row_group_rows(9000);
    let layouts = [
        ("plain", small(WriteOptions::default().dictionary(false)), 2, None),
        ("delta", small(WriteOptions::default().encoding(ValueEncoding::DeltaBinaryPacked)), 1, None),
        (
            "split, zstd",
            small(WriteOptions::default().encoding(ValueEncoding::ByteStreamSplit).codec(Codec::Zstd { level: 1 })),
            2,
            None,
        ),
        ("partitioned", small(WriteOptions::default()), 2, None),
        ("little memory", small(WriteOptions::default()), 2, Some(64 << 20)),
    ];
    wait(async {
        let mut expected = Vec::new();
        for number in 1..=22 {
            expected.push(text(&memory, &query(number)).await);
        }
        assert!(expected.iter().filter(|text| text.lines().count() > 4).count() >= 20);
        for (layout, options, threads, memory_budget_bytes) in layouts {
            let folder = tempfile::tempdir().unwrap();
            let runtime = Runtime::builder().threads(threads).build();
            let mut builder = Session::builder().runtime(&runtime);
            if let Some(bytes) = memory_budget_bytes {
                builder = builder.memory_budget_bytes(bytes);
            }
            let session = builder.build().unwrap();
            let write = if layout == "partitioned" { partitioned } else { register_files };
            write(folder.path(), &tables, &options, &session);
            for number in 1..=22 {
                assert_eq!(text(&session, &query(number)).await, expected[number - 1], "query {number}, {layout}");
            }
        }
    });
}

/// On one thread, so that the memory of an operator does not depend on when others release theirs.
#[test]
fn sorts_and_groups_beyond_the_memory_budget_go_to_disk() {
    let mut tables = tables();
    tables.retain(|(name, _)| *name == "lineitem");
    let memory = Session::new();
    in_memory(&memory, "lineitem", tables[0].1.clone());
    let bytes: usize = tables[0].1.iter().map(RecordBatch::get_array_memory_size).sum();
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::builder().threads(1).build();
    let session = Session::builder().runtime(&runtime).memory_budget_bytes(bytes / 3).build().unwrap();
    register_files(folder.path(), &tables, &WriteOptions::default(), &session);
    let questions = [
        "SELECT * FROM lineitem ORDER BY l_comment, l_orderkey, l_linenumber",
        "SELECT l_comment, l_orderkey, l_partkey, count(*), max(l_shipinstruct) FROM lineitem GROUP BY l_comment, l_orderkey, l_partkey",
    ];
    wait(async {
        for question in questions {
            let report = text(&session, &format!("EXPLAIN ANALYZE {question}")).await;
            let spills = report.split("spill_count=").skip(1).filter(|rest| !rest.starts_with('0')).count();
            assert!(spills > 0, "{question} within {} bytes:\n{report}", bytes / 3);
            let [found, expected] = [&session, &memory].map(|session| text(session, question));
            let (found, expected) = (found.await, expected.await);
            let [mut found, mut expected] = [&found, &expected].map(|text| text.lines().collect::<Vec<_>>());
            if !question.contains("ORDER BY") {
                found.sort_unstable();
                expected.sort_unstable();
            }
            assert!(found == expected, "{question}");
        }
    });
}
