//! The 22 queries of TPC-H, over files of several layouts, give what they give over the same rows in memory.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_cast::pretty::pretty_format_batches;
use lath_parquet::{Codec, Dataset, DatasetOptions, ParquetWriter, Runtime, ValueEncoding, WriteOptions};
use lath_sql::Session;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

use crate::{answer, in_memory, wait};

const SCALE: f64 = 0.01;

fn tables() -> Vec<(&'static str, Vec<RecordBatch>)> {
    macro_rules! rows {
        ($arrow:ident, $generator:ident) => {
            $arrow::new($generator::new(SCALE, 1, 1)).collect::<Result<Vec<_>, _>>().unwrap()
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

/// A session whose tables are files, several each, written with `options`.
fn of_files(folder: &Path, tables: &[(&str, Vec<RecordBatch>)], options: &WriteOptions, session: &Session) {
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
            of_files(folder.path(), &tables, &options, &session);
            for number in 1..=22 {
                assert_eq!(text(&session, &query(number)).await, expected[number - 1], "query {number}, {layout}");
            }
        }
    });
}
