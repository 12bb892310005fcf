//! Values of maps by their keys: `m['a']`, `m[1]`, `m[column]`, `map_extract(m, key)`.
//!
//! DataFusion 55 compares a key as the type that it was written in with keys of the map's type, which are not the same for text and for
//! integers of 32 bits; it takes no key that differs by row, finds values in maps that are null, and the first of several equal keys, of
//! which a Parquet file has the last. Its `map_extract` has a list of a null where a key is missing.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, UInt64Array, new_null_array};
use arrow_cast::cast::{CastOptions, cast_with_options};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Field, SortOptions};
use arrow_select::take::take;
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::utils::take_function_args;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, GetFieldAccess, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

/// Plans `map[key]`.
#[derive(Debug)]
pub(crate) struct MapAccess {
    value: Arc<ScalarUDF>,
}

impl MapAccess {
    pub(crate) fn new() -> Self {
        Self { value: Arc::new(ScalarUDF::from(MapLookup::new(Found::Value))) }
    }

    fn call(&self, map: Expr, key: Expr, key_type: &DataType) -> Result<Expr> {
        if let Expr::Literal(key, _) = &key {
            check_literal(key, key_type)?;
        }
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&self.value), vec![map, key])))
    }
}

impl ExprPlanner for MapAccess {
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let Some(key_type) = access.expr.get_type(schema).ok().as_ref().and_then(key_type).cloned() else {
            return Ok(PlannerResult::Original(access));
        };
        match access.field_access {
            GetFieldAccess::NamedStructField { name } => {
                Ok(PlannerResult::Planned(self.call(access.expr, Expr::Literal(name, None), &key_type)?))
            }
            GetFieldAccess::ListIndex { key } => Ok(PlannerResult::Planned(self.call(access.expr, *key, &key_type)?)),
            GetFieldAccess::ListRange { .. } => plan_err!("a map has keys and no ranges; write map[key]"),
        }
    }
}

/// `get_field(map, key)` is `map[key]`.
impl FunctionRewrite for MapAccess {
    fn name(&self) -> &str {
        "lath_map_access"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(call) = &expr else { return Ok(Transformed::no(expr)) };
        let (true, Some((base, path))) = (call.func.name() == "get_field", call.args.split_first()) else {
            return Ok(Transformed::no(expr));
        };
        let mut value = base.clone();
        let mut has_map = false;
        for key in path {
            value = match key_type(&value.get_type(schema)?) {
                Some(key_type) => {
                    has_map = true;
                    self.call(value, key.clone(), key_type)?
                }
                None => {
                    let args = vec![value, key.clone()];
                    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&call.func), args))
                }
            };
        }
        Ok(if has_map { Transformed::yes(value) } else { Transformed::no(expr) })
    }
}

/// `map_extract(map, key)`: the value in a list, which is empty where the map has no such key.
pub(crate) fn map_extract_function() -> ScalarUDF {
    ScalarUDF::from(MapLookup::new(Found::List)).with_aliases(["element_at"])
}

/// The type of a map's keys.
fn key_type(map: &DataType) -> Option<&DataType> {
    Some(entry_fields(map)?.0.data_type())
}

fn entry_fields(map: &DataType) -> Option<(&Field, &Field)> {
    let DataType::Map(entries, _) = map else { return None };
    match entries.data_type() {
        DataType::Struct(fields) => Some((fields.first()?, fields.get(1)?)),
        _ => None,
    }
}

/// Refuses a literal that no key of the map can be.
fn check_literal(key: &ScalarValue, key_type: &DataType) -> Result<()> {
    if key.is_null() {
        return Ok(());
    }
    let fits = cast_exactly(&key.to_array()?, key_type).is_ok_and(|cast| cast.is_valid(0));
    match fits {
        true => Ok(()),
        false => plan_err!("the keys of the map are {key_type}, and {key} is no such key"),
    }
}

