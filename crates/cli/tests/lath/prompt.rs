//! The prompt of `lath sql`, on a terminal.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rexpect::session::{Options, PtySession, spawn_with_options};

use crate::interrupt::is_ignored;
use crate::invocation::{BINARY, sample};

/// A query that would take hours and returns no row before its end.
const LONG: &str =
    "SELECT sum(a.value % 7) FROM generate_series(1, 1000000) a CROSS JOIN generate_series(1, 1000000) b;";

/// Starts a prompt on a terminal of 100 columns and `rows` rows, with `home` as its home directory.
fn prompt(home: &Path, args: &str, rows: usize) -> PtySession {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("stty cols 100 rows {rows}; exec {BINARY} sql {args}")])
        .current_dir(home)
        .env("HOME", home)
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env("PAGER", "sed 's/^/paged /'")
        .env_remove("XDG_DATA_HOME")
        .env_remove("COLUMNS");
    let options = Options::new().timeout_ms(Some(20_000)).strip_ansi_escape_codes(true);
    let mut session = spawn_with_options(command, options).unwrap();
    session.exp_string("lath> ").unwrap();
    session
}

/// Ends with Ctrl-D, and expects success.
fn end(mut session: PtySession) {
    session.send_control('d').unwrap();
    session.exp_eof().unwrap();
    // The type of the status has no public name.
    let status = format!("{:?}", session.process().wait().unwrap());
    assert!(status.starts_with("Exited(") && status.ends_with(", 0)"), "{status}");
}

/// Types a line, and waits for output that matches `answer` and the next prompt. Each byte of the output is one character of the pattern.
#[track_caller]
fn ask(session: &mut PtySession, line: &str, answer: &str) -> String {
    session.send_line(line).unwrap();
    expect(session, answer)
}

/// Waits for an answer and the next prompt, and returns the text between them.
#[track_caller]
fn expect(session: &mut PtySession, answer: &str) -> String {
    session.exp_regex(answer).and_then(|_| session.exp_string("lath> ")).unwrap()
}

/// Types keys without Enter, and waits until the terminal shows something.
#[track_caller]
fn press(session: &mut PtySession, keys: &str, shown: &str) {
    session.send(keys).unwrap();
    session.flush().unwrap();
    session.exp_string(shown).unwrap();
}

#[test]
fn statements_of_several_lines_are_answered_and_errors_end_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt(home.path(), "", 40);
    session.send_line("SELECT 6 * 7").unwrap();
    ask(&mut session, "  AS answer;", r"answer\s+\S+\s+42\s+1 row, 1 column\s+\d+ ms");
    ask(
        &mut session,
        "SELECT nothing;",
        r#"error: line 1, column 8: there is no column "nothing"\s+SELECT nothing;\s+ {9}\^{7}\s"#,
    );
    ask(&mut session, "CREATE VIEW v AS SELECT 1 AS one; SELECT one + 1 AS two FROM v;", r"two\s+\S+\s+2\s");
    ask(&mut session, ".tables", r"\sv\s");
    ask(&mut session, ".schema v", r"one\s+Int64");
    ask(&mut session, ".schema 'nowhere.parquet'", r"error: .*nowhere\.parquet");
    ask(&mut session, ".nothing", r"error: unknown command \.nothing");
    end(session);
}

#[test]
fn modes_and_timing_are_those_that_were_asked_for() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("q.sql"), "SELECT 'from a file' AS a;\nSELECT 2 AS b").unwrap();
    fs::write(home.path().join("wrong.sql"), "SELECT 1;\nSELECT 1 +").unwrap();
    let mut session = prompt(home.path(), "", 40);
    ask(&mut session, ".mode csv", "");
    ask(&mut session, "SELECT 1 AS a, 'x y' AS b;", r"a,b\s+1,x y\s+1 row, \d+ ms");
    ask(&mut session, ".read q.sql", r"a\s+from a file\s[\s\S]*b\s+2\s");
    ask(&mut session, ".read wrong.sql", r"error: wrong\.sql: line 2, column 11: the statement ends");
    ask(&mut session, ".timing off", "");
    ask(&mut session, ".mode vertical", "");
    let rest = ask(&mut session, "SELECT 1 AS a, 'x y' AS bc;", r"row 1 \S+\s+a   1\s+bc  x y\s+1 row, 2 columns\s");
    assert!(!rest.contains("ms"), "{rest}");
    ask(&mut session, ".mode parquet", "error: parquet cannot be shown in a terminal");
    ask(&mut session, ".help", r"\.schema");
    session.send_line(".quit").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn tab_completes_names_and_paths() {
    let home = tempfile::tempdir().unwrap();
    fs::copy(sample("trips/2025-01.parquet"), home.path().join("january.parquet")).unwrap();
    let mut session = prompt(home.path(), "--format csv", 40);
    press(&mut session, "SELECT count(*) AS n FROM 'janu", "'janu");
    press(&mut session, "\t", "january.parquet'");
    ask(&mut session, ";", r"\sn\s+[1-9][0-9]+\s");
    // The table is known when the cursor is back at the column.
    press(&mut session, "SELECT max() AS longest FROM 'january.parquet';", "parquet';");
    press(&mut session, &format!("\x01{}kilo", "\x06".repeat("SELECT max(".len())), "max(kilo)");
    press(&mut session, "\t", "kilometres");
    ask(&mut session, "", r"longest\s+12\.\d+\s");
    end(session);
}

