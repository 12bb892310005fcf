//! Resolves names to columns of a schema.
//!
//! A name is a list of parts: a root column, then fields of structs and keys of maps. The parts are not joined, so a field `b` of `a` is not a
//! column `a.b`. Only if the parts lead to no column are they tried as one name with dots.

use arrow_schema::{DataType, FieldRef, Fields, Schema};

use super::bound::BoundColumn;
use super::context::{BindContext, FileColumns};
use super::narrow::narrow;
use crate::access::Access;
use crate::place::{Place, place};
use crate::syntax::{ColumnName, Literal, Name, Step};
use crate::value::{Value, is_uuid, list_element, type_name, value_type};

/// The result of resolving a name.
pub(crate) enum Resolution {
    Column(BoundColumn),
    /// A column that the file lacks, or of which it has only nulls: the name, and the field in the common schema.
    Missing(String, FieldRef),
    /// A field that the file lacks: its name, its field in the common schema, its value, and the struct around it, where it is null.
    Default(String, FieldRef, Value, BoundColumn),
}

/// A resolved step to an operand.
enum Part<'a> {
    /// The field at this index.
    Field(usize),
    /// The value of a map at a key, which is placed among the values of this field.
    Key(&'a FieldRef, Option<Place>),
}

/// A resolved path to an operand.
struct Way<'a> {
    parts: Vec<Part<'a>>,
    field: &'a FieldRef,
    /// The operand's name in messages.
    name: String,
}

/// Looks `name` up among the columns of `context`.
pub(crate) fn resolve(name: &ColumnName, context: &BindContext<'_>) -> Result<Resolution, String> {
    let way = find(name, context.schema.fields())?;
    let Some(FileColumns { schema, is_widened }) = context.file else {
        return Ok(Resolution::Column(
            bound(&way, context.schema, context.schema, context)?.ok_or_else(|| lost(&way))?,
        ));
    };
    let Some(mut column) = bound(&way, context.schema, schema, context)? else {
        let (name, field) = (way.name.clone(), FieldRef::clone(way.field));
        return Ok(match field_default(&way, schema, context)? {
            Some((value, parent)) => Resolution::Default(name, field, value, parent),
            None => Resolution::Missing(name, field),
        });
    };
    if !is_alike(&column.field, way.field) {
        let is_float = |field: &FieldRef| value_type(field).is_floating();
        if is_widened && holds(value_type(way.field), value_type(&column.field)) {
            column.wide = Some(FieldRef::clone(way.field));
        } else if is_float(way.field) || is_float(&column.field) {
            let (here, there) = (type_name(&column.field), type_name(way.field));
            return Err(format!(
                "column {:?} is {here} here and {there} in the first file; unite the schemas",
                way.name
            ));
        }
    }
    Ok(Resolution::Column(column))
}

/// The root column with a name.
pub(crate) fn root_name<'a>(name: &ColumnName, schema: &'a Schema) -> Option<&'a str> {
    let way = find(name, schema.fields()).ok()?;
    match way.parts.as_slice() {
        [Part::Field(root)] => Some(schema.field(*root).name()),
        _ => None,
    }
}

/// The parts of a name joined by dots; `None` if one of them is a key.
pub(crate) fn joined(name: &ColumnName) -> Option<Name> {
    let mut whole = name.name.clone();
    for step in &name.steps {
        let Step::Field(part) = step else { return None };
        whole.text = format!("{}.{}", whole.text, part.text);
        whole.quoted |= part.quoted;
    }
    Some(whole)
}

/// Follows the parts of a name. If they lead to no column, looks for a root column with the joined name.
fn find<'a>(name: &ColumnName, fields: &'a Fields) -> Result<Way<'a>, String> {
    follow(&name.name, &name.steps, fields).or_else(|failed| {
        let leading = name.steps.iter().take_while(|step| matches!(step, Step::Field(_))).count();
        let start = ColumnName { name: name.name.clone(), steps: name.steps[..leading].to_vec() };
        let whole =
            joined(&start).filter(|whole| leading > 0 && fields.iter().any(|field| *field.name() == whole.text));
        whole.map_or(Err(failed), |whole| follow(&whole, &name.steps[leading..], fields))
    })
}

