//! The parts of a test of which only matters where they are true: those that an absent value can rule out.
//!
//! A filter says that a value is absent, and then an equality is true nowhere, though it may be null. Below AND, OR and
//! IS TRUE alone that is as good as false.

use lath_predicate::{Test, ValueTest};

/// A test of one column's values, somewhere in a [`Test`]; it is told apart from others by its address.
pub(super) type Leaf<'t> = (usize, &'t ValueTest);

/// Adds to `out` the leaves that `evidence` can rule out which make the whole test fail if it does, by themselves or together
/// with others below the same OR, and what there is to ask for each. Returns whether there are any.
pub(super) fn deciding<'t, T>(
    test: &'t Test,
    evidence: &impl Fn(usize, &ValueTest) -> Option<T>,
    out: &mut Vec<(Leaf<'t>, T)>,
) -> bool {
    let start = out.len();
    match test {
        Test::Values { column, test } => {
            let asked = evidence(*column, test);
            let can_fail = asked.is_some();
            out.extend(asked.map(|asked| ((*column, test), asked)));
            can_fail
        }
        Test::All(tests) => {
            let mut any = false;
            // All of them are asked for what they need, whatever the first says.
            for test in tests {
                any |= deciding(test, evidence, out);
            }
            any
        }
        Test::Any(tests) => {
            let all = tests.iter().all(|test| deciding(test, evidence, out));
            if !all {
                out.truncate(start);
            }
            all
        }
        Test::Is(test, Some(true)) => deciding(test, evidence, out),
        Test::Constant(truth) => *truth != Some(true),
        _ => false,
    }
}

/// Whether the test is true nowhere, where the leaves that have failed are not.
pub(super) fn fails(test: &Test, has_failed: &impl Fn(&ValueTest) -> bool) -> bool {
    match test {
        Test::Values { test, .. } => has_failed(test),
        Test::All(tests) => tests.iter().any(|test| fails(test, has_failed)),
        Test::Any(tests) => tests.iter().all(|test| fails(test, has_failed)),
        Test::Is(test, Some(true)) => fails(test, has_failed),
        Test::Constant(truth) => *truth != Some(true),
        _ => false,
    }
}

/// The test with leaves replaced where `narrow` gives something else, folded.
pub(super) fn narrowed(test: &Test, narrow: &impl Fn(usize, &ValueTest) -> Option<Test>) -> Test {
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

    fn columns(test: &Test, can_fail: &[usize]) -> (bool, Vec<usize>) {
        let mut leaves = Vec::new();
        let decides = deciding(test, &|column, _| can_fail.contains(&column).then_some(()), &mut leaves);
        (decides, leaves.into_iter().map(|((column, _), ())| column).collect())
    }

    #[test]
    fn leaves_decide_alone_below_and_together_below_or() {
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
    fn a_test_fails_with_what_decides_it() {
        let test = Test::All(vec![Test::Any(vec![leaf(0), leaf(1)]), leaf(2)]);
        let Test::All(parts) = &test else { unreachable!() };
        let (Test::Any(any), Test::Values { test: last, .. }) = (&parts[0], &parts[1]) else { unreachable!() };
        let address = |test: &Test| match test {
            Test::Values { test, .. } => std::ptr::from_ref(test),
            _ => unreachable!(),
        };
        let [first, second] = [&any[0], &any[1]].map(address);
        assert!(!fails(&test, &|leaf| std::ptr::eq(leaf, first)));
        assert!(fails(&test, &|leaf| std::ptr::eq(leaf, first) || std::ptr::eq(leaf, second)));
        assert!(fails(&test, &|leaf| std::ptr::eq(leaf, last)));
        let only_first = |column: usize, _: &ValueTest| (column == 1).then_some(Test::Constant(Some(false)));
        assert_eq!(narrowed(&test, &only_first), Test::All(vec![leaf(0), leaf(2)]));
    }
}
