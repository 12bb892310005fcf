//! Which column of a schema a name means.

use arrow_schema::{DataType, FieldRef, Fields};

use crate::access::Access;
use crate::bound::BoundColumn;
use crate::context::BindContext;
use crate::place::{Place, place};
use crate::syntax::{ColumnName, Literal, Name, Step};
use crate::type_name::{type_name, value_type};
use crate::value::Value;

/// Looks `name` up among the columns of `context`.
pub(crate) fn resolve(name: &ColumnName, context: &BindContext<'_>) -> Result<BoundColumn, String> {
    let fields = context.schema.fields();
    let (root, steps) = split_root(name, fields)?;
    let mut field = &fields[root];
    let mut indices = vec![root];
    let mut names = vec![field.name().as_str()];
    let mut access = vec![Access::Field(field.name().clone())];
    let mut in_map = false;
    let mut path = field.name().clone();
    for step in steps {
        match (step, field.data_type()) {
            (Step::Field(part), DataType::Struct(children)) => {
                let index = find_field(part, children)?.ok_or_else(|| missing_column(part, &path, children))?;
                field = &children[index];
                access.push(Access::Field(field.name().clone()));
                path = format!("{path}.{}", field.name());
                if !in_map {
                    indices.push(index);
                    names.push(field.name());
                }
            }
            (Step::Key(key), DataType::Map(entries, _)) => {
                let DataType::Struct(children) = entries.data_type() else {
                    return Err(format!("column {path:?} is a map without entries"));
                };
                let [key_field, value_field] = children.as_ref() else {
                    return Err(format!("column {path:?} is a map without values"));
                };
                access.push(Access::Key(map_key(key, key_field, &path)?));
                field = value_field;
                in_map = true;
                path = format!("{path}[{key}]");
            }
            (Step::Field(part), _) => {
                return Err(format!(
                    "column {path:?} is {} and has no field {:?}; only structs have fields that can be named with a dot",
                    type_name(field),
                    part.text
                ));
            }
            (Step::Key(key), _) => {
                return Err(format!(
                    "column {path:?} is {} and has nothing at [{key}]; only maps have keys",
                    type_name(field)
                ));
            }
        }
    }
    // How the values of a map are stored is not known; no other type than timestamps is stored with more values than it has.
    let is_map_of_timestamps = in_map && matches!(value_type(field), DataType::Timestamp(..));
    let leaf = if in_map { None } else { context.leaf(&indices) };
    Ok(BoundColumn {
        path: projection_path(&names, fields),
        name: path,
        field: FieldRef::clone(field),
        leaf: leaf.map(|leaf| leaf.index),
        repeated: leaf.is_some_and(|leaf| leaf.repeated),
        may_overflow: leaf.map_or(is_map_of_timestamps, |leaf| leaf.may_overflow),
        access,
        casts: Vec::new(),
    })
}

/// Whether the first name, or all names with dots between, is that of a root column.
pub(crate) fn has_column(name: &ColumnName, fields: &Fields) -> bool {
    split_root(name, fields).is_ok()
}

/// The root column that a name means, and the steps that follow. A root column whose name is all names with dots between
/// comes before nested fields, as everywhere else.
fn split_root<'a>(name: &'a ColumnName, fields: &Fields) -> Result<(usize, &'a [Step]), String> {
    let leading = name.steps.iter().take_while(|step| matches!(step, Step::Field(_))).count();
    if leading > 0 {
        let mut whole = name.name.text.clone();
        for step in &name.steps[..leading] {
            if let Step::Field(part) = step {
                whole.push('.');
                whole.push_str(&part.text);
            }
        }
        if let Some(root) = fields.iter().position(|field| *field.name() == whole) {
            return Ok((root, &name.steps[leading..]));
        }
    }
    let root = find_field(&name.name, fields)?.ok_or_else(|| missing_column(&name.name, "", fields))?;
    Ok((root, &name.steps))
}

/// The path that a projection knows the struct field by. Where that is the name of another root column, the nearest
/// struct above is read whole.
fn projection_path(names: &[&str], fields: &Fields) -> String {
    for len in (2..=names.len()).rev() {
        let path = names[..len].join(".");
        if !fields.iter().any(|field| *field.name() == path) {
            return path;
        }
    }
    names[0].to_owned()
}

fn map_key(key: &Literal, field: &FieldRef, path: &str) -> Result<Option<Value>, String> {
    match place(key, field) {
        Some(Place::At(value)) => Ok(Some(value)),
        Some(_) => Ok(None),
        None if *key == Literal::Null => Ok(None),
        None => {
            Err(format!("column {path:?} is a map whose key is {} and cannot be {}", type_name(field), key.describe()))
        }
    }
}

fn find_field(name: &Name, fields: &Fields) -> Result<Option<usize>, String> {
    if let Some(index) = fields.iter().position(|field| *field.name() == name.text) {
        return Ok(Some(index));
    }
    if name.quoted {
        return Ok(None);
    }
    let lower = name.text.to_lowercase();
    let mut alike = fields.iter().enumerate().filter(|(_, field)| field.name().to_lowercase() == lower);
    match (alike.next(), alike.next()) {
        (Some((index, _)), None) => Ok(Some(index)),
        (Some((_, first)), Some((_, second))) => Err(format!(
            "column {:?} may mean {:?} or {:?}; write it as it is spelled, in double quotes",
            name.text,
            first.name(),
            second.name()
        )),
        (None, _) => Ok(None),
    }
}

fn missing_column(name: &Name, parent: &str, fields: &Fields) -> String {
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).take(20).collect();
    let more = if fields.len() > names.len() { ", …" } else { "" };
    let place = if parent.is_empty() { String::new() } else { format!(" in {parent:?}") };
    format!("there is no column {:?}{place}; there are {}{more}", name.text, names.join(", "))
}
