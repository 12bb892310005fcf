//! Parses conditions, and checks the messages for invalid ones.

use super::bounds::MAX_CONDITIONS;
use super::*;
use crate::syntax::{ColumnName, Name, Operand};

/// The condition, or the message of the error.
fn parse(text: &str) -> Result<Condition, String> {
    super::parse(text).map_err(|error| error.to_string())
}

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
    let chain = vec!["a = 1"; MAX_CONDITIONS].join(" OR ");
    assert!(matches!(parse(&chain), Ok(Condition::Or(links)) if links.len() == MAX_CONDITIONS));
    let list = format!("a IN ({})", vec!["1"; 5000].join(","));
    assert!(matches!(parse(&list), Ok(Condition::In { list, .. }) if list.len() == 5000));
    let ranges = vec!["a BETWEEN 1 AND 2"; MAX_CONDITIONS].join(" OR ");
    assert!(matches!(parse(&ranges), Ok(Condition::Or(links)) if links.len() == MAX_CONDITIONS));
}

#[test]
fn longer_chains_are_refused_with_what_to_write_instead() {
    let chain = |word: &str, count: usize| vec!["a = 1"; count].join(word);
    for text in [
        chain(" OR ", MAX_CONDITIONS + 1),
        chain(" AND ", 100_000),
        // All levels count together.
        format!("{} OR ({})", chain(" OR ", 3000), chain(" OR ", 3000)),
        format!("{} OR )", chain(" OR ", 100_000)),
        // This list becomes a chain of comparisons.
        format!("a IN ({})", vec!["b"; MAX_CONDITIONS + 1].join(",")),
    ] {
        let message = parse(&text).unwrap_err();
        assert!(message.contains("IN ("), "{message}");
    }
    for text in ["a IS NULL", "a = 1", "a::INTEGER", "a + 1"] {
        let (first, rest) = text.split_at(1);
        assert!(parse(&format!("{first}{}", rest.repeat(100_000))).is_err());
    }
}

#[test]
fn what_is_read_reads_again_as_it_prints() {
    let nested = |open: &str, close: &str, count: usize| format!("{}a{}", open.repeat(count), close.repeat(count));
    for text in [
        "1 IN ()".to_owned(),
        "1 IN (a)".to_owned(),
        "1 IN (a, b)".to_owned(),
        "a BETWEEN b AND c AND d IS NULL".to_owned(),
        "-5::INTEGER = a".to_owned(),
        "a = - 5".to_owned(),
        "a.order.\"group\"['x'] = +.5e1".to_owned(),
        "HALF '1.5' = a OR TIMESTAMP(3) WITH TIME ZONE '2025-01-31' < b".to_owned(),
        "DOUBLE PRECISION 'NaN' = a AND a::TIMESTAMPTZ(3) IS NULL AND a::UINTEGER = 1".to_owned(),
        "(((a = 1) IS NULL) IS NOT TRUE) IS UNKNOWN".to_owned(),
        "NOT a = 1 IS TRUE".to_owned(),
        "1 = SOME(a['k'])".to_owned(),
        "a /* and */ = 'it''s\\' -- so".to_owned(),
        nested("(", ")", 150),
        nested("NOT (", ")", 90),
        nested("CAST(", " AS INTEGER)", 150),
        nested("", " IS TRUE", 150),
        nested("", "::INTEGER", 150),
    ] {
        let read = parse(&text).unwrap_or_else(|message| panic!("{text}: {message}"));
        assert_eq!(parse(&read.to_string()), Ok(read), "{text}");
    }
    // A condition whose text would be too deep to parse is refused.
    for count in 1..400 {
        for text in [
            nested("NOT ", "", count),
            nested("NOT (", ")", count),
            nested("(", " IS TRUE)", count),
            nested("", " IS TRUE", count),
            nested("", "::INTEGER", count),
            nested("", "::INTEGER = 1 AND b", count),
            nested("(b OR (b AND ", "))", count),
            nested("(b OR b AND NOT ", ")", count),
        ] {
            if let Ok(read) = parse(&text) {
                assert_eq!(parse(&read.to_string()), Ok(read), "{text}");
            }
        }
    }
}

#[test]
fn random_expressions_read_again_as_they_print() {
    const PARTS: [&str; 62] = [
        "a",
        "b.c",
        "\"d e\"",
        "m['k']",
        "1",
        "-2.5e3",
        "+.5",
        "'x'",
        "''",
        "X'00ff'",
        "NULL",
        "TRUE",
        "FALSE",
        "DATE '2025-01-31'",
        "TIMESTAMP '2025-01-31 08:30:00'",
        "DOUBLE 'NaN'",
        "HALF '1'",
        "DECIMAL(4, 1) '1.5'",
        "UUID '00000000-0000-0000-0000-000000000000'",
        "(",
        "(",
        "(",
        ")",
        ")",
        ")",
        "[",
        "]",
        ",",
        ".",
        "::",
        "::INTEGER",
        "::DECIMAL(5, 2)",
        "=",
        "=",
        "==",
        "<>",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "AND",
        "AND",
        "OR",
        "OR",
        "NOT",
        "NOT",
        "IS NULL",
        "IS NOT NULL",
        "IS TRUE",
        "IS NOT UNKNOWN",
        "IS DISTINCT FROM",
        "BETWEEN 1 AND 2",
        "BETWEEN",
        "IN (1, NULL)",
        "IN (a, 1)",
        "IN (",
        "LIKE 'a!%' ESCAPE '!'",
        "NOT ILIKE 'x\\'",
        "= ANY (a)",
        "CAST(",
        "AS VARCHAR)",
    ];
    let mut random = lath_testkit::Seeded::new("random expressions read again as they print");
    let mut read = 0;
    for _ in 0..200_000 {
        let len = random.usize(1..12);
        let text = (0..len).map(|_| PARTS[random.usize(..PARTS.len())]).collect::<Vec<_>>().join(" ");
        if let Ok(condition) = parse(&text) {
            read += 1;
            assert_eq!(parse(&condition.to_string()), Ok(condition), "{text}");
        }
    }
    assert!(read > 2000, "{read}");
}

