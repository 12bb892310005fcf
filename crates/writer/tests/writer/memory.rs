//! A writer of many columns, few of which are large, stays within its memory budget.

#[cfg(target_os = "linux")]
mod linux {
    use std::process::Command;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use arrow_schema::{DataType, Field, Schema, SchemaRef};
    use lath_testkit::memory_bytes;
    use lath_writer::{ParquetWriter, WriteOptions};

    const MIB: usize = 1 << 20;
    const COLUMNS: usize = 400;
    const ROWS: usize = 60_000;
    const BATCH_ROWS: usize = 1_000;

    /// Every fortieth column has strings of a hundred bytes that do not repeat, the others small numbers.
    fn is_large(column: usize) -> bool {
        column.is_multiple_of(40)
    }

    fn schema() -> SchemaRef {
        let field = |column| {
            let data_type = if is_large(column) { DataType::Utf8 } else { DataType::Int64 };
            Field::new(format!("c{column}"), data_type, true)
        };
        Arc::new(Schema::new((0..COLUMNS).map(field).collect::<Vec<_>>()))
    }

    fn batch(schema: &SchemaRef, random: &mut fastrand::Rng) -> RecordBatch {
        let text = |random: &mut fastrand::Rng| -> String { (0..100).map(|_| random.alphanumeric()).collect() };
        let column = |column| -> ArrayRef {
            if is_large(column) {
                Arc::new(StringArray::from_iter_values((0..BATCH_ROWS).map(|_| text(random))))
            } else {
                Arc::new(Int64Array::from_iter((0..BATCH_ROWS).map(|i| (i % 7 > 0).then_some((i % 50) as i64))))
            }
        };
        RecordBatch::try_new(schema.clone(), (0..COLUMNS).map(column).collect()).unwrap()
    }

    /// Peak memory is measured in a separate process, as the kernel reports it.
    #[test]
    fn four_hundred_skewed_columns_keep_within_the_budget() {
        if let Ok(budget) = std::env::var("LATH_MEASURE_MEMORY") {
            let (schema, mut random) = (schema(), fastrand::Rng::with_seed(1));
            let options = WriteOptions::default().memory_budget_bytes(budget.parse().unwrap());
            let mut writer = ParquetWriter::new(std::io::sink(), &schema, options).unwrap();
            let before = memory_bytes("VmHWM");
            for _ in 0..ROWS / BATCH_ROWS {
                writer.write(&batch(&schema, &mut random)).unwrap();
            }
            let summary = writer.finish().unwrap();
            println!("peak {} groups {}", memory_bytes("VmHWM") - before, summary.row_groups);
            return;
        }
        let measure = |budget: usize| {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "memory::linux::four_hundred_skewed_columns_keep_within_the_budget", "--nocapture"])
                .env("LATH_MEASURE_MEMORY", budget.to_string())
                .output()
                .unwrap();
            let output = String::from_utf8_lossy(&child.stdout).into_owned();
            assert!(child.status.success(), "{output}{}", String::from_utf8_lossy(&child.stderr));
            let number = |name: &str| -> usize {
                let rest = output.split(name).nth(1).unwrap();
                rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
            };
            (number("peak"), number("groups"))
        };
        // The total is 250 MB. In addition to the budget there are a batch, the minimum of a leaf (a compressor, a page
        // before it is compressed), and memory that the allocator does not release.
        let (peak, groups) = measure(64 * MIB);
        println!("64 MiB: peak {peak}, {groups} row groups");
        assert!(peak < 96 * MIB, "{peak} bytes in {groups} row groups");
        assert!((4..=20).contains(&groups), "{groups} row groups");
        let (_, groups) = measure(1024 * MIB);
        assert_eq!(groups, 1);
    }
}
