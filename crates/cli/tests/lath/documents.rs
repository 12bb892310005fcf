//! Runs the shell sessions of the documentation on a terminal and compares the output with the pages.
//!
//! A session is a fenced block whose first line starts with `$ `. A line that starts with `> ` continues the command above it, and the
//! other lines are output. In output, `…` stands for any text, and a line of `…` for any lines. The sessions of a page run one after the
//! other in a folder that has only the sample data, as `examples/`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::invocation::BINARY;

/// Runs from a clone, as the README starts.
const FROM_A_CLONE: &str = "cargo run --release -p lath-cli --no-default-features -- ";
/// Printed before the output of each command.
const SEPARATOR: &str = "==== next command";

/// A command of a session, and the output that the page promises.
struct Step {
    line_number: usize,
    command: String,
    expected: Vec<String>,
}

#[test]
fn commands_of_the_documentation_print_what_it_says() {
    let mut commands = 0;
    for page in pages() {
        let steps = steps(&fs::read_to_string(&page).unwrap());
        if steps.is_empty() {
            continue;
        }
        let Some(outputs) = outputs(&steps) else { return };
        assert_eq!(outputs.len(), steps.len(), "{}: a command ended the shell: {outputs:?}", page.display());
        for (step, output) in steps.iter().zip(outputs) {
            let found: Vec<&str> = output.lines().map(str::trim_end).collect();
            let expected: Vec<&str> = step.expected.iter().map(String::as_str).collect();
            assert!(
                matches(&expected, &found),
                "{}:{}: {}\nprints\n{}\ninstead of\n{}",
                page.display(),
                step.line_number,
                step.command,
                found.join("\n"),
                expected.join("\n")
            );
        }
        commands += steps.len();
    }
    assert!(commands > 20, "only {commands} commands were found");
}

/// The README, and the pages of `docs/`.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md")];
    let docs = fs::read_dir(repository().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    pages.sort();
    pages
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = page.lines().enumerate().peekable();
    while let Some((_, line)) = lines.next() {
        if !line.starts_with("```") {
            continue;
        }
        let is_session = lines.peek().is_some_and(|(_, first)| first.starts_with("$ "));
        for (index, line) in lines.by_ref().take_while(|(_, line)| !line.starts_with("```")) {
            if !is_session {
            } else if let Some(command) = line.strip_prefix("$ ") {
                let command = command.replace(FROM_A_CLONE, "lath ");
                steps.push(Step { line_number: index + 1, command, expected: Vec::new() });
            } else if let Some(step) = steps.last_mut() {
                match line.strip_prefix("> ") {
                    Some(more) if step.expected.is_empty() => write!(step.command, "\n{more}").unwrap(),
                    _ => step.expected.push(line.trim_end().to_owned()),
                }
            }
        }
    }
    steps
}

/// The output of each command on a terminal of 160 columns; `None` if `script`, which makes one, is not installed.
fn outputs(steps: &[Step]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let session = tempfile::NamedTempFile::new().unwrap();
    let mut text = "stty cols 160 rows 50 -echo\n".to_owned();
    for step in steps {
        writeln!(text, "echo '{SEPARATOR}'\n{}", step.command).unwrap();
    }
    fs::write(session.path(), text).unwrap();
    let samples = folder.path().join("examples");
    std::os::unix::fs::symlink(repository().join("examples"), samples).unwrap();
    let binaries = Path::new(BINARY).parent().unwrap().to_str().unwrap();
    let output = Command::new("script")
        .args(["-qec", &format!("bash {}", session.path().display()), "/dev/null"])
        .current_dir(folder.path())
        .env("PATH", format!("{binaries}:{}", std::env::var("PATH").unwrap()))
        .envs([("TERM", "xterm"), ("NO_COLOR", "1"), ("LC_ALL", "C.UTF-8")])
        .env_remove("COLUMNS")
        .stdin(std::process::Stdio::null())
        .output();
    match output {
        Ok(output) => {
            let text = String::from_utf8(output.stdout).unwrap().replace('\r', "");
            Some(text.split(&format!("{SEPARATOR}\n")).skip(1).map(str::to_owned).collect())
        }
        Err(error) => {
            eprintln!("SKIPPED: there is no terminal to test on, because `script` cannot be run: {error}");
            None
        }
    }
}

