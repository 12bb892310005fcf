//! Decisive leaves: the parts of a test that rule out a row group if they are true for none of its rows.
//!
//! If a Bloom filter lacks a value, an equality is true nowhere, though it may be null. Below AND, OR and IS TRUE, null is
//! equivalent to false; below NOT and other tests it is not, so that leaves there are never decisive.

use lath_predicate::{Test, ValueTest};

/// A test of one column's values within a [`Test`], identified by its address.
pub(super) type Leaf<'t> = (usize, &'t ValueTest);

/// Adds the decisive leaves with `evidence` to `out`, together with the evidence. Leaves below an OR are decisive only if all its
/// parts have some. Returns whether there are any.
pub(super) fn collect_decisive<'t, T>(
    test: &'t Test,
    evidence: &impl Fn(usize, &ValueTest) -> Option<T>,
    out: &mut Vec<(Leaf<'t>, T)>,
) -> bool {
    let start = out.len();
    match test {
        Test::Values { column, test } => {
            let evidence = evidence(*column, test);
            let is_decisive = evidence.is_some();
            out.extend(evidence.map(|evidence| ((*column, test), evidence)));
            is_decisive
        }
        Test::All(tests) => {
            let mut any = false;
            // No short circuit: every part adds its leaves.
            for test in tests {
                any |= collect_decisive(test, evidence, out);
            }
            any
        }
        Test::Any(tests) => {
            let all = tests.iter().all(|test| collect_decisive(test, evidence, out));
            if !all {
                out.truncate(start);
            }
            all
        }
        Test::Is(test, Some(true)) => collect_decisive(test, evidence, out),
        Test::Constant(truth) => *truth != Some(true),
        _ => false,
    }
}

/// Whether the test is true nowhere, given that the ruled-out leaves are true nowhere.
pub(super) fn is_ruled_out(test: &Test, is_leaf_ruled_out: &impl Fn(&ValueTest) -> bool) -> bool {
    match test {
        Test::Values { test, .. } => is_leaf_ruled_out(test),
        Test::All(tests) => tests.iter().any(|test| is_ruled_out(test, is_leaf_ruled_out)),
        Test::Any(tests) => tests.iter().all(|test| is_ruled_out(test, is_leaf_ruled_out)),
        Test::Is(test, Some(true)) => is_ruled_out(test, is_leaf_ruled_out),
        Test::Constant(truth) => *truth != Some(true),
        _ => false,
    }
}

/// The test, simplified, in which leaves are replaced by the result of `narrow` if it gives one.
pub(super) fn replace_leaves(test: &Test, narrow: &impl Fn(usize, &ValueTest) -> Option<Test>) -> Test {
    fn visit(test: &Test, narrow: &impl Fn(usize, &ValueTest) -> Option<Test>) -> Test {
        match test {
            Test::Values { column, test: leaf } => narrow(*column, leaf).unwrap_or_else(|| test.clone()),
            Test::All(tests) => Test::All(tests.iter().map(|test| visit(test, narrow)).collect()),
            Test::Any(tests) => Test::Any(tests.iter().map(|test| visit(test, narrow)).collect()),
            Test::Is(test, Some(true)) => Test::Is(Box::new(visit(test, narrow)), Some(true)),
            other => other.clone(),
        }
    }
    visit(test, narrow).simplify()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(column: usize) -> Test {
        Test::Values { column, test: ValueTest::Truth }
    }

    fn columns(test: &Test, with_evidence: &[usize]) -> (bool, Vec<usize>) {
        let mut leaves = Vec::new();
        let decides = collect_decisive(test, &|column, _| with_evidence.contains(&column).then_some(()), &mut leaves);
        (decides, leaves.into_iter().map(|((column, _), ())| column).collect())
    }

    #[test]
    fn leaves_are_decisive_alone_below_and_and_together_below_or() {
        let all = Test::All(vec![leaf(0), leaf(1), leaf(2)]);
        assert_eq!(columns(&all, &[1, 2]), (true, vec![1, 2]));
        assert_eq!(columns(&all, &[]), (false, vec![]));
        let any = Test::Any(vec![leaf(0), Test::All(vec![leaf(1), leaf(2)])]);
        assert_eq!(columns(&any, &[0, 2]), (true, vec![0, 2]));
        assert_eq!(columns(&any, &[0]), (false, vec![]));
        assert_eq!(columns(&Test::All(vec![any, leaf(3)]), &[0, 3]), (true, vec![3]));
        assert_eq!(columns(&Test::Not(Box::new(leaf(0))), &[0]), (false, vec![]));
        assert_eq!(columns(&Test::Is(Box::new(leaf(0)), Some(true)), &[0]), (true, vec![0]));
        assert_eq!(columns(&Test::Is(Box::new(leaf(0)), Some(false)), &[0]), (false, vec![]));
    }

    #[test]
    fn a_test_is_ruled_out_with_its_decisive_leaves() {
        let test = Test::All(vec![Test::Any(vec![leaf(0), leaf(1)]), leaf(2)]);
        let Test::All(parts) = &test else { unreachable!() };
        let (Test::Any(any), Test::Values { test: last, .. }) = (&parts[0], &parts[1]) else { unreachable!() };
        let address = |test: &Test| match test {
            Test::Values { test, .. } => std::ptr::from_ref(test),
            _ => unreachable!(),
        };
        let [first, second] = [&any[0], &any[1]].map(address);
        assert!(!is_ruled_out(&test, &|leaf| std::ptr::eq(leaf, first)));
        assert!(is_ruled_out(&test, &|leaf| std::ptr::eq(leaf, first) || std::ptr::eq(leaf, second)));
        assert!(is_ruled_out(&test, &|leaf| std::ptr::eq(leaf, last)));
        let only_first = |column: usize, _: &ValueTest| (column == 1).then_some(Test::Constant(Some(false)));
        assert_eq!(replace_leaves(&test, &only_first), Test::All(vec![leaf(0), leaf(2)]));
    }
}
