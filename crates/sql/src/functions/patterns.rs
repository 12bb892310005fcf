//! `regexp_extract`, `regexp_extract_all`, `regexp_split` and `string_split`.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, Field};
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use regex::{Regex, RegexBuilder};

use super::function::{Definition, is_text, texts};

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition {
        name: "regexp_extract",
        example: "regexp_extract(text, pattern), or regexp_extract(text, pattern, group)",
        coerce: extraction,
        returns: |_| DataType::Utf8,
        evaluate: extract,
    },
    Definition {
        name: "regexp_extract_all",
        example: "regexp_extract_all(text, pattern), or regexp_extract_all(text, pattern, group)",
        coerce: extraction,
        returns: |_| list_of_texts(),
        evaluate: extract_all,
    },
    Definition {
        name: "regexp_split",
        example: "string_split_regex(text, pattern)",
        coerce: texts::<2>,
        returns: |_| list_of_texts(),
        evaluate: split_by_pattern,
    },
    Definition {
        name: "string_split",
        example: "string_split(text, ',')",
        coerce: texts::<2>,
        returns: |_| list_of_texts(),
        evaluate: split,
    },
];

fn list_of_texts() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))
}

/// A text, a pattern, the number of a group, and options.
fn extraction(types: &[DataType]) -> Option<Vec<DataType>> {
    if !(2..=4).contains(&types.len()) || !types[..2].iter().all(is_text) {
        return None;
    }
    let mut coerced = vec![DataType::Utf8; 2];
    match types.get(2) {
        Some(group) if group.is_integer() || *group == DataType::Null => coerced.push(DataType::Int64),
        Some(_) => return None,
        None => {}
    }
    match types.get(3) {
        Some(options) if is_text(options) => coerced.push(DataType::Utf8),
        Some(_) => return None,
        None => {}
    }
    Some(coerced)
}

/// The last pattern, compiled.
#[derive(Default)]
struct Patterns {
    known: Option<(String, String, Regex)>,
}

impl Patterns {
    fn get(&mut self, pattern: &str, options: &str) -> Result<&Regex> {
        let is_known = self.known.as_ref().is_some_and(|(known, with, _)| known == pattern && with == options);
        if !is_known {
            let mut builder = RegexBuilder::new(pattern);
            for option in options.chars() {
                match option {
                    'i' => _ = builder.case_insensitive(true),
                    'c' => _ = builder.case_insensitive(false),
                    's' => _ = builder.dot_matches_new_line(true),
                    'm' | 'n' | 'p' => _ = builder.multi_line(true),
                    other => return exec_err!("{other} is not an option of a pattern; the options are i, c, s and m"),
                }
            }
            let regex =
                builder.build().map_err(|error| exec_datafusion_err!("the pattern {pattern} is wrong: {error}"))?;
            self.known = Some((pattern.to_owned(), options.to_owned(), regex));
        }
        match &self.known {
            Some((_, _, regex)) => Ok(regex),
            None => exec_err!("there is no pattern"),
        }
    }
}

/// Calls `row` with the text, the pattern and the group of every row in which none is null, and with `None` for the others.
fn for_each_row(
    arguments: &[ArrayRef],
    mut row: impl FnMut(Option<(&str, &Regex, usize)>) -> Result<()>,
) -> Result<()> {
    let (values, patterns) = (arguments[0].as_string::<i32>(), arguments[1].as_string::<i32>());
    let groups = arguments.get(2).map(AsArray::as_primitive::<Int64Type>);
    let options = arguments.get(3).map(AsArray::as_string::<i32>);
    let mut compiled = Patterns::default();
    for at in 0..values.len() {
        let is_null = arguments.iter().any(|argument| argument.is_null(at));
        if is_null {
            row(None)?;
            continue;
        }
        let regex = compiled.get(patterns.value(at), options.map_or("", |options| options.value(at)))?;
        let group = groups.map_or(0, |groups| groups.value(at));
        let group =
            usize::try_from(group).map_err(|_| exec_datafusion_err!("the number of a group is not negative"))?;
        row(Some((values.value(at), regex, group)))?;
    }
    Ok(())
}

fn extract(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let mut found = StringBuilder::new();
    for_each_row(arguments, |row| {
        let found_text = row.map(|(text, regex, group)| {
            let captured = regex.captures(text);
            captured.and_then(|captured| captured.get(group)).map_or(String::new(), |part| part.as_str().to_owned())
        });
        found.append_option(found_text);
        Ok(())
    })?;
    Ok(Arc::new(found.finish()))
}

fn extract_all(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    lists(arguments, |text, regex, group| {
        let all = regex.captures_iter(text);
        all.map(|captured| captured.get(group).map_or(String::new(), |part| part.as_str().to_owned())).collect()
    })
}

fn split_by_pattern(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    lists(arguments, |text, regex, _| split_at_matches(text, regex))
}

/// Splits as DuckDB does: an empty match at the start of the rest is one behind the next character, and the rest is searched like a new text.
fn split_at_matches(text: &str, regex: &Regex) -> Vec<String> {
    if text.is_empty() && regex.as_str().is_empty() {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some(found) = regex.find(rest) else { break };
        let (mut start, mut end) = (found.start(), found.end());
        if end == 0 {
            start = rest.chars().next().map_or(rest.len(), char::len_utf8);
            if start == rest.len() {
                break;
            }
            end = start;
        }
        parts.push(rest[..start].to_owned());
        rest = &rest[end..];
    }
    parts.push(rest.to_owned());
    parts
}

fn lists(arguments: &[ArrayRef], parts: impl Fn(&str, &Regex, usize) -> Vec<String>) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for_each_row(arguments, |row| {
        if let Some((text, regex, group)) = row {
            parts(text, regex, group).into_iter().for_each(|part| lists.values().append_value(part));
        }
        lists.append(row.is_some());
        Ok(())
    })?;
    Ok(Arc::new(lists.finish()))
}

fn split(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let (values, separators): (&StringArray, &StringArray) = (arguments[0].as_string(), arguments[1].as_string());
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..values.len() {
        let (text, separator) =
            (values.is_valid(row).then(|| values.value(row)), separators.is_valid(row).then(|| separators.value(row)));
        match (text, separator) {
            (None, _) => {}
            (Some(text), None) => lists.values().append_value(text),
            // Without a separator, empty text has no parts.
            (Some(""), Some("")) => {}
            (Some(text), Some("")) => {
                text.chars().for_each(|character| lists.values().append_value(character.to_string()));
            }
            (Some(text), Some(separator)) => text.split(separator).for_each(|part| lists.values().append_value(part)),
        }
        lists.append(text.is_some());
    }
    Ok(Arc::new(lists.finish()))
}
