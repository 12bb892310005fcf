//! Grows the table of file descriptors before threads open files.
//!
//! Linux doubles the table of a process when it is full. If threads share the table, the thread that grows it waits until every
//! processor has passed through the scheduler (about 10 ms), and so do the others when they next open a file. Opening 1,000 files on
//! two threads took 41 ms, 20 ms of it waiting. A process of one thread does not wait.

use std::io;

/// Makes room for `count` descriptors in all, if the limits of the process allow that many.
#[cfg(target_os = "linux")]
pub(super) fn make_room(count: usize) -> io::Result<()> {
    let highest = i32::try_from(count.saturating_sub(1)).map_err(|_| io::ErrorKind::InvalidInput)?;
    // The table grows up to the highest descriptor that is open, and never shrinks.
    let any = std::fs::File::open("/dev/null")?;
    rustix::io::fcntl_dupfd_cloexec(&any, highest)?;
    Ok(())
}

/// Does nothing: other systems are not known to wait.
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