fn follow<'a>(root: &Name, steps: &[Step], fields: &'a Fields) -> Result<Way<'a>, String> {
    let root = find_field(root, fields)?.ok_or_else(|| missing_column(root, "", fields))?;
    let mut field = &fields[root];
    let mut parts = vec![Part::Field(root)];
    let mut path = field.name().clone();
    for step in steps {
        match (step, field.data_type()) {
            (Step::Field(part), DataType::Struct(children)) => {
                let index = find_field(part, children)?.ok_or_else(|| missing_column(part, &path, children))?;
                field = &children[index];
                path = format!("{path}.{}", field.name());
                parts.push(Part::Field(index));
            }
            (Step::Key(key), DataType::Map(entries, _)) => {
                let (key_field, value_field) = pair(entries, &path)?;
                parts.push(Part::Key(key_field, map_key(key, key_field, &path)?));
                field = value_field;
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
                    "column {path:?} is {} and has no key {key}; only maps have keys",
                    type_name(field)
                ));
            }
        }
    }
    Ok(Way { parts, field, name: path })
}

/// The operand in a file with the columns of `file`; `None` if the file lacks it or has only nulls.
fn bound(
    way: &Way<'_>,
    schema: &Schema,
    file: &Schema,
    context: &BindContext<'_>,
) -> Result<Option<BoundColumn>, String> {
    let (mut here, mut there): (&Fields, &Fields) = (schema.fields(), file.fields());
    let mut column: Option<(BoundColumn, &FieldRef)> = None;
    let mut in_map = false;
    let mut known: Option<&FieldRef> = None;
    for part in &way.parts {
        let above = column.as_ref().map(|(_, field)| field.data_type());
        if above == Some(&DataType::Null) {
            return Ok(None);
        }
        match part {
            Part::Field(index) => {
                if let (Some(known), Some(above)) = (known, above) {
                    let (DataType::Struct(children), DataType::Struct(own)) = (known.data_type(), above) else {
                        return Err(differs(way, column.as_ref().map(|(_, field)| *field)));
                    };
                    (here, there) = (children, own);
                }
                let wanted = &here[*index];
                let Some((at, field)) = namesake(wanted, *index, here, there) else { return Ok(None) };
                known = Some(wanted);
                let access = Access::Field(field.name().clone());
                let (mut bound, _) = column.take().unwrap_or_else(|| (start(way, field), field));
                if !in_map {
                    bound.indices.push(at);
                    bound.names.push(field.name().clone());
                }
                bound.access.push(access);
                column = Some((bound, field));
            }
            Part::Key(key_field, place) => {
                let Some((mut bound, field)) = column.take() else { return Err(lost(way)) };
                let DataType::Map(entries, _) = field.data_type() else { return Err(differs(way, Some(field))) };
                let (own_key, value) = pair(entries, &way.name)?;
                let place = place.clone().map(|place| narrow(place, key_field, own_key));
                let key = match place {
                    Some(None) => return Err(differs(way, Some(own_key))),
                    Some(Some(Place::At(value))) => Some(value),
                    _ => None,
                };
                bound.access.push(Access::Key(key));
                in_map = true;
                known = known.and_then(|known| match known.data_type() {
                    DataType::Map(entries, _) => pair(entries, &way.name).ok().map(|(_, value)| value),
                    _ => None,
                });
                column = Some((bound, value));
            }
        }
    }
    let Some((mut bound, field)) = column else { return Err(lost(way)) };
    if field.data_type() == &DataType::Null && way.field.data_type() != &DataType::Null {
        return Ok(None);
    }
    // The leaf of a map's values is unknown here. Only timestamps can have stored values that the Arrow type cannot hold.
    let is_map_of_timestamps = in_map && matches!(value_type(field), DataType::Timestamp(..));
    let leaf = if in_map { None } else { context.leaf(&bound.indices) };
    bound.field = FieldRef::clone(field);
    bound.leaf = leaf.map(|leaf| leaf.index);
    bound.repeated = leaf.is_some_and(|leaf| leaf.repeated);
    bound.may_overflow = leaf.map_or(is_map_of_timestamps, |leaf| leaf.may_overflow);
    Ok(Some(bound))
}