/// Casts keys to the type of the map's. A key that would be another value there is null.
fn cast_exactly(keys: &ArrayRef, key_type: &DataType) -> Result<ArrayRef> {
    if keys.data_type() == key_type {
        return Ok(Arc::clone(keys));
    }
    if keys.data_type().is_null() {
        return Ok(new_null_array(key_type, keys.len()));
    }
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let cast = cast_with_options(keys, key_type, &options)?;
    // Text has many forms of one value: '01' is the key 1.
    if keys.data_type().is_string() {
        return Ok(cast);
    }
    let back = cast_with_options(&cast, keys.data_type(), &options)?;
    let compare = make_comparator(keys, &back, SortOptions::default())?;
    let rows = (0..keys.len()).map(|row| (cast.is_valid(row) && compare(row, row).is_eq()).then_some(row as u64));
    Ok(take(&cast, &rows.collect::<UInt64Array>(), None)?)
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Found {
    Value,
    List,
}

/// Finds the value of a key in each map.
#[derive(Debug, PartialEq, Eq, Hash)]
struct MapLookup {
    found: Found,
    signature: Signature,
}

impl MapLookup {
    fn new(found: Found) -> Self {
        Self { found, signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for MapLookup {
    fn name(&self) -> &str {
        match self.found {
            Found::Value => "map_value",
            Found::List => "map_extract",
        }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [map, key] = take_function_args(self.name(), args)?;
        let key = match key {
            Expr::Literal(key, _) if self.found == Found::Value => key.to_string(),
            other => other.schema_name().to_string(),
        };
        Ok(match self.found {
            Found::Value => format!("{}[{key}]", map.schema_name()),
            Found::List => format!("map_extract({},{key})", map.schema_name()),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let [map, key] = take_function_args(self.name(), arg_types)?;
        if map.is_null() {
            return Ok(DataType::Null);
        }
        let Some((keys, values)) = entry_fields(map) else {
            return plan_err!("{} is for maps, not for {map}", self.name());
        };
        if !arrow_cast::can_cast_types(key, keys.data_type()) {
            return plan_err!("the keys of the map are {}, and {key} is no such key", keys.data_type());
        }
        Ok(match self.found {
            Found::Value => values.data_type().clone(),
            Found::List => DataType::List(Arc::new(Field::new_list_field(values.data_type().clone(), true))),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let row_count = args.number_rows;
        let [map, key] = take_function_args(self.name(), args.args)?;
        let maps = map.into_array(row_count)?;
        let Some(maps) = maps.as_map_opt() else {
            return Ok(ColumnarValue::Array(new_null_array(args.return_field.data_type(), row_count)));
        };
        let entries = match &key {
            ColumnarValue::Array(keys) => entries_by_keys(maps, keys)?,
            ColumnarValue::Scalar(key) => entries_by_key(maps, &key.to_array()?)?,
        };
        Ok(ColumnarValue::Array(match self.found {
            Found::Value => take(maps.values(), &entries, None)?,
            Found::List => in_lists(maps, &entries)?,
        }))
    }
}

/// The entry of each map that has its row's key.
fn entries_by_keys(maps: &MapArray, keys: &ArrayRef) -> Result<UInt64Array> {
    let keys = cast_exactly(keys, maps.key_type())?;
    let compare = make_comparator(maps.keys(), &keys, SortOptions::default())?;
    Ok(last_entries(maps, |row| keys.is_valid(row), |entry, row| compare(entry, row).is_eq()))
}

/// The entry of each map that has one key.
fn entries_by_key(maps: &MapArray, key: &ArrayRef) -> Result<UInt64Array> {
    let key = cast_exactly(key, maps.key_type())?;
    if key.is_null(0) {
        return Ok(UInt64Array::new_null(maps.len()));
    }
    let compare = make_comparator(maps.keys(), &key, SortOptions::default())?;
    Ok(last_entries(maps, |_| true, |entry, _| compare(entry, 0).is_eq()))
}

/// The last entry of each map that is equal: later values of a key replace earlier ones.
fn last_entries(
    maps: &MapArray,
    has_key: impl Fn(usize) -> bool,
    is_equal: impl Fn(usize, usize) -> bool,
) -> UInt64Array {
    let offsets = maps.value_offsets();
    let entries = (0..maps.len()).map(|row| {
        if maps.is_null(row) || !has_key(row) {
            return None;
        }
        let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
        (start..end).rev().find(|&entry| is_equal(entry, row)).map(|entry| entry as u64)
    });
    entries.collect()
}

/// The values of entries in lists of one value or none.
fn in_lists(maps: &MapArray, entries: &UInt64Array) -> Result<ArrayRef> {
    let found: UInt64Array = entries.iter().flatten().map(Some).collect();
    let values = take(maps.values(), &found, None)?;
    let field = Arc::new(Field::new_list_field(maps.value_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths((0..entries.len()).map(|row| usize::from(entries.is_valid(row))));
    let nulls: Option<NullBuffer> = maps.nulls().cloned();
    Ok(Arc::new(ListArray::try_new(field, offsets, values, nulls)?))
}
