//! Divides the tasks of a scan among workers.

use lath_parquet::ScanTask;
use lath_sql::remote::RemoteScan;

/// Whether workers may read parts of a scan. Operators above a single partition take it for all rows.
pub(crate) fn is_divisible(scan: &RemoteScan) -> bool {
    scan.partitions() > 1
}

/// For each worker the indices of its tasks, in their order.
///
/// The tasks of a file go to the same worker in each query, so that it finds the file's metadata in its caches, as long as no worker gets
/// much more than its share of the bytes: each task goes to the worker with the highest score of file and worker that has room.
pub(crate) fn split(tasks: &[ScanTask], workers: &[&str]) -> Vec<Vec<usize>> {
    let work: Vec<Work<'_>> = tasks
        .iter()
        .map(|task| Work { file: task.location(), part: task.row_group(), bytes: task.byte_count() })
        .collect();
    divide(&work, workers)
}

struct Work<'a> {
    file: &'a str,
    part: usize,
    bytes: u64,
}

fn divide(work: &[Work<'_>], workers: &[&str]) -> Vec<Vec<usize>> {
    let count = workers.len().max(1);
    let total: u64 = work.iter().map(|work| work.bytes.max(1)).sum();
    // A tenth above the share, because files are seldom of a size that divides evenly.
    let room = total.div_ceil(count as u64);
    let room = room + room / 10;
    let mut files: Vec<&str> = work.iter().map(|work| work.file).collect();
    files.sort_unstable();
    files.dedup();
    // Few files are divided by their row groups.
    let by_part = files.len() < 4 * count;
    let names: Vec<u64> = workers.iter().map(|worker| hash(worker)).chain([0]).take(count).collect();
    let mut loads = vec![0_u64; count];
    let mut shares = vec![Vec::new(); count];
    for (index, item) in work.iter().enumerate() {
        let part = if by_part { item.part as u64 } else { 0 };
        let name = mixed(hash(item.file) ^ part);
        let bytes = item.bytes.max(1);
        let has_room = |&worker: &usize| loads[worker] + bytes <= room;
        let best = (0..count).filter(has_room).max_by_key(|&worker| mixed(name ^ names[worker]));
        let least = || (0..count).min_by_key(|&worker| loads[worker]);
        let Some(chosen) = best.or_else(least) else { continue };
        loads[chosen] += bytes;
        shares[chosen].push(index);
    }
    shares
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A hash in which all bits count.
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[String]) -> Vec<Work<'_>> {
        names.iter().map(|file| Work { file, part: 0, bytes: 1 << 20 }).collect()
    }

    #[test]
    fn each_task_has_one_worker_with_room() {
        let names: Vec<String> = (0..200).map(|file| format!("s3://bucket/{file}.parquet")).collect();
        let workers = ["http://a:1/", "http://b:1/", "http://c:1/"];
        let shares = divide(&files(&names), &workers);
        let mut all: Vec<usize> = shares.concat();
        all.sort_unstable();
        assert_eq!(all, (0..200).collect::<Vec<_>>());
        assert!(shares.iter().all(|share| share.is_sorted() && (55..=74).contains(&share.len())), "{shares:?}");
    }

    #[test]
    fn most_files_keep_their_worker_when_one_is_lost() {
        let names: Vec<String> = (0..200).map(|file| format!("s3://bucket/{file}.parquet")).collect();
        let four = ["http://a:1/", "http://b:1/", "http://c:1/", "http://d:1/"];
        let before = divide(&files(&names), &four);
        let after = divide(&files(&names), &four[..3]);
        let kept: usize =
            (0..3).map(|worker| before[worker].iter().filter(|task| after[worker].contains(task)).count()).sum();
        let stayed: usize = (0..3).map(|worker| before[worker].len()).sum();
        assert!(kept * 10 > stayed * 8, "{kept} of {stayed}");
    }

    #[test]
    fn row_groups_of_one_file_are_divided() {
        let work: Vec<Work<'_>> = (0..10).map(|part| Work { file: "one", part, bytes: 100 }).collect();
        let shares = divide(&work, &["http://a:1/", "http://b:1/"]);
        assert!(shares.iter().all(|share| share.len() == 5), "{shares:?}");
        assert_eq!(divide(&work[..1], &["http://a:1/", "http://b:1/"]).concat(), [0]);
    }
}
