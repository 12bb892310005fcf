use std::sync::Arc;

use super::{WatchedSource, written};
use crate::error::Error;
use crate::file::{ChunkRange, ParquetFile, Plan};
use crate::schema::Projection;

#[test]
fn a_plan_has_the_chunks_of_the_columns_and_row_groups_asked_for() {
    let source = WatchedSource::new(written(250));
    let file = ParquetFile::from_source(source.clone()).unwrap();
    let reads_before = source.reads().len();
    let plan = file.plan(Some(&Projection::from_paths(["name"])), Some(&[2, 0])).unwrap();
    assert_eq!(source.reads().len(), reads_before);
    let expected: Vec<ChunkRange> = [2, 0]
        .map(|row_group| {
            let (start, len) = crate::library::library_metadata(&file).row_group(row_group).column(1).byte_range();
            ChunkRange { row_group, column: 1, range: start..start + len }
        })
        .into();
    assert_eq!(plan.chunks, expected);
    assert_eq!(plan.byte_count(), expected.iter().map(|chunk| chunk.range.end - chunk.range.start).sum::<u64>());
    assert_eq!(file.plan(None, None).unwrap().chunks.len(), 6);
    assert_eq!(file.plan(Some(&Projection::from_paths([""; 0])), None).unwrap(), Plan::default());
}

#[test]
fn what_the_file_does_not_have_cannot_be_planned() {
    let file = ParquetFile::from_bytes(written(250)).unwrap();
    assert!(matches!(file.plan(None, Some(&[3])), Err(Error::Invalid { .. })));
    assert!(matches!(file.plan(Some(&Projection::from_paths(["nam"])), None), Err(Error::Invalid { .. })));
}

#[test]
fn ranges_that_are_near_are_joined() {
    let chunk = |range| ChunkRange { row_group: 0, column: 0, range };
    let plan = Plan { chunks: vec![chunk(50..60), chunk(0..10), chunk(10..20), chunk(25..30), chunk(52..55)] };
    assert_eq!(plan.joined(0), [0..20, 25..30, 50..60]);
    assert_eq!(plan.joined(5), [0..30, 50..60]);
    assert_eq!(plan.joined(u64::MAX), vec![0..60]);
    assert_eq!(Plan::default().joined(1), []);
}

#[test]
fn a_counted_handle_counts_its_own_reads_and_shares_the_footer() {
    let source = WatchedSource::new(written(250));
    let file = ParquetFile::from_source(source.clone()).unwrap();
    let reads_before = source.reads().len();
    let traffic = Arc::default();
    let counted = file.counted(&traffic);
    assert!(Arc::ptr_eq(file.metadata(), counted.metadata()));
    file.scan().build().unwrap().for_each(|batch| assert!(batch.is_ok()));
    assert_eq!((traffic.requests(), traffic.bytes()), (0, 0));
    let reads_between = source.reads().len();
    counted.scan().select(["id"]).build().unwrap().for_each(|batch| assert!(batch.is_ok()));
    let counted = source.reads().split_off(reads_between);
    assert!(reads_between > reads_before && !counted.is_empty());
    assert_eq!(traffic.requests(), counted.len() as u64);
    assert_eq!(traffic.bytes(), counted.iter().map(|range| range.end - range.start).sum::<u64>());
}
