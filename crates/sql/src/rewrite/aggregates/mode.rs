//! The aggregate `mode`: the value that occurs most often, of several the least.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;

/// `mode(value)`.
pub(crate) fn mode_function() -> AggregateUDF {
    AggregateUDF::from(Mode { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Mode {
    signature: Signature,
}

impl AggregateUDFImpl for Mode {
    fn name(&self) -> &'static str {
        "mode"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [data_type] => Ok(data_type.clone()),
            _ => plan_err!("mode has one argument"),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Counts { data_type: args.return_type().clone(), counts: HashMap::new(), bytes: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let list = |name, data_type| {
            let name = format_state_name(args.name, name);
            Arc::new(Field::new(name, DataType::new_list(data_type, true), true))
        };
        Ok(vec![list("values", args.return_type().clone()), list("counts", DataType::Int64)])
    }
}

/// How often each value occurs.
#[derive(Debug)]
struct Counts {
    data_type: DataType,
    counts: HashMap<ScalarValue, i64>,
    /// Bytes of the values outside of the map.
    bytes: usize,
}

impl Counts {
    fn add(&mut self, value: ScalarValue, count: i64) {
        let value = canonical(value);
        match self.counts.get_mut(&value) {
            Some(known) => *known += count,
            None => {
                self.bytes += value.size() - size_of::<ScalarValue>();
                self.counts.insert(value, count);
            }
        }
    }
}

/// Zeros of both signs are one value, and so are NaNs.
fn canonical(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Float64(Some(0.0)) => ScalarValue::Float64(Some(0.0)),
        ScalarValue::Float64(Some(float)) if float.is_nan() => ScalarValue::Float64(Some(f64::NAN)),
        ScalarValue::Float32(Some(0.0)) => ScalarValue::Float32(Some(0.0)),
        ScalarValue::Float32(Some(float)) if float.is_nan() => ScalarValue::Float32(Some(f32::NAN)),
        other => other,
    }
}

impl Accumulator for Counts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("mode has one argument") };
        if values.data_type() == &DataType::Null {
            return Ok(());
        }
        for row in (0..values.len()).filter(|&row| values.is_valid(row)) {
            self.add(ScalarValue::try_from_array(values, row)?, 1);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("mode has one argument") };
        if values.data_type() == &DataType::Null {
            return Ok(());
        }
        for row in (0..values.len()).filter(|&row| values.is_valid(row)) {
            let value = canonical(ScalarValue::try_from_array(values, row)?);
            if let Some(count) = self.counts.get_mut(&value) {
                *count -= 1;
                if *count == 0 {
                    self.bytes -= value.size() - size_of::<ScalarValue>();
                    self.counts.remove(&value);
                }
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut best: Option<(&ScalarValue, i64)> = None;
        for (value, &count) in &self.counts {
            let is_better = match best {
                None => true,
                Some((known, most)) => {
                    count > most || count == most && value.partial_cmp(known) == Some(Ordering::Less)
                }
            };
            if is_better {
                best = Some((value, count));
            }
        }
        match best {
            Some((value, _)) => Ok(value.clone()),
            None => ScalarValue::try_from(&self.data_type),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * size_of::<(ScalarValue, i64)>() + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> = self.counts.keys().cloned().collect();
        let counts: Vec<ScalarValue> = self.counts.values().map(|&count| ScalarValue::from(count)).collect();
        Ok(vec![
            ScalarValue::List(ScalarValue::new_list_nullable(&values, &self.data_type)),
            ScalarValue::List(ScalarValue::new_list_nullable(&counts, &DataType::Int64)),
        ])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, counts] = states else { return internal_err!("the state of mode has two columns") };
        for (values, counts) in values.as_list::<i32>().iter().zip(counts.as_list::<i32>().iter()) {
            let (Some(values), Some(counts)) = (values, counts) else { continue };
            let counts = counts.as_primitive::<Int64Type>();
            for row in 0..values.len() {
                self.add(ScalarValue::try_from_array(&values, row)?, counts.value(row));
            }
        }
        Ok(())
    }
}
