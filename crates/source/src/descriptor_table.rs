//! Room for descriptors, made before threads open files.
//!
//! Linux doubles a process's table of descriptors when it is full. Where threads share the table, the one whose file does not
//! fit waits until every processor has passed through the scheduler (about 10 ms), and so do the others once they open
//! files: 1,000 files opened by two threads took 41 ms of which 20 were waited. A process of one thread does not wait.

use std::io;

/// Makes room for `count` descriptors in all, as far as the process may have so many.
#[cfg(target_os = "linux")]
pub(super) fn make_room(count: usize) -> io::Result<()> {
    let highest = i32::try_from(count.saturating_sub(1)).map_err(|_| io::ErrorKind::InvalidInput)?;
    // The table reaches to any descriptor that there is, and does not shrink.
    let any = std::fs::File::open("/dev/null")?;
    rustix::io::fcntl_dupfd_cloexec(&any, highest)?;
    Ok(())
}

/// Not known to be of use.
#[cfg(not(target_os = "linux"))]
pub(super) fn make_room(_count: usize) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn table_len() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").expect("the system says it");
        let len = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
        len.and_then(|len| len.trim().parse().ok()).expect("a number")
    }

    #[test]
    fn the_table_has_room_for_as_many_as_were_asked_for() {
        make_room(700).expect("less than any limit");
        assert!(table_len() >= 700);
        assert!(make_room(usize::MAX).is_err());
        make_room(0).expect("nothing to be done");
    }
}
