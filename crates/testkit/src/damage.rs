//! Damages files like disks and people do.

use std::fs;
use std::path::PathBuf;

use fastrand::Rng;

/// Changes one of these files, which no process reads at the same time. Returns the name of the file and the change.
/// Empty and missing files are skipped.
///
/// | share | change |
/// | --- | --- |
/// | 5 of 10 | one bit |
/// | 1 of 10 each | zeros in a sector of 512 bytes; a sector that is a copy of another; the end cut off; the file removed; two files swapped |
///
/// # Panics
/// If all files are empty, or the system fails to read or write one.
pub fn damage_a_file(files: &[PathBuf], random: &mut Rng) -> String {
    let mut files: Vec<_> = files.iter().filter(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0)).collect();
    files.sort();
    let path = files[random.usize(..files.len())];
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut bytes = read(path);
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    let at = random.usize(..used);
    let sector = at / 512 * 512..(at / 512 * 512 + 512).min(bytes.len());
    let what = match random.u8(..10) {
        0..=4 => {
            bytes[at] ^= 1 << random.u8(..8);
            format!("a bit of byte {at} of {name}")
        }
        5 => {
            bytes[sector.clone()].fill(0);
            format!("zeros in {sector:?} of {name}")
        }
        6 => {
            let from = random.usize(..used) / 512 * 512;
            let other = bytes[from..(from + sector.len()).min(bytes.len())].to_vec();
            bytes[sector.start..sector.start + other.len()].copy_from_slice(&other);
            format!("{from} copied to {sector:?} of {name}")
        }
        7 => {
            bytes.truncate(at);
            format!("{name} cut off at {at}")
        }
        8 => {
            assert!(fs::remove_file(path).is_ok(), "{name} cannot be removed");
            return format!("{name} removed");
        }
        _ => {
            let other = files[random.usize(..files.len())];
            write(path, &read(other));
            write(other, &bytes);
            return format!("{name} and {} swapped", other.file_name().unwrap_or_default().to_string_lossy());
        }
    };
    write(path, &bytes);
    what
}

fn read(path: &PathBuf) -> Vec<u8> {
    fs::read(path).expect("a file that is there")
}

fn write(path: &PathBuf, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file that can be written");
}
