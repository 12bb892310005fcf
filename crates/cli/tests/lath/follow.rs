//! `table follow`: copies that processes keep, read, and promote.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::invocation::{Run, command, lath};

struct Folders(tempfile::TempDir);

impl Folders {
    /// With a table of two rows.
    fn new() -> Self {
        let folders = Self(tempfile::tempdir().unwrap());
        let rows = folders.path("rows.csv");
        fs::write(&rows, "id,name\n1,Oslo\n2,Bergen\n").unwrap();
        assert_eq!(lath(["table", "create", &folders.path("orders"), "--key", "id", &rows]).stderr, "2 rows put\n");
        folders
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn put(&self, table: &str, id: u32) -> Run {
        let rows = self.path("more.csv");
        fs::write(&rows, format!("id,name\n{id},Troms{id}\n")).unwrap();
        lath(["table", "upsert", &self.path(table), &rows])
    }

    fn count(&self, table: &str) -> String {
        lath(["table", "count", &self.path(table), "--wait", "30"]).text(0).trim().to_owned()
    }

    fn follow_once(&self) -> Run {
        lath(["table", "follow", &self.path("orders"), &self.path("copy"), "--once"])
    }
}

#[test]
fn copy_is_made_kept_shown_and_promoted() {
    let folders = Folders::new();
    let first = folders.follow_once();
    assert_eq!(first.text(0), "");
    assert!(
        first.stderr.contains("a whole copy at commit") && first.stderr.contains("no copy yet"),
        "{}",
        first.stderr
    );
    folders.put("orders", 3).text(0);
    let status = lath(["table", "follow", "--status", &folders.path("copy")]);
    assert!(status.text(0).contains("commits behind        1\n"), "{}", status.text(0));
    assert!(folders.follow_once().stderr.contains("after 1 commit: 0 files"));
    let status = lath(["table", "follow", "--status", &folders.path("copy"), "--json"]);
    let status: serde_json::Value = serde_json::from_str(status.text(0)).unwrap();
    assert_eq!(status["commit"], status["source_commit"]);
    assert_eq!((&status["commits_behind"], &status["seconds_behind"]), (&0.into(), &0.0.into()));
    assert_eq!(folders.count("copy"), "3");

    let copy = folders.path("copy");
    for command in [
        &["table", "delete", &copy, "1"][..],
        &["table", "compact", &copy],
        &["table", "repair", &copy],
        &["table", "snapshot", &copy, "monday"],
        &["table", "changes", &copy, "--keep"],
        &["table", "history", &copy, "--keep", "7d"],
        &["table", "publish", &copy, "--as", "iceberg"],
    ] {
        let refused = lath(command.iter().copied());
        assert_ne!(refused.code, 0, "{command:?}");
        assert!(
            refused.stderr.contains("is a follower of") && refused.stderr.contains("--promote"),
            "{}",
            refused.stderr
        );
    }
    assert!(folders.put("copy", 4).stderr.contains("is a follower of"));
    assert!(lath(["table", "check", &copy]).text(0).contains("intact: 3 rows"));

    let promoted = lath(["table", "follow", "--promote", &copy]);
    assert!(promoted.stderr.contains("is independent now"), "{}", promoted.stderr);
    assert_eq!(folders.put("copy", 4).stderr, "1 row put\n");
    assert_eq!((folders.count("copy").as_str(), folders.count("orders").as_str()), ("4", "3"));
    assert!(folders.follow_once().stderr.contains("promoted"), "it is not followed again by mistake");
    assert!(lath(["table", "follow", "--status", &copy]).stderr.contains("no follower"));
    assert!(lath(["table", "follow", "--promote", &copy]).stderr.contains("no follower"));
}

#[test]
fn unsuitable_folders_and_arguments_are_errors() {
    let folders = Folders::new();
    let (orders, none) = (folders.path("orders"), folders.path("none"));
    let usage = |arguments: &[&str], part: &str| {
        let run = lath([&["table", "follow"], arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    };
    usage(&[&orders], "COPY");
    usage(&[&orders, &orders], "both the source and the copy");
    usage(&[&orders, &format!("{orders}/copy")], "within the source");
    usage(&["--status", &none], "no table");
    usage(&["--promote", &none], "no table");
    usage(&[&orders, &none, "--promote", &none], "cannot be used with");
    usage(&[&orders, &none, "--json"], "cannot be used with");
    usage(&["--json"], "COPY");
    usage(&["s3://a/b", "s3://a/c"], "on this machine");
    usage(&[&none, &orders], "--await-source waits until there is one");
    usage(&["--status", &orders, "--await-source"], "cannot be used with");
    assert!(!fs::exists(none).unwrap());
}

#[cfg(unix)]
fn start(folders: &Folders) -> Child {
    command(["table", "follow", &folders.path("orders"), &folders.path("copy")]).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until a table has this number of rows.
#[cfg(unix)]
fn wait_for(folders: &Folders, table: &str, rows: &str) {
    let has_rows = || {
        sleep(Duration::from_millis(100));
        lath(["table", "count", &folders.path(table), "--wait", "30"]).stdout == format!("{rows}\n").as_bytes()
    };
    assert!((0..600).any(|_| has_rows()), "{table} does not get {rows} rows");
}

#[cfg(unix)]
#[test]
fn running_follower_copies_commits_until_a_signal_and_goes_on_after_a_kill() {
    use std::os::unix::process::ExitStatusExt;
    let folders = Folders::new();
    let mut follower = start(&folders);
    wait_for(&folders, "copy", "2");
    folders.put("orders", 3).text(0);
    wait_for(&folders, "copy", "3");
    let promoted = lath(["table", "follow", "--promote", &folders.path("copy"), "--wait", "0"]);
    assert!(promoted.stderr.contains("another process follows"), "{}", promoted.stderr);
    follower.kill().unwrap();
    follower.wait().unwrap();
    folders.put("orders", 4).text(0);
    let mut follower = start(&folders);
    wait_for(&folders, "copy", "4");
    if !crate::interrupt::is_ignored(2) {
        assert!(Command::new("kill").args(["-INT", &follower.id().to_string()]).status().unwrap().success());
        assert_eq!(follower.wait().unwrap().signal(), Some(2));
        let mut left: Vec<_> =
            fs::read_dir(folders.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["copy", "more.csv", "orders", "rows.csv"], "nothing stays beside the copy");
    } else {
        follower.kill().unwrap();
        follower.wait().unwrap();
    }
    assert!(lath(["table", "check", &folders.path("copy")]).text(0).contains("intact: 4 rows"));
}

#[cfg(unix)]
#[test]
fn follower_waits_for_its_source() {
    use std::io::{BufRead, BufReader};
    let folders = Folders(tempfile::tempdir().unwrap());
    let arguments = ["table", "follow", &folders.path("orders"), &folders.path("copy"), "--await-source"];
    let mut follower = command(arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(follower.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.contains("orders") && first.ends_with("; waiting"), "{first}");
    let rows = folders.path("rows.csv");
    fs::write(&rows, "id,name\n1,Oslo\n2,Bergen\n").unwrap();
    lath(["table", "create", &folders.path("orders"), "--key", "id", &rows]).text(0);
    wait_for(&folders, "copy", "2");
    follower.kill().unwrap();
    follower.wait().unwrap();
}
