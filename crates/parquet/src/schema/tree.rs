//! Levels and leaves: walks a Parquet schema together with its Arrow schema.
//!
//! The [rules for nested types](https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#nested-types) determine
//! lists and maps; they are already applied in the Arrow schema, and the walk has to follow them in the same way.

use arrow_schema::{DataType, FieldRef, Fields};
use lath_format::schema::{ConvertedType, LogicalType, Repetition};
use lath_format::schema::{SchemaDescriptor, Type, TypePtr};

use super::sound::{nesting, repetition};
use super::{Leaf, Node, NodeKind};
use crate::error::{Error, Result};

/// Builds a node for each field of `fields`, which are the Arrow fields of the Parquet type `root`.
pub(super) fn nodes(descr: &SchemaDescriptor, root: &Type, fields: &Fields) -> Result<Vec<Node>> {
    let mut walk = Walk { descr, next_column: 0 };
    walk.children(root, fields, Levels { def: 0, rep: 0, ancestor_def: 0 })
}

/// An error if the schema is deeper than `deepest`.
pub(super) fn check_depth(root: &Type, deepest: usize) -> Result<()> {
    let depth = depth(root, deepest + 1);
    if depth > deepest {
        return Err(Error::limit("depth of the schema (schema_depth)", deepest as u64, depth as u64));
    }
    Ok(())
}

/// Depth of a type: 0 for the root of an empty schema, 1 for flat columns. Stops counting past `bound`.
fn depth(ty: &Type, bound: usize) -> usize {
    if ty.is_primitive() || bound == 0 {
        return 0;
    }
    ty.get_fields().iter().map(|child| 1 + depth(child, bound - 1)).max().unwrap_or(0)
}

/// The levels at a place of the schema.
#[derive(Debug, Clone, Copy)]
struct Levels {
    /// Definition level from which the place is not null.
    def: u8,
    /// Number of repeated nodes down to the place.
    rep: u8,
    /// Definition level from which the nearest repeated node has an element.
    ancestor_def: u8,
}

impl Levels {
    fn optional(self) -> Result<Self> {
        Ok(Self { def: deeper(self.def)?, ..self })
    }

    fn repeated(self) -> Result<Self> {
        let def = deeper(self.def)?;
        Ok(Self { def, rep: deeper(self.rep)?, ancestor_def: def })
    }
}

fn deeper(level: u8) -> Result<u8> {
    level.checked_add(1).ok_or_else(|| Error::unsupported("schema with levels over 255"))
}

struct Walk<'a> {
    descr: &'a SchemaDescriptor,
    next_column: usize,
}

impl Walk<'_> {
    /// The fields of a group. Children without leaves have no Arrow field and give no node.
    fn children(&mut self, group: &Type, fields: &Fields, at: Levels) -> Result<Vec<Node>> {
        let mut nodes = Vec::with_capacity(fields.len());
        let mut fields = fields.iter();
        for child in group.get_fields() {
            if vanishes(child) {
                self.next_column += leaf_count(child);
                continue;
            }
            let field = fields.next().ok_or_else(|| mismatch(child))?;
            nodes.push(self.any(child, field, at)?);
        }
        match fields.next() {
            None => Ok(nodes),
            Some(_) => Err(mismatch(group)),
        }
    }

    fn any(&mut self, ty: &TypePtr, field: &FieldRef, at: Levels) -> Result<Node> {
        match repetition(ty) {
            Repetition::REQUIRED => self.present(ty, field, at),
            Repetition::OPTIONAL => self.present(ty, field, at.optional()?),
            // Repeated outside of an annotated group: a list that cannot be null, whose elements cannot be null.
            Repetition::REPEATED => {
                let inside = at.repeated()?;
                let element = self.present(ty, element_field(ty, field)?, inside)?;
                Ok(list(field, at, inside, element))
            }
        }
    }

    /// A type whose own repetition is part of `at` already.
    fn present(&mut self, ty: &TypePtr, field: &FieldRef, at: Levels) -> Result<Node> {
        if ty.is_primitive() {
            return self.leaf(ty, field, at);
        }
        match nesting(ty) {
            ConvertedType::LIST => self.list(ty, field, at),
            ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => self.map(ty, field, at),
            _ => self.group(ty, field, at),
        }
    }

    fn leaf(&mut self, ty: &Type, field: &FieldRef, at: Levels) -> Result<Node> {
        let column = self.next_column;
        self.next_column += 1;
        let descr = self.descr.columns().get(column).ok_or_else(|| mismatch(ty))?;
        if descr.max_def_level() != i16::from(at.def) || descr.max_rep_level() != i16::from(at.rep) {
            return Err(mismatch(ty));
        }
        let physical_type = descr.physical_type();
        let type_length = match physical_type {
            lath_format::schema::PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                usize::try_from(descr.type_length()).map_err(|_| mismatch(ty))?
            }
            _ => 0,
        };
        let leaf = Leaf { column, physical_type, type_length, max_def_level: at.def, max_rep_level: at.rep };
        Ok(node(field, at, NodeKind::Leaf(leaf)))
    }

    fn group(&mut self, ty: &Type, field: &FieldRef, at: Levels) -> Result<Node> {
        let DataType::Struct(fields) = field.data_type() else { return Err(mismatch(ty)) };
        let children = self.children(ty, fields, at)?;
        Ok(node(field, at, NodeKind::Struct(children)))
    }

    fn list(&mut self, ty: &Type, field: &FieldRef, at: Levels) -> Result<Node> {
        let [repeated] = ty.get_fields() else { return Err(mismatch(ty)) };
        let inside = at.repeated()?;
        let element_field = element_field(ty, field)?;
        let element = match list_element(ty, repeated) {
            Element::Repeated if repeated.is_primitive() => self.leaf(repeated, element_field, inside)?,
            Element::Repeated => self.group(repeated, element_field, inside)?,
            Element::Child(item) => self.any(item, element_field, inside)?,
        };
        Ok(list(field, at, inside, element))
    }

    fn map(&mut self, ty: &Type, field: &FieldRef, at: Levels) -> Result<Node> {
        let [entries] = ty.get_fields() else { return Err(mismatch(ty)) };
        // Without values a map is the list of its keys.
        let [key, value] = entries.get_fields() else { return self.list(ty, field, at) };
        let inside = at.repeated()?;
        let entries_field = element_field(ty, field)?;
        let DataType::Struct(fields) = entries_field.data_type() else { return Err(mismatch(ty)) };
        let [key_field, value_field] = &fields[..] else { return Err(mismatch(ty)) };
        let pair = vec![self.any(key, key_field, inside)?, self.any(value, value_field, inside)?];
        Ok(list(field, at, inside, node(entries_field, inside, NodeKind::Struct(pair))))
    }
}

