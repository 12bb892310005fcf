use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::Way;

/// One thread reads the file sequentially; several take row groups from a common counter.
pub fn read(way: Way, path: &Path, threads: usize, take: impl Fn(RecordBatch) + Sync) -> u64 {
    let file = File::open(path).expect("file exists");
    let metadata = metadata(way, &file);
    let rows = AtomicU64::new(0);
    let count = |batch: RecordBatch| {
        rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        take(batch);
    };
    let open = |groups: Option<usize>| {
        // Open the file again: clones of a handle share its position, which concurrent threads would move.
        let file = File::open(path).expect("file exists");
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
        if let Some(group) = groups {
            builder = builder.with_row_groups(vec![group]);
        }
        builder.with_batch_size(way.batch_rows).build().expect("reader can be built")
    };
    if threads == 1 {
        for batch in open(None) {
            count(batch.expect("batch decodes"));
        }
        return rows.into_inner();
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let group = next.fetch_add(1, Ordering::Relaxed);
                    if group >= metadata.metadata().num_row_groups() {
                        break;
                    }
                    for batch in open(Some(group)) {
                        count(batch.expect("batch decodes"));
                    }
                }
            });
        }
    });
    rows.into_inner()
}

fn metadata(way: Way, file: &File) -> ArrowReaderMetadata {
    let plain = ArrowReaderMetadata::load(file, ArrowReaderOptions::new()).expect("footer is readable");
    if !way.views {
        return plain;
    }
    let schema = Schema::new(plain.schema().fields().iter().map(|field| viewed(field)).collect::<Vec<_>>());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), options).expect("strings can be views")
}

fn viewed(field: &Field) -> Field {
    match field.data_type() {
        DataType::Utf8 => field.clone().with_data_type(DataType::Utf8View),
        _ => field.clone(),
    }
}
