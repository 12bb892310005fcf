//! Lookups in maps: `m['a']`, `m[1]`, `m[column]`, `map_extract(m, key)`.
//!
//! DataFusion 55 compares a key of the literal's type with keys of the map's type, which fails for text and 32-bit integers. It does not
//! support keys that differ by row, finds values in null maps, and returns the first of several equal keys, although in Parquet the last
//! one counts. Its `map_extract` returns a list with a null for a missing key.

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
    Volatility, lit,
};

use crate::functions::text_slice_function;

/// Plans `map[key]`, and `text[1]` and `text[2:3]` as in DuckDB.
#[derive(Debug)]
pub(crate) struct MapAccess {
    value: Arc<ScalarUDF>,
}

impl MapAccess {
    pub(crate) fn new() -> Self {
        Self { value: Arc::new(map_value_function()) }
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
        if access.expr.get_type(schema).is_ok_and(|data_type| data_type.is_string()) {
            let (first, last) = match access.field_access {
                GetFieldAccess::ListIndex { key } => ((*key).clone(), *key),
                GetFieldAccess::ListRange { start, stop, stride } if *stride == lit(1_i64) => (*start, *stop),
                field_access => {
                    return Ok(PlannerResult::Original(RawFieldAccessExpr { field_access, expr: access.expr }));
                }
            };
            let slice = ScalarFunction::new_udf(Arc::new(text_slice_function()), vec![access.expr, first, last]);
            return Ok(PlannerResult::Planned(Expr::ScalarFunction(slice)));
        }
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

/// Rewrites `get_field(map, key)` to `map[key]`.
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

/// The function that returns the value of a key, or null.
pub(crate) fn map_value_function() -> ScalarUDF {
    ScalarUDF::from(MapLookup::new(ResultForm::Value))
}

/// `map_extract(map, key)` returns the value in a list, or an empty list if the map has no such key.
pub(crate) fn map_extract_function() -> ScalarUDF {
    ScalarUDF::from(MapLookup::new(ResultForm::List)).with_aliases(["element_at"])
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

/// Returns an error for a literal that cannot be a key of the map.
fn check_literal(key: &ScalarValue, key_type: &DataType) -> Result<()> {
    if key.is_null() {
        return Ok(());
    }
    let fits = cast_exactly(&key.to_array()?, key_type).is_ok_and(|cast| cast.is_valid(0));
    match fits {
        true => Ok(()),
        false => plan_err!("the keys of the map are {key_type}, and {key} is not one"),
    }
}

/// Casts keys to the map's key type. A key that the cast would change becomes null.
fn cast_exactly(keys: &ArrayRef, key_type: &DataType) -> Result<ArrayRef> {
    if keys.data_type() == key_type {
        return Ok(Arc::clone(keys));
    }
    if keys.data_type().is_null() {
        return Ok(new_null_array(key_type, keys.len()));
    }
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let cast = cast_with_options(keys, key_type, &options)?;
    // A value has several forms as text: '01' is the key 1.
    if keys.data_type().is_string() {
        return Ok(cast);
    }
    let back = cast_with_options(&cast, keys.data_type(), &options)?;
    let compare = make_comparator(keys, &back, SortOptions::default())?;
    let rows = (0..keys.len()).map(|row| (cast.is_valid(row) && compare(row, row).is_eq()).then_some(row as u64));
    Ok(take(&cast, &rows.collect::<UInt64Array>(), None)?)
}

/// The form of a lookup's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ResultForm {
    Value,
    List,
}

/// The function that looks up a key in each map.
#[derive(Debug, PartialEq, Eq, Hash)]
struct MapLookup {
    form: ResultForm,
    signature: Signature,
}

impl MapLookup {
    fn new(form: ResultForm) -> Self {
        Self { form, signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for MapLookup {
    fn name(&self) -> &str {
        match self.form {
            ResultForm::Value => "map_value",
            ResultForm::List => "map_extract",
        }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [map, key] = take_function_args(self.name(), args)?;
        let key = match key {
            Expr::Literal(key, _) if self.form == ResultForm::Value => key.to_string(),
            other => other.schema_name().to_string(),
        };
        Ok(match self.form {
            ResultForm::Value => format!("{}[{key}]", map.schema_name()),
            ResultForm::List => format!("map_extract({},{key})", map.schema_name()),
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
            return plan_err!("the keys of the map are {}, and {key} is not one", keys.data_type());
        }
        Ok(match self.form {
            ResultForm::Value => values.data_type().clone(),
            ResultForm::List => DataType::List(Arc::new(Field::new_list_field(values.data_type().clone(), true))),
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
        Ok(ColumnarValue::Array(match self.form {
            ResultForm::Value => take(maps.values(), &entries, None)?,
            ResultForm::List => in_lists(maps, &entries)?,
        }))
    }
}

/// The entry of each map with the key in its row.
fn entries_by_keys(maps: &MapArray, keys: &ArrayRef) -> Result<UInt64Array> {
    let keys = cast_exactly(keys, maps.key_type())?;
    let compare = make_comparator(maps.keys(), &keys, SortOptions::default())?;
    Ok(last_entries(maps, |row| keys.is_valid(row), |entry, row| compare(entry, row).is_eq()))
}

/// The entry of each map with the same key for all rows.
fn entries_by_key(maps: &MapArray, key: &ArrayRef) -> Result<UInt64Array> {
    let key = cast_exactly(key, maps.key_type())?;
    if key.is_null(0) {
        return Ok(UInt64Array::new_null(maps.len()));
    }
    let compare = make_comparator(maps.keys(), &key, SortOptions::default())?;
    Ok(last_entries(maps, |_| true, |entry, _| compare(entry, 0).is_eq()))
}

/// The last equal entry of each map: later values of a key replace earlier ones.
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

/// Wraps the values of entries in lists with one value or none.
fn in_lists(maps: &MapArray, entries: &UInt64Array) -> Result<ArrayRef> {
    let indices: UInt64Array = entries.iter().flatten().map(Some).collect();
    let values = take(maps.values(), &indices, None)?;
    let field = Arc::new(Field::new_list_field(maps.value_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths((0..entries.len()).map(|row| usize::from(entries.is_valid(row))));
    let nulls: Option<NullBuffer> = maps.nulls().cloned();
    Ok(Arc::new(ListArray::try_new(field, offsets, values, nulls)?))
}