/// Element of a LIST-annotated group.
enum Element<'a> {
    /// The repeated child itself: the two-level lists of old writers. Lists whose repeated child has one repeated child itself
    /// have three levels already, see [`super::lists`].
    Repeated,
    /// The only child of the repeated group: the three-level structure of the specification.
    Child(&'a TypePtr),
}

fn list_element<'a>(list: &Type, repeated: &'a Type) -> Element<'a> {
    if repeated.is_primitive() {
        return Element::Repeated;
    }
    let [item] = repeated.get_fields() else { return Element::Repeated };
    let is_list = match repeated.get_basic_info().logical_type_ref() {
        Some(logical) => *logical == LogicalType::List,
        None => repeated.get_basic_info().converted_type() == ConvertedType::LIST,
    };
    let has_old_name = repeated.name() == "array" || repeated.name().strip_suffix("_tuple") == Some(list.name());
    if has_old_name && !is_list && repetition(item) != Repetition::REPEATED {
        Element::Repeated
    } else {
        Element::Child(item)
    }
}

/// Whether a type has no Arrow field, because it is a group without leaves, or because a required part of it has none.
fn vanishes(ty: &Type) -> bool {
    if ty.is_primitive() {
        return false;
    }
    let fields = ty.get_fields();
    match (nesting(ty), fields) {
        (ConvertedType::LIST, [repeated]) => match list_element(ty, repeated) {
            Element::Repeated => group_vanishes(repeated),
            Element::Child(item) => vanishes(item),
        },
        (ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE, [entries]) => match entries.get_fields() {
            [_key] => match list_element(ty, entries) {
                Element::Repeated => group_vanishes(entries),
                Element::Child(item) => vanishes(item),
            },
            pair => pair.iter().any(|child| vanishes(child)),
        },
        _ => group_vanishes(ty),
    }
}

fn group_vanishes(ty: &Type) -> bool {
    ty.is_group() && ty.get_fields().iter().all(|child| vanishes(child))
}

fn leaf_count(ty: &Type) -> usize {
    if ty.is_primitive() { 1 } else { ty.get_fields().iter().map(|child| leaf_count(child)).sum() }
}

fn node(field: &FieldRef, at: Levels, kind: NodeKind) -> Node {
    let Levels { def: def_level, rep: rep_level, ancestor_def: ancestor_def_level } = at;
    Node { field: FieldRef::clone(field), def_level, rep_level, ancestor_def_level, kind }
}

fn list(field: &FieldRef, at: Levels, inside: Levels, element: Node) -> Node {
    node(field, at, NodeKind::List { element_def_level: inside.def, element: Box::new(element) })
}

fn element_field<'a>(ty: &Type, field: &'a FieldRef) -> Result<&'a FieldRef> {
    match field.data_type() {
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::Map(element, _) => Ok(element),
        _ => Err(mismatch(ty)),
    }
}

fn mismatch(ty: &Type) -> Error {
    Error::unsupported(format!("the structure of schema element '{}'", ty.name()))
}
