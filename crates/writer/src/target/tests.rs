use std::ffi::OsString;
use std::thread;
use std::time::{Duration, SystemTime};

use super::*;

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn the_target_changes_when_it_is_committed_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["f"]);
}

#[test]
fn what_is_not_committed_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = AtomicFile::create(folder.path().join("f")).unwrap();
    file.write_all(b"new").unwrap();
    drop(file);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn two_writers_of_one_file_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut files = [AtomicFile::create(&path).unwrap(), AtomicFile::create(&path).unwrap()];
    files[0].write_all(b"first").unwrap();
    files[1].write_all(b"second").unwrap();
    for file in files {
        file.commit().unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(names(folder.path()), ["f"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_its_file_keeps_its_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("f"), folder.path().join("link"));
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    let mut file = AtomicFile::create(&link).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_folder_is_no_target() {
    let folder = tempfile::tempdir().unwrap();
    let error = AtomicFile::create(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Io { op: "create", .. }), "{error}");
    assert!(names(folder.path()).is_empty());
}

/// Writes a leftover of a killed process for `name`, old enough for any file system.
fn leave_behind(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, "half").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 24 * 60 * 60);
    File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    path
}

#[test]
fn what_killed_processes_have_left_of_a_file_is_removed_when_it_is_created() {
    let folder = tempfile::tempdir().unwrap();
    for number in [0, 1, 3] {
        leave_behind(folder.path(), &format!(".f.lath-{number}.partial"));
    }
    // Temporary files of another file, and of another program.
    leave_behind(folder.path(), ".g.lath-0.partial");
    leave_behind(folder.path(), ".f.partial");
    AtomicFile::create(folder.path().join("f")).unwrap().commit().unwrap();
    assert_eq!(names(folder.path()), [".f.partial", ".g.lath-0.partial", "f"]);
}

#[test]
fn a_temporary_file_in_use_is_not_taken_for_a_leftover() {
    let folder = tempfile::tempdir().unwrap();
    let locked = leave_behind(folder.path(), ".f.lath-0.partial");
    let lock = File::open(&locked).unwrap();
    lock.lock().unwrap();
    AtomicFile::create(folder.path().join("f")).unwrap().commit().unwrap();
    assert_eq!(names(folder.path()), [".f.lath-0.partial", "f"]);
    drop(lock);
    AtomicFile::create(folder.path().join("f")).unwrap().commit().unwrap();
    assert_eq!(names(folder.path()), ["f"]);
}

#[cfg(unix)]
#[test]
fn a_link_with_a_temporary_name_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = leave_behind(folder.path(), "elsewhere");
    std::os::unix::fs::symlink(&elsewhere, folder.path().join(".f.lath-0.partial")).unwrap();
    let mut file = AtomicFile::create(folder.path().join("f")).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert_eq!(names(folder.path()), [".f.lath-0.partial", "elsewhere", "f"]);
    assert_eq!(fs::read(elsewhere).unwrap(), b"half");
}

#[test]
fn writers_of_one_file_that_come_and_go_do_not_remove_each_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    thread::scope(|scope| {
        for thread in 0..4u8 {
            let path = &path;
            scope.spawn(move || {
                for round in 0..100u8 {
                    let mut file = AtomicFile::create(path).unwrap();
                    file.write_all(&[thread; 100]).unwrap();
                    file.write_all(&[thread; 100]).unwrap();
                    if (round + thread) % 3 == 0 {
                        drop(file);
                    } else {
                        file.commit().unwrap();
                    }
                    let bytes = fs::read(path).unwrap_or_else(|_| vec![0; 200]);
                    assert!(bytes.len() == 200 && bytes.iter().all(|&byte| byte == bytes[0]), "{bytes:?}");
                }
            });
        }
    });
    assert_eq!(names(folder.path()), ["f"]);
}

