//! The similarity of two texts.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Float64Array, Int64Array};
use arrow_schema::DataType;
use datafusion::common::{Result, exec_err};

use super::function::{Definition, texts};

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition {
        name: "hamming",
        example: "hamming(text, text)",
        coerce: texts::<2>,
        returns: |_| DataType::Int64,
        evaluate: |arguments| {
            integers(arguments, |left, right| match strsim::hamming(left, right) {
                Ok(different) => Ok(different),
                Err(_) => exec_err!("hamming takes texts of the same length, and not \"{left}\" and \"{right}\""),
            })
        },
    },
    Definition {
        name: "damerau_levenshtein",
        example: "damerau_levenshtein(text, text)",
        coerce: texts::<2>,
        returns: |_| DataType::Int64,
        evaluate: |arguments| integers(arguments, |left, right| Ok(strsim::damerau_levenshtein(left, right))),
    },
    Definition {
        name: "jaccard",
        example: "jaccard(text, text)",
        coerce: texts::<2>,
        returns: |_| DataType::Float64,
        evaluate: |arguments| floats(arguments, jaccard),
    },
    Definition {
        name: "jaro_similarity",
        example: "jaro_similarity(text, text)",
        coerce: texts::<2>,
        returns: |_| DataType::Float64,
        evaluate: |arguments| floats(arguments, |left, right| Ok(share(strsim::jaro, left, right))),
    },
    Definition {
        name: "jaro_winkler_similarity",
        example: "jaro_winkler_similarity(text, text)",
        coerce: texts::<2>,
        returns: |_| DataType::Float64,
        evaluate: |arguments| floats(arguments, |left, right| Ok(share(strsim::jaro_winkler, left, right))),
    },
];

/// A similarity that is 0 if a text is empty, even if both are.
fn share(similarity: fn(&str, &str) -> f64, left: &str, right: &str) -> f64 {
    if left.is_empty() || right.is_empty() { 0.0 } else { similarity(left, right) }
}

/// The share of the characters of either text that both have.
#[expect(clippy::cast_precision_loss, reason = "texts have few different characters")]
fn jaccard(left: &str, right: &str) -> Result<f64> {
    let (left, right): (BTreeSet<char>, BTreeSet<char>) = (left.chars().collect(), right.chars().collect());
    if left.is_empty() || right.is_empty() {
        return exec_err!("jaccard takes texts with characters; one is empty");
    }
    Ok(left.intersection(&right).count() as f64 / left.union(&right).count() as f64)
}

fn integers(arguments: &[ArrayRef], measure: fn(&str, &str) -> Result<usize>) -> Result<ArrayRef> {
    let (left, right) = (arguments[0].as_string::<i32>(), arguments[1].as_string::<i32>());
    let rows = left.iter().zip(right.iter()).map(|pair| match pair {
        (Some(left), Some(right)) => measure(left, right).map(|number| i64::try_from(number).ok()),
        _ => Ok(None),
    });
    Ok(Arc::new(rows.collect::<Result<Int64Array>>()?))
}

fn floats(arguments: &[ArrayRef], measure: fn(&str, &str) -> Result<f64>) -> Result<ArrayRef> {
    let (left, right) = (arguments[0].as_string::<i32>(), arguments[1].as_string::<i32>());
    let rows = left.iter().zip(right.iter()).map(|pair| match pair {
        (Some(left), Some(right)) => measure(left, right).map(Some),
        _ => Ok(None),
    });
    Ok(Arc::new(rows.collect::<Result<Float64Array>>()?))
}
