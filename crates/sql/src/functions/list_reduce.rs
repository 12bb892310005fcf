//! `list_reduce(list, (a, x) -> a + x[, start])`: one value of the elements of a list, which a function takes one after the other. A third
//! parameter of the function is the number of the element.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, UInt64Array, new_null_array};
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef};
use arrow_select::interleave::interleave;
use arrow_select::take::{take, take_arrays};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature, HigherOrderUDF,
    HigherOrderUDFImpl, LambdaParametersProgress, ValueOrLambda, Volatility,
};

const NAME: &str = "list_reduce";
const FORM: &str = "list_reduce is called as list_reduce(list, (a, x) -> a + x), or with a start value behind";
/// Maximum number of times that the type of the result is computed again, until it is the type of the function's first parameter.
const MAX_STEPS: usize = 4;

/// `list_reduce`.
pub(crate) fn list_reduce_function() -> HigherOrderUDF {
    HigherOrderUDF::new_from_impl(ListReduce {
        signature: HigherOrderSignature::variadic_any(Volatility::Immutable),
        aliases: vec!["array_reduce".to_owned(), "reduce".to_owned()],
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ListReduce {
    signature: HigherOrderSignature,
    aliases: Vec<String>,
}

/// The list, the lambda, and the start value, of arguments of any kind.
fn parts<V, L>(arguments: &[ValueOrLambda<V, L>]) -> Result<(&V, &L, Option<&V>)> {
    match arguments {
        [ValueOrLambda::Value(list), ValueOrLambda::Lambda(body)] => Ok((list, body, None)),
        [ValueOrLambda::Value(list), ValueOrLambda::Lambda(body), ValueOrLambda::Value(start)] => {
            Ok((list, body, Some(start)))
        }
        _ => plan_err!("{FORM}"),
    }
}

fn element(list: &DataType) -> Result<FieldRef> {
    match list {
        DataType::List(element) => Ok(Arc::clone(element)),
        other => plan_err!("{FORM}; {other} is not a list"),
    }
}

impl HigherOrderUDFImpl for ListReduce {
    fn name(&self) -> &str {
        NAME
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &HigherOrderSignature {
        &self.signature
    }

    fn coerce_value_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let mut types = types.to_vec();
        if let Some(list) = types.first_mut() {
            *list = match &*list {
                DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
                    DataType::List(Arc::clone(element))
                }
                DataType::Null => DataType::new_list(DataType::Null, true),
                other => other.clone(),
            };
        }
        Ok(types)
    }

    fn lambda_parameters(
        &self,
        step: usize,
        fields: &[ValueOrLambda<FieldRef, Option<FieldRef>>],
    ) -> Result<LambdaParametersProgress> {
        let (list, body, start) = parts(fields)?;
        let element = element(list.data_type())?;
        let first = start.map_or_else(|| element.data_type().clone(), |start| start.data_type().clone());
        let result = body.as_ref().map(|body| body.data_type().clone());
        let reduced = match result.clone().unwrap_or(first) {
            // Each addition would add a digit.
            DataType::Decimal128(_, scale) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale),
            other => other,
        };
        let parameter = |data_type: DataType| Arc::new(Field::new("", data_type, true));
        let parameters =
            vec![parameter(reduced.clone()), parameter(element.data_type().clone()), parameter(DataType::Int64)];
        // The type is known once the result has the type of the first parameter, which it had in the step before.
        Ok(match result {
            Some(_) if step == 0 || step >= MAX_STEPS => LambdaParametersProgress::Complete(vec![parameters]),
            _ => LambdaParametersProgress::Partial(vec![Some(parameters)]),
        })
    }

    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs<'_>) -> Result<FieldRef> {
        let (_, body, _) = parts(args.arg_fields)?;
        Ok(Arc::new(Field::new("", body.data_type().clone(), true)))
    }

    fn invoke_with_args(&self, args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        let target = args.return_field.data_type();
        let (list, body, start) = parts(&args.args)?;
        let lists = list.to_array(args.number_rows)?;
        let lists: &ListArray = lists.as_list();
        let rows = lists.len();
        let length = |row: usize| if lists.is_valid(row) { lists.value_length(row).unsigned_abs() as usize } else { 0 };
        let offset = |row: usize| lists.value_offsets()[row].unsigned_abs() as usize;
        let elements = |rows: &[usize], at: usize| -> Result<ArrayRef> {
            let places: UInt64Array = rows.iter().map(|&row| Some((offset(row) + at) as u64)).collect();
            Ok(take(lists.values(), &places, None)?)
        };
        let (mut reduced, first) = match start {
            Some(start) => (arrow_cast::cast(&start.to_array(rows)?, target)?, 0),
            None => {
                if (0..rows).any(|row| lists.is_valid(row) && length(row) == 0) {
                    return exec_err!("list_reduce: a list is empty; give a start value: list_reduce(list, f, 0)");
                }
                let filled: Vec<usize> = (0..rows).filter(|&row| length(row) > 0).collect();
                let firsts = arrow_cast::cast(&elements(&filled, 0)?, target)?;
                (replaced(&new_null_array(target, rows), &filled, &firsts)?, 1)
            }
        };
        let longest = (0..rows).map(length).max().unwrap_or(0);
        for at in first..longest {
            let active: Vec<usize> = (0..rows).filter(|&row| length(row) > at).collect();
            let places: UInt64Array = active.iter().map(|&row| Some(row as u64)).collect();
            let current = take(&reduced, &places, None)?;
            let next = elements(&active, at)?;
            let number: ArrayRef =
                Arc::new(Int64Array::from(vec![i64::try_from(at + 1).unwrap_or(i64::MAX); active.len()]));
            let parameters: [&dyn Fn() -> Result<ArrayRef>; 3] =
                [&|| Ok(Arc::clone(&current)), &|| Ok(Arc::clone(&next)), &|| Ok(Arc::clone(&number))];
            let result = body.evaluate(&parameters, |captured| Ok(take_arrays(captured, &places, None)?))?;
            let result = arrow_cast::cast(&result.into_array(active.len())?, target)?;
            reduced = replaced(&reduced, &active, &result)?;
        }
        // A null has no elements.
        let missing: Vec<usize> = (0..rows).filter(|&row| lists.is_null(row)).collect();
        let nulls = new_null_array(target, missing.len());
        Ok(ColumnarValue::Array(replaced(&reduced, &missing, &nulls)?))
    }
}

/// An array with other values in some rows.
fn replaced(array: &ArrayRef, rows: &[usize], values: &ArrayRef) -> Result<ArrayRef> {
    let mut places: Vec<(usize, usize)> = (0..array.len()).map(|row| (0, row)).collect();
    for (at, &row) in rows.iter().enumerate() {
        places[row] = (1, at);
    }
    Ok(interleave(&[array.as_ref(), values.as_ref()], &places)?)
}