#[test]
fn ctrl_c_stops_a_query_and_clears_a_line_and_the_session_goes_on() {
    if is_ignored(2) {
        eprintln!("SIGINT is ignored here, and not tested");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt(home.path(), "", 40);
    // Queries that continue after being stopped would occupy all threads.
    for _ in 0..4 {
        session.send_line(LONG).unwrap();
        session.exp_string("b;").unwrap();
        sleep(Duration::from_millis(500));
        let start = Instant::now();
        session.send_control('c').unwrap();
        expect(&mut session, "stopped");
        assert!(start.elapsed() < Duration::from_secs(60), "it took {:?}", start.elapsed());
    }
    press(&mut session, "SELECT 'half a statement", "half a statement");
    session.send_control('c').unwrap();
    session.exp_string("lath> ").unwrap();
    ask(&mut session, "SELECT 40 + 2 AS answer;", r"answer\s+\S+\s+42\s");
    end(session);
}

#[test]
fn a_query_that_is_out_of_memory_says_so_and_the_session_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt(home.path(), "--memory 1MiB", 40);
    let query = "SELECT array_length(array_agg(value)) FROM generate_series(1, 3000000);";
    ask(&mut session, query, r"error: .*(memory|allocate)");
    ask(&mut session, "SELECT 40 + 2 AS answer;", r"answer\s+\S+\s+42\s");
    end(session);
}

#[test]
fn the_history_is_kept_unless_it_is_not_wanted() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".local/share/lath/sql_history");
    let mut session = prompt(home.path(), "", 40);
    session.send_line("SELECT 'first'").unwrap();
    ask(&mut session, " AS a;", "1 row");
    // Up and Enter runs it again.
    ask(&mut session, "\x1b[A", r"a\s+\S+\s+first\s+1 row");
    end(session);
    assert!(fs::read_to_string(&file).unwrap().contains("SELECT 'first'"), "it is in the user's data folder");

    let mut session = prompt(home.path(), "", 40);
    ask(&mut session, "\x1b[A", r"a\s+\S+\s+first\s+1 row");
    end(session);

    let before = fs::read(&file).unwrap();
    let mut session = prompt(home.path(), "--no-history", 40);
    ask(&mut session, "SELECT 'second' AS b;", r"b\s+\S+\s+second\s+1 row");
    end(session);
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn an_open_transaction_is_shown_and_undone_at_the_end() {
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt(home.path(), "--database shop", 24);
    ask(&mut session, "CREATE TABLE t (id BIGINT PRIMARY KEY);", "");
    session.send_line("BEGIN;").unwrap();
    session.exp_string("lath*> ").unwrap();
    session.send_line("INSERT INTO t VALUES (1);").unwrap();
    session.exp_string("lath*> ").unwrap();
    // An error leaves it open.
    session.send_line("INSERT INTO t VALUES (2), (1);").unwrap();
    session.exp_string("already").unwrap();
    session.exp_string("lath*> ").unwrap();
    session.send_line("SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; COMMIT;").unwrap();
    session.exp_string("lath> ").unwrap();
    ask(&mut session, "SELECT count(*) AS rows FROM t;", "1");
    session.send_line("BEGIN; DELETE FROM t;").unwrap();
    session.exp_string("lath*> ").unwrap();
    session.send_control('d').unwrap();
    session.exp_string("was not committed, so its changes are undone").unwrap();
    session.exp_eof().unwrap();
    let mut session = prompt(home.path(), "--database shop", 24);
    ask(&mut session, "SELECT count(*) AS rows FROM t;", "1");
    end(session);
}

#[test]
fn what_is_typed_while_a_query_runs_is_not_lost() {
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt(home.path(), "--format csv", 40);
    session.send("SELECT count(*) AS a FROM generate_series(1, 3000000);\rSELECT 'next' AS b;\r").unwrap();
    session.flush().unwrap();
    expect(&mut session, r"a\s+3000000\s[\s\S]*b\s+next\s");
    end(session);
}

#[test]
fn answers_longer_than_the_screen_go_to_the_pager() {
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt(home.path(), "--format csv", 12);
    ask(&mut session, "SELECT 'few ' || value AS text FROM generate_series(1, 5);", r"\nfew 1\s+few 2");
    let all = r"paged many 1\s[\s\S]*paged many 500\s+500 rows";
    ask(&mut session, "SELECT 'many ' || value AS text FROM generate_series(1, 500);", all);
    ask(&mut session, ".pager off", "");
    ask(&mut session, "SELECT 'all ' || value AS text FROM generate_series(1, 500);", r"\nall 500\s");
    end(session);
}
