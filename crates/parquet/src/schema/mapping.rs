//! Maps the columns of a file to the columns of a table: by field id, or by the names under which files store them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef, Fields, Schema};

use super::refine::with_element;
use super::storage::with_type;
use super::{Node, NodeKind};
use crate::error::{Error, Result};

/// The metadata key of an Arrow field for the field id of its column.
const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// The columns of a table, and how each is found in a file: by field id, or by the names under which files store it.
///
/// A file that is opened with a mapping ([`OpenOptions::columns`](crate::OpenOptions::columns)) has the table's names, in every
/// struct, list and map too, and no columns that the table lacks. A column that was dropped and added again under the same name
/// has another id, and is therefore not read from older files.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use std::sync::Arc;
///
/// use lath_parquet::{ColumnMapping, MappedColumn, OpenOptions};
///
/// let columns = ColumnMapping::new([MappedColumn::new("customer").id(3), MappedColumn::new("total").stored_name("col-17")]);
/// let file = OpenOptions::new().columns(Arc::new(columns)).open("orders.parquet")?;
/// println!("{}", file.schema());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnMapping {
    columns: Vec<MappedColumn>,
}

/// A column of a table, or a field within one.
#[derive(Debug, Clone, PartialEq)]
pub struct MappedColumn {
    pub(crate) name: String,
    pub(crate) id: Option<i32>,
    pub(crate) stored_names: Vec<String>,
    pub(crate) fields: Vec<MappedColumn>,
    pub(crate) default: Option<ArrayRef>,
    pub(crate) is_variant: bool,
}

/// The part of a shredded Variant with values in their own types.
const SHREDDED: &str = "typed_value";

impl MappedColumn {
    /// A column called `name` in the table. Without an id and a stored name, it is in no file.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            id: None,
            stored_names: Vec::new(),
            fields: Vec::new(),
            default: None,
            is_variant: false,
        }
    }

    /// Sets the field id of the column in files.
    #[must_use]
    pub fn id(mut self, id: i32) -> Self {
        self.id = Some(id);
        self
    }

    /// Adds a name that the column may have in files: if the mapping has an id too, in files whose column has none.
    #[must_use]
    pub fn stored_name(mut self, name: impl Into<String>) -> Self {
        self.stored_names.push(name.into());
        self
    }

    /// Sets the fields of a struct, the element of a list, or the key and the value of a map. Elements, keys and values are found
    /// by their place. If there are no fields, everything below the column is as in the file.
    #[must_use]
    pub fn fields(mut self, fields: impl IntoIterator<Item = Self>) -> Self {
        self.fields = fields.into_iter().collect();
        self
    }

    /// Makes the column a Variant, whose values are in the fields `metadata` and `value`: a file in which it is shredded, so that values are in
    /// `typed_value` too, is an error.
    #[must_use]
    pub fn variant(mut self) -> Self {
        self.is_variant = true;
        self
    }

    /// Sets the value of the column in rows of files that lack it, as an array of one element of the table's type; null by default.
    #[must_use]
    pub fn default_value(mut self, value: ArrayRef) -> Self {
        self.default = Some(value);
        self
    }

    /// The name of the column in the table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value in files without the column, unless that is null.
    pub(crate) fn known_default(&self) -> Option<&ArrayRef> {
        self.default.as_ref().filter(|value| value.len() == 1 && !value.is_null(0))
    }

    /// Whether a field below has a value for files that lack it.
    pub(crate) fn has_defaults_below(&self) -> bool {
        self.fields.iter().any(|field| field.known_default().is_some() || field.has_defaults_below())
    }

    fn is_stored_as(&self, node: &Node) -> Result<bool> {
        let stored = field_id(&node.field)?;
        Ok(match (self.id, stored) {
            (Some(id), Some(stored)) => id == stored,
            _ => self.stored_names.contains(node.field.name()),
        })
    }
}

impl ColumnMapping {
    /// The columns of a table, in any order.
    pub fn new(columns: impl IntoIterator<Item = MappedColumn>) -> Self {
        Self { columns: columns.into_iter().collect() }
    }

