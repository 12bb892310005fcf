//! Prints expressions with the parentheses that PostgreSQL's precedence requires, and checks that they parse as with all parentheses.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::parser::Parser;
use fastrand::Rng;

use super::LathDialect;

/// PostgreSQL's precedence levels, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Is,
    Comparison,
    Between,
    Other,
    Plus,
    Times,
    Power,
    AtTimeZone,
    Sign,
    Cast,
    Atom,
}

/// An expression as text: with the required parentheses, and with all.
struct PrintedExpr {
    level: Level,
    least: String,
    all: String,
}

impl PrintedExpr {
    fn atom(text: &str) -> Self {
        Self { level: Level::Atom, least: text.to_owned(), all: text.to_owned() }
    }

    /// The text as an operand where operators of `level` and higher need no parentheses.
    fn operand(&self, level: Level) -> (String, String) {
        let least = if self.level >= level { self.least.clone() } else { format!("({})", self.least) };
        (least, format!("({})", self.all))
    }
}

const BINARY: [(Level, &str); 21] = [
    (Level::Or, "OR"),
    (Level::And, "AND"),
    (Level::Is, "IS DISTINCT FROM"),
    (Level::Is, "IS NOT DISTINCT FROM"),
    (Level::Comparison, "="),
    (Level::Comparison, "<>"),
    (Level::Comparison, "<"),
    (Level::Comparison, ">="),
    (Level::Between, "LIKE"),
    (Level::Between, "NOT ILIKE"),
    (Level::Other, "||"),
    (Level::Other, "~"),
    (Level::Other, "!~*"),
    (Level::Other, "->"),
    (Level::Other, "&"),
    (Level::Other, "|"),
    (Level::Plus, "+"),
    (Level::Plus, "-"),
    (Level::Times, "*"),
    (Level::Times, "%"),
    (Level::Power, "^"),
];

fn next(level: Level) -> Level {
    use Level::{And, AtTimeZone, Atom, Between, Cast, Comparison, Is, Not, Or, Other, Plus, Power, Sign, Times};
    let levels = [Or, And, Not, Is, Comparison, Between, Other, Plus, Times, Power, AtTimeZone, Sign, Cast, Atom];
    levels.into_iter().find(|other| *other > level).unwrap_or(Atom)
}

fn random(rng: &mut Rng, depth: usize) -> PrintedExpr {
    if depth == 0 {
        return PrintedExpr::atom(["a", "b", "1", "'x'", "NULL", "f(a)"][rng.usize(..6)]);
    }
    let mut part = || random(rng, depth - 1);
    let (first, second, third) = (part(), part(), part());
    match rng.usize(..14) {
        0 => {
            let (least, all) = first.operand(Level::Not);
            PrintedExpr { level: Level::Not, least: format!("NOT {least}"), all: format!("NOT {all}") }
        }
        1 => {
            let (least, all) = first.operand(Level::Sign);
            // Two signs would begin a comment.
            PrintedExpr { level: Level::Sign, least: format!("- {least}"), all: format!("- {all}") }
        }
        2 => {
            let (least, all) = first.operand(Level::Cast);
            PrintedExpr { level: Level::Cast, least: format!("{least}::INT"), all: format!("{all}::INT") }
        }
        3 => {
            let test = ["NULL", "NOT NULL", "TRUE", "NOT FALSE", "UNKNOWN"][rng.usize(..5)];
            let (least, all) = first.operand(next(Level::Is));
            PrintedExpr { level: Level::Is, least: format!("{least} IS {test}"), all: format!("{all} IS {test}") }
        }
        4 => {
            let not = ["", "NOT "][rng.usize(..2)];
            let inner = next(Level::Between);
            let ((value, value_all), (low, low_all), (high, high_all)) =
                (first.operand(inner), second.operand(inner), third.operand(inner));
            PrintedExpr {
                level: Level::Between,
                least: format!("{value} {not}BETWEEN {low} AND {high}"),
                all: format!("{value_all} {not}BETWEEN {low_all} AND {high_all}"),
            }
        }
        5 => {
            let not = ["", "NOT "][rng.usize(..2)];
            let (value, value_all) = first.operand(next(Level::Between));
            let (one, other) = (&second, &third);
            PrintedExpr {
                level: Level::Between,
                least: format!("{value} {not}IN ({}, {})", one.least, other.least),
                all: format!("{value_all} {not}IN ({}, {})", one.all, other.all),
            }
        }
        6 => {
            let (least, all) = first.operand(Level::AtTimeZone);
            PrintedExpr {
                level: Level::AtTimeZone,
                least: format!("{least} AT TIME ZONE 'UTC'"),
                all: format!("{all} AT TIME ZONE 'UTC'"),
            }
        }
        _ => {
            let (level, op) = BINARY[rng.usize(..BINARY.len())];
            // Comparisons and similar operators do not chain; the others are left-associative.
            let chains = !matches!(level, Level::Comparison | Level::Between | Level::Is);
            let (left, left_all) = first.operand(if chains { level } else { next(level) });
            let (right, right_all) = second.operand(next(level));
            PrintedExpr { level, least: format!("{left} {op} {right}"), all: format!("{left_all} {op} {right_all}") }
        }
    }
}

