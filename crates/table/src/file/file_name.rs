//! Names of the files of a table.

/// The folder with the files of a table, within the table's. Programs that read a folder of Parquet files pass over names that begin so.
pub(crate) const DATA_FOLDER: &str = "_data";

/// A file in the folder of the files, for people. polars reads all files of a folder if their names end alike, and refuses this one.
pub(super) const NOTICE: (&str, &str) = (
    "_README",
    "These are the files of a table of Lath. They are plain Parquet, but have rows that were replaced or deleted, and lack the newest ones.\n\
     Read the table by Lath, or publish or export it: lath table --help\n",
);

/// The same file of an encrypted table.
pub(super) const ENCRYPTED_NOTICE: &str = "These are the files of an encrypted table of Lath. They are Parquet with modular encryption, have rows that were replaced or \
     deleted, and lack the newest ones.\nRead the table by Lath, or export it: lath table --help\n";

/// The ending of the names of files. Not `.parquet`: DuckDB and polars find files that end so at any depth, and would return deleted rows.
const FILE_ENDING: &str = ".pq";

/// The ending of the names of files in format 5 and before. They were in the table's folder itself.
const OLD_FILE_ENDING: &str = ".parquet";

/// The name of a file: no two files ever have the same.
pub(crate) fn file_name(number: u64, incarnation: u64) -> String {
    format!("{DATA_FOLDER}/{number:010}-{incarnation:016x}{FILE_ENDING}")
}

/// Whether a file of a table has its name since before files had a separate folder.
pub(crate) fn is_old_file_name(name: &str) -> bool {
    name.ends_with(OLD_FILE_ENDING)
}

/// The name of a file of the table where it is plain Parquet.
pub(crate) fn exported_name(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    let stem = [FILE_ENDING, OLD_FILE_ENDING].iter().find_map(|ending| name.strip_suffix(ending));
    format!("{}.parquet", stem.unwrap_or(name))
}

/// Whether a name is one of [`file_name`], now or in earlier formats, or one under which such a file is written before it is whole.
pub(crate) fn is_file_name(name: &str) -> bool {
    let (ending, name) = match name.strip_prefix(DATA_FOLDER).and_then(|name| name.strip_prefix('/')) {
        Some(name) => (FILE_ENDING, name),
        None => (OLD_FILE_ENDING, name),
    };
    let name = match name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".partial")) {
        Some(rest) => match rest.rsplit_once(".lath-") {
            Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => return false,
        },
        None => name,
    };
    let Some((number, incarnation)) = name.strip_suffix(ending).and_then(|stem| stem.split_once('-')) else {
        return false;
    };
    number.len() >= 10
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && incarnation.len() == 16
        && incarnation.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tables_are_known_by_their_names() {
        let name = file_name(17, 0xab);
        assert_eq!(name, "_data/0000000017-00000000000000ab.pq");
        assert_eq!(exported_name(&name), "0000000017-00000000000000ab.parquet");
        let old = "0000000017-00000000000000ab.parquet";
        let unfinished = ["_data/.0000000017-00000000000000ab.pq.lath-0.partial", &format!(".{old}.lath-0.partial")];
        assert!(is_file_name(&name) && is_file_name(old) && unfinished.into_iter().all(is_file_name), "{name}");
        let others =
            ["a.parquet", "0000000001-zz.parquet", "table.lath", ".x.lath-0.partial", ".partial", ".", "_data/a.pq"];
        for other in others {
            assert!(!is_file_name(other), "{other}");
        }
    }
}
