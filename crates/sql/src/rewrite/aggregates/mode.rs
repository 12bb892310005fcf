//! The aggregates of how often values occur: `mode`, the value that occurs most often, of several the least; `histogram`, a map of values and
//! counts; `entropy` in bits.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, MapArray, StructArray};

use arrow_schema::{DataType, Field, FieldRef};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;

/// `mode(value)`, `histogram(value)` and `entropy(value)`.
pub(crate) fn count_functions() -> impl Iterator<Item = AggregateUDF> {
    [Answer::Mode, Answer::Histogram, Answer::Entropy]
        .into_iter()
        .map(|answer| AggregateUDF::from(Mode { answer, signature: Signature::any(1, Volatility::Immutable) }))
}

/// The answer about the counts of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    Mode,
    Histogram,
    Entropy,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Mode {
    answer: Answer,
    signature: Signature,
}

impl AggregateUDFImpl for Mode {
    fn name(&self) -> &'static str {
        match self.answer {
            Answer::Mode => "mode",
            Answer::Histogram => "histogram",
            Answer::Entropy => "entropy",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let [data_type] = arg_types else { return plan_err!("{} has one argument", self.name()) };
        Ok(match self.answer {
            Answer::Mode => data_type.clone(),
            Answer::Histogram => histogram_type(data_type),
            Answer::Entropy => DataType::Float64,
        })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let data_type = args.expr_fields[0].data_type().clone();
        Ok(Box::new(Counts { answer: self.answer, data_type, counts: HashMap::new(), bytes: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let list = |name, data_type| {
            let name = format_state_name(args.name, name);
            Arc::new(Field::new(name, DataType::new_list(data_type, true), true))
        };
        Ok(vec![list("values", args.input_fields[0].data_type().clone()), list("counts", DataType::Int64)])
    }
}

/// How often each value occurs.
#[derive(Debug)]
struct Counts {
    answer: Answer,
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

/// The type of a map from values to counts.
fn histogram_type(data_type: &DataType) -> DataType {
    let fields = [Field::new("key", data_type.clone(), false), Field::new("value", DataType::Int64, true)];
    DataType::Map(Arc::new(Field::new_struct("entries", fields.to_vec(), false)), false)
}

impl Counts {
    /// A map of values, in their order, and counts; null if there are none.
    fn histogram(&self) -> Result<ScalarValue> {
        let map_type = histogram_type(&self.data_type);
        if self.counts.is_empty() {
            return ScalarValue::try_from(&map_type);
        }
        let mut entries: Vec<(&ScalarValue, i64)> = self.counts.iter().map(|(value, count)| (value, *count)).collect();
        entries.sort_by(|left, right| left.0.partial_cmp(right.0).unwrap_or(Ordering::Equal));
        let keys = ScalarValue::iter_to_array(entries.iter().map(|(value, _)| (*value).clone()))?;
        let counts: ArrayRef = Arc::new(Int64Array::from_iter_values(entries.iter().map(|(_, count)| *count)));
        let DataType::Map(field, _) = &map_type else { return internal_err!("a histogram is a map") };
        let DataType::Struct(fields) = field.data_type() else { return internal_err!("a map has entries") };
        let entries = StructArray::try_new(fields.clone(), vec![keys, counts], None)?;
        let offsets = OffsetBuffer::from_lengths([entries.len()]);
        let map = MapArray::try_new(Arc::clone(field), offsets, entries, None, false)?;
        Ok(ScalarValue::Map(Arc::new(map)))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are small or need no last digit")]
    fn entropy(&self) -> f64 {
        let all = self.counts.values().sum::<i64>() as f64;
        self.counts.values().map(|&count| count as f64 / all).map(|share| -share * share.log2()).sum::<f64>().abs()
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
        match self.answer {
            Answer::Mode => {}
            Answer::Histogram => return self.histogram(),
            Answer::Entropy => return Ok(ScalarValue::from(self.entropy())),
        }
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