/// Removes parentheses from an expression.
struct WithoutParentheses;

impl VisitorMut for WithoutParentheses {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        while let Expr::Nested(inner) = expr {
            *expr = (**inner).clone();
        }
        ControlFlow::Continue(())
    }
}

fn read(text: &str) -> Result<Expr, String> {
    let parser = Parser::new(&LathDialect).with_recursion_limit(1000).try_with_sql(text);
    let mut expr = parser.and_then(|mut parser| parser.parse_expr()).map_err(|error| error.to_string())?;
    let _ = expr.visit(&mut WithoutParentheses);
    Ok(expr)
}

#[test]
fn operators_bind_as_in_postgresql() {
    let mut rng = Rng::with_seed(20_251_128);
    for number in 0..4000 {
        let depth = 1 + number % 4;
        let printed = random(&mut rng, depth);
        let (least, all) = (read(&printed.least), read(&printed.all));
        assert!(all.is_ok(), "{}: {all:?}", printed.all);
        assert_eq!(least, all, "{} is not {}", printed.least, printed.all);
    }
}

#[test]
fn single_expressions_are_read_as_postgresql_reads_them() {
    for (least, all) in [
        ("a IS DISTINCT FROM b AND c", "(a IS DISTINCT FROM b) AND c"),
        ("a IS NOT DISTINCT FROM b OR c", "(a IS NOT DISTINCT FROM b) OR c"),
        ("a IS DISTINCT FROM b = c", "a IS DISTINCT FROM (b = c)"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT a IS NULL", "NOT (a IS NULL)"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a BETWEEN 1 AND 2 AND b", "(a BETWEEN 1 AND 2) AND b"),
        ("a -> 'x' = 'y'", "(a -> 'x') = 'y'"),
        ("a || b LIKE c || d", "(a || b) LIKE (c || d)"),
        ("a || b + c", "a || (b + c)"),
        ("-2 ^ 2", "(-2) ^ 2"),
        ("-a::INT", "-(a::INT)"),
        ("2 ^ 3 ^ 2", "(2 ^ 3) ^ 2"),
        ("a & b = c", "(a & b) = c"),
        ("a ~ b || c", "(a ~ b) || c"),
        ("- a * b", "(- a) * b"),
        ("a LIKE b = c", "(a LIKE b) = c"),
    ] {
        assert_eq!(read(least).unwrap(), read(all).unwrap(), "{least}");
    }
}

#[test]
fn chains_of_comparisons_are_refused() {
    for text in ["a < b = c", "a = b = c", "1 < x < 10", "a <> b <> c"] {
        assert!(read(text).unwrap_err().contains("is ambiguous"), "{text}");
    }
    assert!(read("(a < b) = c").is_ok());
}