/// Whether the output matches the page.
fn matches(expected: &[&str], found: &[&str]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((&"…", rest)) => (0..=found.len()).any(|skipped| matches(rest, &found[skipped..])),
        Some((line, rest)) => {
            found.split_first().is_some_and(|(first, others)| line_matches(line, first) && matches(rest, others))
        }
    }
}

fn line_matches(expected: &str, found: &str) -> bool {
    match expected.split_once('…') {
        None => expected == found,
        Some((start, rest)) => found.strip_prefix(start).is_some_and(|found| {
            found.char_indices().map(|(at, _)| at).chain([found.len()]).any(|at| line_matches(rest, &found[at..]))
        }),
    }
}

/// Rust in the guides is copied from the programs in `examples/`, which are compiled with the other tests.
#[test]
fn rust_of_the_documentation_is_that_of_the_examples() {
    let examples: Vec<String> = fs::read_dir(repository().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| unindented(&fs::read_to_string(path).unwrap()))
        .collect();
    for name in ["README.md", "docs/files.md", "docs/needles.md", "docs/store.md", "docs/tables.md"] {
        let page = fs::read_to_string(repository().join(name)).unwrap();
        let blocks = page.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        for block in blocks {
            let block = unindented(block);
            assert!(examples.iter().any(|example| example.contains(&block)), "{name}: in no example:\n{block}");
        }
    }
}

/// The lines without their indentation.
fn unindented(text: &str) -> String {
    text.lines().fold(String::new(), |text, line| text + line.trim() + "\n")
}

#[test]
fn every_page_is_in_the_summary_of_the_book() {
    let docs = repository().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<PathBuf> = links(&summary).map(|(_, target)| docs.join(target)).collect();
    for page in pages_below(&docs).iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(listed.contains(page), "docs/SUMMARY.md lacks {}", page.display());
    }
}

#[test]
fn links_of_the_documentation_lead_somewhere() {
    let repository = repository();
    let mut pages = pages_below(&repository.join("docs"));
    for name in ["README.md", "AGENTS.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"] {
        pages.push(repository.join(name));
    }
    let mut checked = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for (line_number, target) in links(&text).filter(|(_, target)| !target.contains("://")) {
            let place = format!("{}:{line_number}: {target}", page.display());
            let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
            let file = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            assert!(file.exists(), "{place}: there is no such file");
            if let Some(anchor) = anchor {
                let headings = fs::read_to_string(&file).unwrap();
                assert!(anchors(&headings).any(|heading| heading == anchor), "{place}: there is no such heading");
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} links were found");
}

/// The recipes of CONTRIBUTING name files to change, which must exist.
#[test]
fn files_that_recipes_name_exist() {
    let repository = repository();
    let text = fs::read_to_string(repository.join("CONTRIBUTING.md")).unwrap();
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path =
        |span: &&str| span.contains('/') && (span.ends_with(".rs") || span.ends_with(".md") || span.ends_with(".slt"));
    let paths: Vec<&str> = spans.filter(is_path).collect();
    for path in &paths {
        assert!(repository.join(path).exists(), "CONTRIBUTING.md names {path}, which does not exist");
    }
    assert!(paths.len() > 50, "only {} paths were found", paths.len());
}

fn pages_below(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            pages.extend(pages_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages
}

/// The targets of links and images outside of code, with the numbers of their lines.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().flat_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        let prose = if in_code || fence { "" } else { line };
        let code_spans = prose.split('`').enumerate().filter(|(part, _)| part % 2 == 0);
        // Code in the text of a link splits the link, but not its target.
        let targets = code_spans.flat_map(|(_, text)| text.split("](").skip(1).chain(html_targets(text)));
        targets
            .filter_map(|rest| rest.split([')', '"', ' ']).next())
            .map(move |target| (index + 1, target))
            .collect::<Vec<_>>()
    })
}

/// The values of `src` and `srcset`.
fn html_targets(text: &str) -> impl Iterator<Item = &str> {
    ["src=\"", "srcset=\""].into_iter().flat_map(move |attribute| text.split(attribute).skip(1))
}

/// The anchors of headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let mut in_code = false;
    let headings = text.lines().filter(move |line| {
        in_code ^= line.starts_with("```");
        !in_code && line.starts_with('#')
    });
    headings.map(|heading| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
        kept.map(|character| if character == ' ' { '-' } else { character }).collect()
    })
}
