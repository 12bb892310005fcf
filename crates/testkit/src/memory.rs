use std::fs;

/// Bytes of memory of this process, by a field of Linux's `/proc/self/status`: `VmHWM` is the peak, `VmRSS` is what it has now.
///
/// # Panics
/// If Linux does not have the field.
pub fn memory_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has the status of each process");
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    1024 * kilobytes.expect("the status has a number of kilobytes in the field")
}
