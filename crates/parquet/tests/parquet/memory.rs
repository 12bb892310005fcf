//! Streaming holds only the batch in flight and the pages being decoded.

#[cfg(target_os = "linux")]
mod linux {
    use std::process::Command;

    use arrow_array::cast::AsArray;
    use lath_parquet::{ParquetFile, Strings};
    use lath_testkit::{memory_bytes, parquet_test_data};

    const GIB: u64 = 1 << 30;

    /// The file has a map with one string of 1 GiB in each of two rows: one page for each, one row group for both.
    ///
    /// Peak memory is measured in a separate process, as the kernel reports it. The bound: the page, which the batch of
    /// views shares, and the next page, whose first repetition level tells whether the row continues. A copy of a
    /// string would exceed it.
    #[test]
    fn a_column_chunk_of_two_gibibytes_streams_page_by_page() {
        let Some(folder) = parquet_test_data() else { return };
        if std::env::var_os("LATH_MEASURE_MEMORY").is_some() {
            let path = folder.join("data/large_string_map.brotli.parquet");
            let file = ParquetFile::open(path).unwrap();
            let mut total = 0;
            for batch in file.scan().batch_size(1).strings(Strings::Views).build().unwrap() {
                let batch = batch.unwrap();
                let map = batch.column(0).as_map();
                let strings = map.keys().as_string_view_opt().into_iter().chain(map.values().as_string_view_opt());
                total += strings.flat_map(|array| array.lengths().map(u64::from).collect::<Vec<_>>()).sum::<u64>();
            }
            println!("total {total}, peak {}", memory_bytes("VmHWM"));
            return;
        }
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory::linux::a_column_chunk_of_two_gibibytes_streams_page_by_page", "--nocapture"])
            .env("LATH_MEASURE_MEMORY", "1")
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success(), "{output}{}", String::from_utf8_lossy(&child.stderr));
        let number = |name: &str| -> u64 {
            let rest = output.split(name).nth(1).unwrap();
            rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
        };
        println!("{output}");
        assert!(number("total") >= 2 * GIB, "{output}");
        assert!(number("peak") < 2 * GIB + GIB / 4, "{output}");
    }
}
