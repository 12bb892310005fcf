//! What is read, and what is said of what cannot be.

use super::super::syntax::{ColumnName, Name};
use super::*;

fn column(text: &str) -> Operand {
    Operand::Column(ColumnName { name: Name { text: text.to_owned(), quoted: false }, steps: Vec::new() })
}

#[test]
fn and_binds_closer_than_or() {
    let expected = Condition::Or(vec![
        Condition::Truth(column("a")),
        Condition::And(vec![Condition::Truth(column("b")), Condition::Truth(column("c"))]),
    ]);
    assert_eq!(parse("a OR b AND c"), Ok(expected));
}

#[test]
fn words_of_sql_can_be_columns() {
    for text in ["date > DATE '2025-01-01'", "timestamp IS NULL", "value = 1", "time < TIME '08:00'", "key = 'x'"] {
        assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
    }
}

#[test]
fn long_chains_and_lists_are_read() {
    let chain = vec!["a = 1"; 5000].join(" OR ");
    assert!(matches!(parse(&chain), Ok(Condition::Or(links)) if links.len() == 5000));
    let list = format!("a IN ({})", vec!["1"; 5000].join(","));
    assert!(matches!(parse(&list), Ok(Condition::In { list, .. }) if list.len() == 5000));
}

#[test]
fn what_cannot_be_read_is_explained() {
    for (text, part) in [
        ("", "the expression ends"),
        ("a = ", "the expression ends"),
        ("a = 1 b = 2", "join conditions with AND or OR"),
        ("a + 1 = 2", "is not supported"),
        ("upper(a) = 'X'", "functions such as upper"),
        ("a LIKE b", "LIKE needs a pattern in quotes"),
        ("a = DATE '2025-02-30'", "is not a date"),
        ("a = X'ABC'", "pairs of hexadecimal digits"),
        ("a IN (SELECT 1)", "not supported"),
    ] {
        let message = parse(text).unwrap_err();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = format!("{}a = 1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(parse(&deep).is_err());
    assert!(parse(&format!("{}a", "NOT ".repeat(100_000))).is_err());
}

#[test]
fn the_escape_character_of_like_is_the_one_that_was_chosen() {
    assert_eq!(escape_pattern("50!%%", Some('!')), Ok("50\\%%".to_owned()));
    assert_eq!(escape_pattern("a\\b_", None), Ok("a\\\\b_".to_owned()));
    assert_eq!(escape_pattern("a\\_b", Some('\\')), Ok("a\\_b".to_owned()));
    assert!(escape_pattern("a!", Some('!')).is_err());
}
