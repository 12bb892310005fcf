//! How much memory can be had.

use std::fs;

/// Bytes that the system says can be taken without swapping, within the limit of the control group if there is one;
/// `None` where it does not say.
pub(crate) fn available() -> Option<u64> {
    let system = mem_available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .zip(number("/sys/fs/cgroup/memory.current"))
        .map(|(most, used)| most.saturating_sub(used));
    Some(group.map_or(system, |group| group.min(system)))
}

/// The `MemAvailable` line of `/proc/meminfo`, in bytes.
fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_available_memory_is_read() {
        let meminfo =
            "MemTotal:       24605588 kB\nMemFree:         5500000 kB\nMemAvailable:   22000000 kB\nBuffers: 1 kB\n";
        assert_eq!(mem_available(meminfo), Some(22_000_000 << 10));
        assert_eq!(mem_available("MemTotal: 1 kB\n"), None);
    }
}
