//! `schema`: the columns of files.

use std::collections::HashMap;
use std::io::{self, IsTerminal};

use arrow_schema::{DataType, Field, Schema};
use lath_parquet::ParquetFile;
use serde_json::{Value, json};

use super::print;
use crate::args::SchemaArgs;
use crate::console::quantity::plural;
use crate::failure::{Outcome, Result};
use crate::input::inputs::Inputs;
use crate::input::keyed_input::KeyedInput;
use crate::metadata::parquet_type::schema_json;
use crate::output::layout::printable;

/// Prints the schema of every file, once for files that have the same.
pub(super) fn run(args: &SchemaArgs) -> Result<Outcome> {
    let mut inputs = Inputs::find(&args.inputs)?.with_text(&args.text, Some(0))?;
    let mut text = String::new();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for index in 0..inputs.len() {
        let name = inputs.name(index);
        if let Some(folder) = inputs.keyed_folder(index) {
            let keyed = KeyedInput::open(folder)?;
            let key: Vec<&String> =
                keyed.snapshot.key_columns().iter().map(|&at| keyed.schema().field(at).name()).collect();
            if args.json {
                text.push_str(&json_text(&json!({ "file": name, "key": key, "arrow": arrow_json(keyed.schema()) })));
            } else {
                let key: Vec<&str> = key.into_iter().map(String::as_str).collect();
                let mut described = format!("Primary key\n  {}\n\nArrow\n", key.join(", "));
                keyed.schema().fields().iter().for_each(|field| describe_field(field, 1, &mut described));
                places.insert(described.clone(), groups.len());
                groups.push((described, vec![name]));
            }
            continue;
        }
        if let Some(lake) = inputs.lake() {
            let schema = lake.dataset().schema();
            if args.json {
                let (format, version) = (lake.format().to_string(), lake.version());
                text.push_str(&json_text(
                    &json!({ "file": name, "table": format, "version": version, "arrow": arrow_json(schema) }),
                ));
            } else {
                let mut described =
                    format!("{} at version {}\n\nArrow\n", title(&lake.format().to_string()), lake.version());
                schema.fields().iter().for_each(|field| describe_field(field, 1, &mut described));
                groups.push((described, vec![name]));
            }
            continue;
        }
        let file = inputs.open(index)?;
        if args.json && inputs.is_text(index) {
            text.push_str(&json_text(&json!({ "file": name, "arrow": arrow_json(file.schema()) })));
        } else if args.json {
            text.push_str(&json_text(&json!({
                "file": name,
                "parquet": schema_json(file.metadata().schema_descr().root_schema()),
                "arrow": arrow_json(file.schema()),
            })));
        } else {
            let described = describe(&file, inputs.is_text(index));
            let place = *places.entry(described.clone()).or_insert(groups.len());
            if place == groups.len() {
                groups.push((described, Vec::new()));
            }
            groups[place].1.push(name);
        }
    }
    for (index, (described, names)) in groups.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        if inputs.len() > 1 {
            let others = match names.len() {
                1 => String::new(),
                count => format!(" and {} with the same schema", plural(count as u64 - 1, "other file")),
            };
            text.push_str(&format!("{}{others}\n\n", printable(names[0].clone())));
        }
        text.push_str(described);
    }
    print(&text)
}

/// `text` with a capital letter.
fn title(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A JSON document: indented on a terminal, else on one line.
pub(super) fn json_text(json: &Value) -> String {
    if io::stdout().is_terminal() { format!("{json:#}\n") } else { format!("{json}\n") }
}

fn describe(file: &ParquetFile, is_text: bool) -> String {
    let mut text = String::new();
    if !is_text {
        let mut parquet = Vec::new();
        lath_format::schema::print_schema(&mut parquet, file.metadata().schema_descr().root_schema());
        text = format!("Parquet\n{}\n", String::from_utf8_lossy(&parquet).trim_end());
    }
    text.push_str("Arrow\n");
    for field in file.schema().fields() {
        describe_field(field, 1, &mut text);
    }
    text
}

fn describe_field(field: &Field, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let children = children(field.data_type());
    let name = printable(field.name().clone());
    let type_text = if children.is_empty() { field.data_type().to_string() } else { kind(field.data_type()) };
    let extension = field.extension_type_name().map(|name| format!(" as {name}")).unwrap_or_default();
    let required = if field.is_nullable() { "" } else { ", required" };
    text.push_str(&format!("{indent}{name}: {type_text}{extension}{required}\n"));
    for child in children {
        describe_field(child, depth + 1, text);
    }
}

fn children(data_type: &DataType) -> Vec<&Field> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::List(child)
        | DataType::LargeList(child)
        | DataType::ListView(child)
        | DataType::LargeListView(child)
        | DataType::FixedSizeList(child, _)
        | DataType::Map(child, _) => vec![child],
        _ => Vec::new(),
    }
}

/// The name of a nested type without its children.
fn kind(data_type: &DataType) -> String {
    match data_type {
        DataType::Struct(_) => "Struct".to_owned(),
        DataType::List(_) => "List".to_owned(),
        DataType::LargeList(_) => "LargeList".to_owned(),
        DataType::ListView(_) => "ListView".to_owned(),
        DataType::LargeListView(_) => "LargeListView".to_owned(),
        DataType::FixedSizeList(_, length) => format!("FixedSizeList({length})"),
        DataType::Map(..) => "Map".to_owned(),
        other => other.to_string(),
    }
}

fn arrow_json(schema: &Schema) -> Value {
    json!({ "fields": schema.fields().iter().map(|field| field_json(field)).collect::<Vec<_>>() })
}

fn field_json(field: &Field) -> Value {
    let children = children(field.data_type());
    let mut json = json!({
        "name": field.name(),
        "type": if children.is_empty() { field.data_type().to_string() } else { kind(field.data_type()) },
        "nullable": field.is_nullable(),
    });
    if let Some(extension) = field.extension_type_name() {
        json["extension"] = extension.into();
    }
    if !children.is_empty() {
        json["fields"] = children.into_iter().map(field_json).collect();
    }
    json
}