    /// The columns.
    pub fn columns(&self) -> &[MappedColumn] {
        &self.columns
    }

    /// Whether two mappings are equal.
    pub(crate) fn is_same(one: Option<&Arc<Self>>, other: Option<&Arc<Self>>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// The columns of the table that a file with the columns `nodes` has, under the table's names, in the order of the file.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a file in which a column is not unique, and for a column with another structure.
    pub(super) fn apply(&self, nodes: Vec<Node>) -> Result<Vec<Node>> {
        let needs_ids = self.columns.iter().any(|column| column.id.is_some())
            && self.columns.iter().all(|column| column.stored_names.is_empty());
        if needs_ids && !nodes.is_empty() {
            let mut has_id = false;
            for node in &nodes {
                has_id |= field_id(&node.field)?.is_some();
            }
            // Every column would be missing.
            if !has_id {
                return Err(Error::invalid(
                    "the file has no field ids, and the table does not say which names its columns have",
                ));
            }
        }
        select(nodes, &self.columns, "")
    }

    /// The columns with a default that the file with the columns `file` lacks.
    pub(crate) fn missing_defaults(&self, file: &Schema) -> Vec<(&str, &ArrayRef)> {
        let columns = self.columns.iter().filter_map(|column| Some((column.name.as_str(), column.known_default()?)));
        columns.filter(|(name, _)| file.fields().find(name).is_none()).collect()
    }

    /// A column by its name in the table.
    pub fn column(&self, name: &str) -> Option<&MappedColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The value of the field at `names`, from the root down, within a struct of the file with the columns `file`, which lacks the field.
    pub(crate) fn nested_default(&self, names: &[String], file: &Schema) -> Option<&ArrayRef> {
        let (mut columns, mut fields) = (&self.columns[..], file.fields().clone());
        for (depth, name) in names.iter().enumerate() {
            let column = columns.iter().find(|column| column.name == *name)?;
            let Some(field) = fields.iter().find(|field| field.name() == name) else {
                let is_last = depth > 0 && depth + 1 == names.len();
                return column.known_default().filter(|_| is_last);
            };
            let DataType::Struct(below) = field.data_type() else { return None };
            (columns, fields) = (&column.fields, below.clone());
        }
        None
    }

    /// Whether a field below the one at `names` has a value in files that lack it.
    pub(crate) fn has_defaults_within(&self, names: &[String]) -> bool {
        let mut columns = &self.columns[..];
        let mut found = None;
        for name in names {
            found = columns.iter().find(|column| column.name == *name);
            columns = found.map_or(&[], |column| &column.fields);
        }
        found.is_some_and(MappedColumn::has_defaults_below)
    }
}

/// The nodes that `columns` name, renamed.
fn select(nodes: Vec<Node>, columns: &[MappedColumn], parent: &str) -> Result<Vec<Node>> {
    // By id first: a scan of all columns for each node would be quadratic in wide files.
    let by_id: HashMap<i32, &MappedColumn> = columns.iter().filter_map(|column| Some((column.id?, column))).collect();
    let by_name: HashMap<&str, &MappedColumn> =
        columns.iter().flat_map(|column| column.stored_names.iter().map(move |name| (name.as_str(), column))).collect();
    let mut taken: HashMap<&str, String> = HashMap::new();
    let mut selected = Vec::new();
    for node in nodes {
        let found = match field_id(&node.field)?.and_then(|id| by_id.get(&id)) {
            Some(column) => Some(*column),
            None => by_name.get(node.field.name().as_str()).copied(),
        };
        let Some(column) = found else { continue };
        if !column.is_stored_as(&node)? {
            continue;
        }
        if let Some(first) = taken.insert(&column.name, node.field.name().clone()) {
            let path = path(parent, &column.name);
            let second = node.field.name();
            return Err(Error::invalid(format!(
                "column {path:?} is stored twice in the file: {first:?} and {second:?}"
            )));
        }
        selected.push(rename(node, column, parent)?);
    }
    Ok(selected)
}

/// The node under the name of `column`, with the fields that the column has.
fn rename(node: Node, column: &MappedColumn, parent: &str) -> Result<Node> {
    let path = path(parent, &column.name);
    let Node { field, kind, .. } = node;
    let field: FieldRef = Arc::new(field.as_ref().clone().with_name(&column.name));
    if column.is_variant
        && let NodeKind::Struct(children) = &kind
        && children.iter().any(|child| child.field.name() == SHREDDED)
    {
        return Err(Error::unsupported(format!("column {path:?} is a shredded Variant")));
    }
    if column.fields.is_empty() {
        return Ok(Node { field, kind, ..node });
    }
    let differs = |field: &FieldRef| {
        let count = column.fields.len();
        Error::invalid(format!(
            "column {path:?} is {} in the file, and has {count} fields in the table",
            field.data_type()
        ))
    };
    let (field, kind) = match kind {
        NodeKind::Leaf(_) => return Err(differs(&field)),
        NodeKind::Struct(children) => {
            let children = select_of_struct(children, &column.fields, &path)?;
            (with_type(&field, DataType::Struct(fields(&children))), NodeKind::Struct(children))
        }
        NodeKind::List { element_def_level, element } => {
            let element = match (field.data_type(), &column.fields[..]) {
                (DataType::Map(..), [key, value]) => rename_entries(*element, [key, value], &path)?,
                (DataType::Map(..), _) => return Err(differs(&field)),
                (_, [only]) => rename_at_place(*element, only, &path)?,
                _ => return Err(differs(&field)),
            };
            let data_type = with_element(field.data_type(), Arc::clone(&element.field));
            (with_type(&field, data_type), NodeKind::List { element_def_level, element: Box::new(element) })
        }
    };
    Ok(Node { field, kind, ..node })
}

/// The fields of a struct. If the table has none of them, one stays under a name that the table does not have: its levels say
/// where the struct is null.
fn select_of_struct(children: Vec<Node>, columns: &[MappedColumn], parent: &str) -> Result<Vec<Node>> {
    let first = children.first().cloned();
    let selected = select(children, columns, parent)?;
    let (true, Some(first)) = (selected.is_empty(), first) else { return Ok(selected) };
    let mut name = format!("{} (not in the table)", first.field.name());
    while columns.iter().any(|column| column.name == name) {
        name.push('\'');
    }
    let field: FieldRef = Arc::new(first.field.as_ref().clone().with_name(name));
    Ok(vec![Node { field, ..first }])
}

/// The entries of a map, with the names of the table.
fn rename_entries(entries: Node, columns: [&MappedColumn; 2], parent: &str) -> Result<Node> {
    let Node { field, kind, .. } = entries;
    let NodeKind::Struct(children) = kind else { return Err(Error::internal("a map without entries")) };
    let pair = children.into_iter().zip(columns).map(|(child, column)| rename_at_place(child, column, parent));
    let pair = pair.collect::<Result<Vec<_>>>()?;
    let field = with_type(&field, DataType::Struct(fields(&pair)));
    Ok(Node { field, kind: NodeKind::Struct(pair), ..entries })
}

/// An element, key or value, which has no id, or the same as in the table.
fn rename_at_place(node: Node, column: &MappedColumn, parent: &str) -> Result<Node> {
    if let (Some(id), Some(stored)) = (column.id, field_id(&node.field)?)
        && id != stored
    {
        let path = path(parent, &column.name);
        return Err(Error::invalid(format!("{path:?} has the field id {stored} in the file, and {id} in the table")));
    }
    rename(node, column, parent)
}

fn fields(nodes: &[Node]) -> Fields {
    nodes.iter().map(|node| Arc::clone(&node.field)).collect()
}

fn path(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

fn field_id(field: &FieldRef) -> Result<Option<i32>> {
    let Some(text) = field.metadata().get(FIELD_ID_KEY) else { return Ok(None) };
    let malformed = || Error::internal(format!("a field id that is no number: {text:?}"));
    text.parse().map(Some).map_err(|_| malformed())
}
