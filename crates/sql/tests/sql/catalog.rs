//! Queries through catalogs.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use lath_catalog::{AddOptions, Catalog};
use lath_parquet::{DatasetOptions, Predicate};
use lath_sql::Session;
use lath_testkit::Seeded;

use crate::{answer, sorted, wait};

const FILES: i64 = 12;

/// The id ranges of all files overlap.
fn rows(file: i64) -> RecordBatch {
    let ids: Vec<i64> = (0..200).map(|row| row * FILES + file).collect();
    let names: ArrayRef = Arc::new(StringViewArray::from_iter_values(ids.iter().map(|id| format!("name {}", id % 97))));
    RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(ids)) as ArrayRef), ("name", names)]).unwrap()
}

fn write(folder: &Path, file: i64) {
    let folder = folder.join(format!("part={}", file % 3));
    fs::create_dir_all(&folder).unwrap();
    crate::write(&folder.join(format!("{file}.parquet")), &rows(file), 50);
}

/// Writes a folder of files and a catalog of it.
fn lake(catalog: &Path, files: &Path) {
    (0..FILES).for_each(|file| write(files, file));
    Catalog::create(catalog).unwrap().add([files], &AddOptions::new().key(["id"])).unwrap();
}

#[test]
fn answers_by_a_catalog_are_those_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, files) = (folder.path().join("lake.catalog"), folder.path().join("files"));
    lake(&catalog, &files);
    let mut random = Seeded::new("answers by a catalog are those without it");
    let session = Session::new();
    let (by, without) = (format!("'{}'", catalog.display()), format!("'{}'", files.display()));
    wait(async {
        for round in 0..40 {
            let id = random.i64(-10..FILES * 210);
            let condition = match round % 6 {
                0 => format!("id = {id}"),
                1 => format!("id IN ({id}, {}, {})", id + 1, id + 700),
                2 => format!("part = {} AND id < {id}", random.i64(0..4)),
                3 => format!("name = 'name {}' AND id > {id}", random.i64(0..110)),
                4 => format!("id * 2 = {id} OR part = 1"),
                _ => "true".to_owned(),
            };
            for query in [
                format!("SELECT * FROM FILES WHERE {condition}"),
                format!("SELECT part, count(*), max(name) FROM FILES WHERE {condition} GROUP BY part"),
                format!("SELECT file_name, row_number, id FROM FILES WHERE {condition} ORDER BY id LIMIT 7"),
                format!(
                    "SELECT a.id FROM FILES a JOIN FILES b ON a.id = b.id + 1 WHERE b.id < 50 AND a.{}",
                    if condition.starts_with("id =") { &condition } else { "part = 2" }
                ),
            ] {
                let of = |function: &str, named: &str| {
                    query.replace("FILES", &format!("{function}({named}, file_name => true, row_number => true)"))
                };
                let expected = answer(&session, &of("read_parquet", &without)).await;
                let found = answer(&session, &of("read_catalog", &by)).await;
                let (expected, found) = (expected.as_slice(), found.as_slice());
                assert_eq!(sorted_or_none(found), sorted_or_none(expected), "{query}");
            }
        }
    });
}

fn sorted_or_none(batches: &[RecordBatch]) -> Vec<String> {
    if batches.iter().all(|batch| batch.num_rows() == 0) { Vec::new() } else { sorted(batches) }
}

#[test]
fn files_that_a_catalog_rules_out_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (catalog, files) = (folder.path().join("lake.catalog"), folder.path().join("files"));
    lake(&catalog, &files);
    // A Bloom filter has a few false positives.
    let is_found_at_once = |id: &i64| {
        let predicate = Predicate::parse(&format!("id = {id}")).unwrap();
        let selected = Catalog::open_read_only(&catalog).unwrap().select(&predicate, &DatasetOptions::new()).unwrap();
        selected.files().len() == 1
    };
    let id = (0..20).map(|row| row * FILES + 7).find(is_found_at_once).unwrap();
    for file in (0..FILES).filter(|file| *file != 7) {
        fs::write(files.join(format!("part={}/{file}.parquet", file % 3)), "no Parquet").unwrap();
    }
    let session = Session::new();
    let from = format!("read_catalog('{}')", catalog.display());
    wait(async {
        let found = answer(&session, &format!("SELECT id, part FROM {from} WHERE id = {id}")).await;
        assert_eq!(sorted(&found).len(), 2, "{found:?}");
        let failed = session.sql(&format!("SELECT sum(id) FROM {from}")).await.unwrap().collect().await.unwrap_err();
        assert!(failed.to_string().contains(".parquet"), "{failed}");
    });
}

#[test]
fn a_table_of_a_catalog_sees_what_a_refresh_finds() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = (folder.path().join("lake.catalog"), folder.path().join("files"));
    lake(&path, &files);
    let session = Session::new();
    wait(async {
        answer(&session, &format!("CREATE VIEW lake AS SELECT * FROM read_catalog('{}')", path.display())).await;
        let count = async || sorted(&answer(&session, "SELECT count(*) FROM lake").await)[1].clone();
        assert_eq!(count().await, "| 2400     |");
        write(&files, FILES);
        assert_eq!(count().await, "| 2400     |");
        // The catalog is not open between queries.
        let changes = Catalog::open(&path).unwrap().refresh().unwrap();
        assert_eq!(changes.added, 1);
        assert_eq!(count().await, "| 2600     |");
        let wrong = session.sql("SELECT * FROM read_catalog('nowhere.catalog')").await.unwrap_err().to_string();
        assert!(wrong.contains("nowhere.catalog"), "{wrong}");
        let wrong = session.sql("SELECT * FROM read_catalog(['a', 'b'])").await.unwrap_err().to_string();
        assert!(wrong.contains("one catalog"), "{wrong}");
    });
}

/// Describes the provider of a query's only table.
async fn provider(session: &Session, query: &str) -> String {
    let frame = session.sql(query).await.unwrap();
    let mut found = String::new();
    let visited = frame.logical_plan().apply(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = datafusion::datasource::source_as_provider(&scan.source)?;
            found = format!("{provider:?}");
        }
        Ok(TreeNodeRecursion::Continue)
    });
    visited.unwrap();
    found
}

#[test]
fn a_catalog_in_the_folder_is_used_while_it_is_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    lake(&folder.path().join(Catalog::FILE_NAME), folder.path());
    let session = Session::new();
    let location = format!("'{}'", folder.path().display());
    wait(async {
        for from in [location.clone(), format!("read_parquet({location}, file_name => true)")] {
            let query = format!("SELECT id FROM {from} WHERE id = 100");
            let table = provider(&session, &query).await;
            assert!(table.starts_with("CatalogTable"), "{table}");
            assert_eq!(sorted(&answer(&session, &query).await), ["+-----+", "| 100 |"]);
        }
        write(folder.path(), FILES);
        let query = format!("SELECT id FROM {location} WHERE id = {}", FILES * 2);
        let table = provider(&session, &query).await;
        assert!(table.starts_with("LathTable"), "{table}");
        assert_eq!(sorted(&answer(&session, &query).await).len(), 3, "one of the old files, one of the new");
    });
}