#[test]
fn any_word_but_a_few_can_be_a_column() {
    for word in [
        "order",
        "group",
        "from",
        "user",
        "left",
        "end",
        "interval",
        "current_date",
        "array",
        "struct",
        "map",
        "position",
        "floor",
        "all",
        "any",
        "limit",
        "table",
        "null_",
        "x",
        "b",
        "e",
        "cast",
        "list_contains",
        "timestamp",
        "Öl",
        "values",
        "with",
        "exists_",
        "trim",
        "extract",
        "not_",
        "date",
        "prior",
        "lambda",
        "match",
        "n",
        "u",
        "r",
        "q",
        "unknown",
    ] {
        for text in
            [format!("{word} = 1"), format!("{word} IN (1, 2)"), format!("1 < {word}"), format!("a.{word} IS NULL")]
        {
            let read = parse(&text).unwrap_or_else(|message| panic!("{text}: {message}"));
            assert_eq!(parse(&read.to_string().replace('"', "")), Ok(read), "{text}");
        }
    }
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
        ("a = (SELECT 1)", "SELECT is not supported (column 6)"),
        ("a =\n  upper(b)", "functions such as upper are not supported (line 2, column 3)"),
        ("a = AND", "(column 5)"),
        ("a = 1 AND", "but the expression ends"),
        ("a = 0x1F", "0x1F is neither a number nor a name (column 5)"),
        ("a = 5abc", "5abc is neither a number nor a name (column 5)"),
        ("a = 5L", "neither a number nor a name (column 5)"),
        ("a = 'x", "(column 5)"),
        ("a < ANY (b)", "there is = ANY"),
        ("1 = ALL (b)", "there is = ANY"),
        ("b = ANY (b)", "needs a literal on its left"),
        ("list_contains(a)", "list_contains takes a list and an element (column 1)"),
        ("list_contains(a, b)", "needs a literal as its element, not b"),
        ("list_contains(a, 1) OVER ()", "join conditions with AND or OR"),
        ("1 = ANY (SELECT 1 FROM (SELECT 2))", "SELECT is not supported"),
        ("list_contains(SELECT 1)", "subqueries are not supported"),
        ("EXISTS (SELECT 1)", "EXISTS is not supported"),
        ("a = -b", "- can stand only before a number"),
        ("a = HALF 'x' 'y'", "join conditions with AND or OR"),
        ("a = GEOMETRY 'x'", "there are DATE, TIME"),
        ("CAST(a AS INTEGER UNSIGNED) = 1", "is not supported"),
        ("CAST(a AS DECIMAL(3, 5)) = 1", "is not supported"),
        ("a = DATE 5", "join conditions"),
        ("a.'b' = 1", "not supported"),
        ("a[1:2] = 1", ""),
        ("a = ?", ""),
        ("a = 1 ? 2", ""),
        ("a LIKE ANY ('x')", ""),
        ("a = N'x'", "the literal N'x' is not supported"),
        ("a || b = 'x'", "is not supported"),
        ("(a, b) = 1", "expected )"),
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
    for open in [
        "CAST(",
        "(SELECT 1 FROM ",
        "a IN (",
        "1 = ANY (",
        "list_contains(",
        "a[",
        "-",
        "a.(",
        "CAST(a AS ARRAY<",
        "{",
        "a = (1, ",
        "CAST(a AS STRUCT<x ",
    ] {
        for count in [100, 190, 1000, 100_000] {
            assert!(parse(&open.repeat(count)).is_err(), "{open}");
            let types = format!("CAST(a AS {}INT{}) = 1", "ARRAY<".repeat(count), ">".repeat(count));
            assert!(parse(&types).is_err());
        }
    }
}

#[test]
fn texts_that_nest_are_read_or_refused_on_a_thread_of_two_mebibytes() {
    let shapes = [
        ("(", "a", ")"),
        ("NOT ", "a", ""),
        ("NOT (", "a", ")"),
        ("CAST(", "a", " AS INTEGER)"),
        ("", "a", " IS TRUE"),
        ("", "a", "::INTEGER"),
        ("", "a", " = 1"),
        ("(a OR (b AND ", "c", "))"),
        ("(a OR b AND NOT ", "c", ")"),
        ("((", "a", ") = 1)"),
        ("b IN (", "a", ")"),
        ("1 = ANY(", "a", ")"),
        ("list_contains(", "a", ", 1)"),
        ("a[", "1", "]"),
        ("[", "1", "]"),
        ("- ", "1", ""),
        ("a LIKE ", "'x'", ""),
    ];
    let chain = vec!["a = 1"; MAX_CONDITIONS / 2].join(" AND ");
    let read = move || {
        for (open, middle, close) in shapes {
            for count in (1..34).chain([40, 60, 100, 150, 199, 201, 400, 100_000]) {
                let nested = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
                if let Ok(condition) = parse(&nested) {
                    let again = parse(&condition.to_string());
                    assert!(again == Ok(condition), "{count} of {open}{middle}{close}");
                }
                // The tree that is dropped after an error is deep too.
                if ![1, 8, 32, 199].contains(&count) {
                    continue;
                }
                let _ = parse(&format!("{chain} AND {nested} nonsense"));
                let _ = parse(&format!("{}{chain} nonsense{}", open.repeat(count), close.repeat(count)));
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(read).unwrap().join().unwrap();
}