/// The value of a field that the file lacks, and the struct around it.
fn field_default(
    way: &Way<'_>,
    file: &Schema,
    context: &BindContext<'_>,
) -> Result<Option<(Value, BoundColumn)>, String> {
    let Some(names) = field_names(&way.parts, context.schema) else { return Ok(None) };
    let Some(default) = context.field_defaults.iter().find(|default| default.path == names) else { return Ok(None) };
    let Some((_, parts)) = way.parts.split_last() else { return Ok(None) };
    let parts = parts.iter().filter_map(|part| match part {
        Part::Field(index) => Some(Part::Field(*index)),
        Part::Key(..) => None,
    });
    let name = names.split_last().map(|(_, above)| above.join(".")).unwrap_or_default();
    let parent = Way { parts: parts.collect(), field: way.field, name };
    Ok(bound(&parent, context.schema, file, context)?.map(|parent| (default.value.clone(), parent)))
}

/// The names of a column and of fields within it; `None` if a part is a key.
fn field_names(parts: &[Part<'_>], schema: &Schema) -> Option<Vec<String>> {
    let mut fields = schema.fields();
    let mut names = Vec::with_capacity(parts.len());
    for part in parts {
        let Part::Field(index) = part else { return None };
        let field = fields.get(*index)?;
        names.push(field.name().clone());
        if let DataType::Struct(children) = field.data_type() {
            fields = children;
        }
    }
    Some(names)
}

/// A column before its steps are added.
fn start(way: &Way<'_>, field: &FieldRef) -> BoundColumn {
    BoundColumn {
        indices: Vec::new(),
        names: Vec::new(),
        name: way.name.clone(),
        field: FieldRef::clone(field),
        wide: None,
        leaf: None,
        repeated: false,
        may_overflow: false,
        access: Vec::new(),
        casts: Vec::new(),
    }
}

/// The field of `there` with the same name as field `index` of `here`. If names repeat, the order decides.
fn namesake<'f>(wanted: &FieldRef, index: usize, here: &Fields, there: &'f Fields) -> Option<(usize, &'f FieldRef)> {
    let is_like = |field: &FieldRef| field.name() == wanted.name();
    if let Some(field) = there.get(index).filter(|field| is_like(field)) {
        return Some((index, field));
    }
    let before = here[..index].iter().filter(|field| is_like(field)).count();
    let alike = || there.iter().enumerate().filter(|(_, field)| is_like(field));
    alike().nth(before).or_else(|| alike().next())
}

/// Whether two types have the same values, in possibly different layouts.
fn is_alike(file: &FieldRef, whole: &FieldRef) -> bool {
    let (here, there) = (value_type(file), value_type(whole));
    match (here, there) {
        (here, there) if here == there => is_uuid(file) == is_uuid(whole),
        (DataType::FixedSizeBinary(_), _) | (_, DataType::FixedSizeBinary(_)) => false,
        (here, there) if here.is_string() && there.is_string() || here.is_binary() && there.is_binary() => true,
        _ => match (list_element(file), list_element(whole)) {
            (Some(here), Some(there)) => is_alike(here, there),
            _ => false,
        },
    }
}

/// Whether a number type is at least as wide as another. A task does not know whether the schemas of its files were united, so this checks it.
fn holds(whole: &DataType, file: &DataType) -> bool {
    let is_number = |data_type: &DataType| data_type.is_integer() || data_type.is_floating();
    match (whole.primitive_width(), file.primitive_width()) {
        (Some(whole_width), Some(file_width)) if is_number(whole) && is_number(file) => whole_width >= file_width,
        _ => true,
    }
}

fn pair<'f>(entries: &'f FieldRef, path: &str) -> Result<(&'f FieldRef, &'f FieldRef), String> {
    let DataType::Struct(children) = entries.data_type() else {
        return Err(format!("column {path:?} is a map without entries"));
    };
    let [key, value] = children.as_ref() else { return Err(format!("column {path:?} is a map without values")) };
    Ok((key, value))
}

fn differs(way: &Way<'_>, found: Option<&FieldRef>) -> String {
    let found = found.map_or_else(|| "another type".to_owned(), |field| type_name(field));
    format!("column {:?} has another type in this file than in the others: found {found}", way.name)
}

fn lost(way: &Way<'_>) -> String {
    format!("column {:?} was not found at its place in the schema", way.name)
}

fn map_key(key: &Literal, field: &FieldRef, path: &str) -> Result<Option<Place>, String> {
    match place(key, field) {
        Some(place) => Ok(Some(place)),
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
            "column {:?} is ambiguous: {:?} or {:?}; write the exact name in double quotes",
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
