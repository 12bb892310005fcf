//! `percentile_cont` and `quantile_cont`, which interpolate between two values. DataFusion 55 rounds the place between them to six digits.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef, Schema};
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::functions_aggregate::percentile_cont::PercentileCont;
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Documentation, Signature};
use datafusion::scalar::ScalarValue;

/// The function, with the types and names of DataFusion's.
pub(crate) fn quantile_function() -> AggregateUDF {
    AggregateUDF::from(Quantile { inner: PercentileCont::new() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quantile {
    inner: PercentileCont,
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.expr_fields[0].data_type().is_null() {
            return self.inner.accumulator(args);
        }
        let row = RecordBatch::new_empty(Arc::new(Schema::empty()));
        let fraction = match args.exprs[1].evaluate(&row) {
            Ok(ColumnarValue::Scalar(ScalarValue::Float64(Some(fraction)))) => fraction,
            Ok(ColumnarValue::Scalar(ScalarValue::Float32(Some(fraction)))) => fraction.into(),
            _ => return plan_err!("the fraction of a quantile is a literal between 0 and 1"),
        };
        if !(0.0..=1.0).contains(&fraction) {
            return plan_err!("the fraction of a quantile is between 0 and 1, and not {fraction}");
        }
        let is_descending = args.order_bys.first().is_some_and(|by| by.options.descending);
        Ok(Box::new(Values {
            fraction: if is_descending { 1.0 - fraction } else { fraction },
            is_distinct: args.is_distinct,
            data_type: args.expr_fields[0].data_type().clone(),
            values: Vec::new(),
        }))
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        self.inner.simplify()
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// All values of a group.
#[derive(Debug)]
struct Values {
    fraction: f64,
    is_distinct: bool,
    data_type: DataType,
    values: Vec<f64>,
}

impl Values {
    fn add(&mut self, array: &ArrayRef) -> Result<()> {
        self.values.extend(floats(array)?);
        Ok(())
    }

    fn quantile(&mut self) -> Option<f64> {
        if self.is_distinct {
            self.values.sort_unstable_by(f64::total_cmp);
            self.values.dedup_by(|left, right| left.total_cmp(right).is_eq());
        }
        let last = self.values.len().checked_sub(1)?;
        let place = self.fraction * last as f64;
        let (below, share) = (place.floor(), place - place.floor());
        let below = (below as usize).min(last);
        let (_, low, above) = self.values.select_nth_unstable_by(below, f64::total_cmp);
        let low = *low;
        let high = above.iter().copied().min_by(f64::total_cmp);
        Some(match high.filter(|_| share > 0.0) {
            Some(high) => low * (1.0 - share) + high * share,
            None => low,
        })
    }
}

/// The values that are not null, with one NaN and one zero.
fn floats(array: &ArrayRef) -> Result<Vec<f64>> {
    let array = cast(array, &DataType::Float64)?;
    let plain = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
    Ok(array.as_primitive::<Float64Type>().iter().flatten().map(plain).collect())
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0])
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut removed: HashMap<u64, usize> = HashMap::new();
        for value in floats(&values[0])? {
            *removed.entry(value.to_bits()).or_default() += 1;
        }
        self.values.retain(|value| match removed.get_mut(&value.to_bits()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        // A value that is left may be one that was there twice.
        !self.is_distinct
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::Float64(self.quantile()).cast_to(&self.data_type)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = self.values.iter().map(|&value| ScalarValue::from(value).cast_to(&self.data_type));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &self.data_type))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [lists] = states else { return internal_err!("the state of a quantile has one column") };
        let lists = lists.as_list::<i32>();
        for row in (0..lists.len()).filter(|&row| lists.is_valid(row)) {
            self.add(&lists.value(row))?;
        }
        Ok(())
    }
}
