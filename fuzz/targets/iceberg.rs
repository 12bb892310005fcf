#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lath_fuzz_targets::iceberg::run(data));