#[test]
fn what_is_abandoned_is_neither_left_nor_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, "old").unwrap();
    let uncommitted = UncommittedFiles::new();
    AtomicFile::create_with(folder.path().join("committed"), &uncommitted).unwrap().commit().unwrap();
    let mut file = AtomicFile::create_with(&path, &uncommitted).unwrap();
    let mut files = AtomicFiles::create_with(folder.path().join("new/deep"), "parts", &uncommitted).unwrap();
    let part = AtomicFile::create_with(files.path("part").unwrap(), &uncommitted).unwrap();
    let begun = files.file("begun").unwrap();
    uncommitted.abandon();
    assert_eq!(names(folder.path()), ["committed", "f"]);
    file.write_all(b"new").unwrap();
    let later = [files.file("later").map(drop), AtomicFile::create_with(&path, &uncommitted).map(drop)];
    for error in [file.commit(), part.commit(), begun.commit(), files.commit()].into_iter().chain(later) {
        assert!(matches!(error, Err(Error::Cancelled)), "{error:?}");
    }
    assert_eq!(names(folder.path()), ["committed", "f"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn abandoning_while_others_commit_leaves_whole_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let uncommitted = UncommittedFiles::new();
    let committed = thread::scope(|scope| {
        let (folder, list) = (folder.path(), &uncommitted);
        let writer = |thread: usize| {
            move || {
                for number in 0.. {
                    let path = folder.join(format!("{thread}-{number}"));
                    let Ok(mut file) = AtomicFile::create_with(path, list) else { return number };
                    file.write_all(b"all").unwrap();
                    if file.commit().is_err() {
                        return number;
                    }
                }
                0
            }
        };
        let threads = [scope.spawn(writer(0)), scope.spawn(writer(1))];
        thread::sleep(Duration::from_millis(20));
        uncommitted.abandon();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    let names = names(folder.path());
    assert_eq!(names.len(), committed);
    assert!(names.iter().all(|name| fs::read(folder.path().join(name)).unwrap() == b"all"), "{names:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_says_when_the_file_is_in_place_but_its_folder_is_not_on_the_disk() {
    use std::os::unix::fs::OpenOptionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    // A descriptor that allows no operation.
    let flags = i32::try_from(rustix::fs::OFlags::PATH.bits()).unwrap();
    let useless = File::options().read(true).custom_flags(flags).open(folder.path()).unwrap();
    let Sink::Local { pending, .. } = &mut file.sink else { panic!("a local file") };
    pending.folder = Folder::from_file(useless);
    let error = file.commit().unwrap_err().to_string();
    assert!(error.contains("the output is complete and in place, but a power failure may undo that"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

fn write(path: &Path, text: &str) {
    let mut file = AtomicFile::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.commit().unwrap();
}

#[test]
fn several_files_appear_together() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new/deep");
    let mut files = AtomicFiles::create_with(&target, "parts", &UncommittedFiles::new()).unwrap();
    for name in ["1", "2"] {
        write(&files.path(name).unwrap(), name);
        assert_eq!(names(&target), [".parts.lath-0.partial"]);
    }
    files.commit().unwrap();
    assert_eq!(names(&target), ["1", "2"]);
    assert_eq!(fs::read(target.join("2")).unwrap(), b"2");
}

#[test]
fn nothing_is_left_of_several_uncommitted_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("1"), "old").unwrap();
    for target in ["", "new/deep"] {
        let mut files =
            AtomicFiles::create_with(folder.path().join(target), "parts", &UncommittedFiles::new()).unwrap();
        write(&files.path("1").unwrap(), "new");
        drop(files);
        assert_eq!(names(folder.path()), ["1"]);
        assert_eq!(fs::read(folder.path().join("1")).unwrap(), b"old");
    }
}

#[test]
fn a_file_that_cannot_be_renamed_keeps_the_others_away() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("2")).unwrap();
    let mut files = AtomicFiles::create_with(folder.path(), "parts", &UncommittedFiles::new()).unwrap();
    for name in ["1", "2", "3"] {
        write(&files.path(name).unwrap(), name);
    }
    assert!(matches!(files.commit(), Err(Error::Io { .. })));
    assert_eq!(names(folder.path()), ["2"]);
}

#[test]
fn files_in_folders_below_appear_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a=1")).unwrap();
    let begin = |paths: &[&str]| {
        let mut files = AtomicFiles::create_with(folder.path(), "parts", &UncommittedFiles::new()).unwrap();
        for path in paths {
            write(&files.path(path).unwrap(), path);
        }
        files
    };
    drop(begin(&["a=1/x", "a=2/x"]));
    assert_eq!(names(folder.path()), ["a=1"]);
    begin(&["a=1/x", "a=2/b=1/x", "a=2/b=1/y"]).commit().unwrap();
    assert_eq!(names(folder.path()), ["a=1", "a=2"]);
    assert_eq!(names(&folder.path().join("a=2/b=1")), ["x", "y"]);
    // The last one is a folder, which a file cannot replace.
    assert!(matches!(begin(&["a=1/y", "a=2/b=0/x", "a=2/b=1"]).commit(), Err(Error::Io { .. })));
    assert_eq!(names(&folder.path().join("a=1")), ["x"]);
    assert_eq!(names(&folder.path().join("a=2")), ["b=1"]);
    let mut files = begin(&[]);
    for path in ["../x", "/x", "", "a/.."] {
        assert!(matches!(files.path(path), Err(Error::Invalid { .. })), "{path}");
    }
}

#[test]
fn the_folder_that_a_killed_process_has_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let leftover = folder.path().join(".parts.lath-0.partial");
    fs::create_dir(&leftover).unwrap();
    fs::write(leftover.join("1"), "half").unwrap();
    // If locks cannot be trusted, it would have to be older.
    if !Folder::open(folder.path()).unwrap().may_be_remote() {
        AtomicFiles::create_with(folder.path(), "parts", &UncommittedFiles::new()).unwrap().commit().unwrap();
        assert!(names(folder.path()).is_empty());
    }
}
