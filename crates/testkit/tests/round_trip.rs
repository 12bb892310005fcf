//! The `parquet` crate's own reader returns what the generators write. So if another reader's tests find a difference,
//! it is that reader's fault.

use lath_testkit::Seeded;
use lath_testkit::equality::same_values;
use lath_testkit::random::{FileShape, RandomFile};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

#[test]
fn random_files_read_back_as_written() {
    let mut random = Seeded::new("random_files_read_back_as_written");
    for _ in 0..60 {
        let seed = random.u64(..);
        let file = RandomFile::new(&mut fastrand::Rng::with_seed(seed), FileShape::default());
        let builder = ParquetRecordBatchReaderBuilder::try_new(file.bytes.clone()).unwrap();
        let read_schema = builder.schema().clone();
        let read: Vec<_> = builder.build().unwrap().map(|batch| batch.unwrap()).collect();
        if file.has_arrow_schema && !file.coerced {
            let result = same_values((&file.schema, &file.batches), (&read_schema, &read));
            result.unwrap_or_else(|what| panic!("{what}\nin file {seed:#x}: {file:?}"));
        }
    }
}
