//! `fsum(x)`: the sum of floats with the digits that each addition loses ([Neumaier 1974](https://doi.org/10.1002/zamm.19740540106)).

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::types::{NativeType, logical_float64};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Coercion, Signature, TypeSignatureClass, Volatility,
};
use datafusion::scalar::ScalarValue;

pub(crate) fn compensated_sum_function() -> AggregateUDF {
    let float = TypeSignatureClass::Native(logical_float64());
    let number = Coercion::new_implicit(float, vec![TypeSignatureClass::Numeric], NativeType::Float64);
    AggregateUDF::from(CompensatedSum { signature: Signature::coercible(vec![number], Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CompensatedSum {
    signature: Signature,
}

impl AggregateUDFImpl for CompensatedSum {
    fn name(&self) -> &'static str {
        "fsum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Sum::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |name, data_type| Arc::new(Field::new(format_state_name(args.name, name), data_type, true));
        let counts = ["count", "nans", "infinities", "negative_infinities"];
        let floats = ["sum", "lost"].map(|name| field(name, DataType::Float64));
        Ok(floats.into_iter().chain(counts.map(|name| field(name, DataType::Int64))).collect())
    }
}

/// A sum of finite values, and the counts of the others, so that values can be taken away.
#[derive(Debug, Default)]
struct Sum {
    sum: f64,
    /// The digits that additions lost.
    lost: f64,
    /// The number of values.
    count: i64,
    nans: i64,
    infinities: i64,
    negative_infinities: i64,
}

impl Sum {
    /// Adds a value, or takes it away with the sign -1.
    fn add(&mut self, value: f64, sign: i64) {
        self.count += sign;
        if value.is_nan() {
            self.nans += sign;
        } else if value == f64::INFINITY {
            self.infinities += sign;
        } else if value == f64::NEG_INFINITY {
            self.negative_infinities += sign;
        } else {
            self.add_finite(if sign < 0 { -value } else { value });
        }
    }

    fn add_finite(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    fn result(&self) -> Option<f64> {
        let is_both = self.infinities > 0 && self.negative_infinities > 0;
        match self {
            Self { count: 0, .. } => None,
            _ if self.nans > 0 || is_both => Some(f64::NAN),
            _ if self.infinities > 0 => Some(f64::INFINITY),
            _ if self.negative_infinities > 0 => Some(f64::NEG_INFINITY),
            _ if self.sum.is_finite() => Some(self.sum + self.lost),
            _ => Some(self.sum),
        }
    }
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values[0].as_primitive::<Float64Type>().iter().flatten().for_each(|value| self.add(value, 1));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values[0].as_primitive::<Float64Type>().iter().flatten().for_each(|value| self.add(value, -1));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.result()))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let floats = [self.sum, self.lost].map(ScalarValue::from);
        let counts = [self.count, self.nans, self.infinities, self.negative_infinities].map(ScalarValue::from);
        Ok(floats.into_iter().chain(counts).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [sums, lost, counts @ ..] = states else { return internal_err!("the state of fsum has six columns") };
        let (sums, lost) = (sums.as_primitive::<Float64Type>(), lost.as_primitive::<Float64Type>());
        let counts: Vec<_> = counts.iter().map(AsArray::as_primitive::<Int64Type>).collect();
        for row in 0..sums.len() {
            self.add_finite(sums.value(row));
            self.lost += lost.value(row);
            let own = [&mut self.count, &mut self.nans, &mut self.infinities, &mut self.negative_infinities];
            own.into_iter().zip(&counts).for_each(|(own, counts)| *own += counts.value(row));
        }
        Ok(())
    }
}
