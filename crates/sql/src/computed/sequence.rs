//! `nextval('s')` and `currval('s')`.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use lath_table::Database;

use crate::error::table_error;
use crate::transaction::CurrentTransaction;

const NEXT: &str = "nextval";
const CURRENT: &str = "currval";

/// Returns the database of a session, open for writing unless the session only reads.
type OpenDatabase = Box<dyn Fn() -> Result<Database> + Send + Sync>;

/// The sequences of a session's database, and the last numbers that the session was given.
pub(crate) struct SequenceValues {
    database: Option<OpenDatabase>,
    transaction: Arc<CurrentTransaction>,
    last: Mutex<HashMap<String, i64>>,
}

impl SequenceValues {
    pub(crate) fn new(database: Option<OpenDatabase>, transaction: Arc<CurrentTransaction>) -> Self {
        Self { database, transaction, last: Mutex::default() }
    }

    fn next(&self, name: &str, count: usize) -> Result<Vec<i64>> {
        let Some(database) = &self.database else {
            return plan_err!("sequences need a database; open the session with one: lath sql --database FOLDER");
        };
        let open = self.transaction.open();
        if open.as_ref().is_some_and(|open| open.is_read_only()) {
            return plan_err!("nextval changes a sequence, and the transaction is read-only; ROLLBACK ends it");
        }
        let created = open.map(|open| open.sequences().next_numbers(name, count)).transpose().map_err(table_error)?;
        let numbers = match created.flatten() {
            Some(numbers) => numbers,
            None => database()?.next_numbers(name, count).map_err(table_error)?,
        };
        if let Some(&last) = numbers.last() {
            self.last.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), last);
        }
        Ok(numbers)
    }

    /// Makes a number the last one of a sequence, or the next one.
    fn set(&self, name: &str, number: i64, is_given: bool) -> Result<()> {
        let Some(database) = &self.database else {
            return plan_err!("sequences need a database; open the session with one: lath sql --database FOLDER");
        };
        let open = self.transaction.open();
        if open.as_ref().is_some_and(|open| open.is_read_only()) {
            return plan_err!("setval changes a sequence, and the transaction is read-only; ROLLBACK ends it");
        }
        let created = open.map(|open| open.sequences().set(name, number, is_given)).transpose().map_err(table_error)?;
        if created != Some(true) {
            let database = database()?;
            let set = match is_given {
                true => database.set_last_number(name, number),
                false => database.restart_sequence(name, number),
            };
            set.map_err(table_error)?;
        }
        if !is_given {
            return Ok(());
        }
        self.last.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), number);
        Ok(())
    }

    fn current(&self, name: &str) -> Result<i64> {
        match self.last.lock().unwrap_or_else(PoisonError::into_inner).get(name) {
            Some(&last) => Ok(last),
            None => plan_err!("this session was given no number of sequence {name:?}; nextval('{name}') gives one"),
        }
    }
}

impl fmt::Debug for SequenceValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SequenceValues")
    }
}

/// The functions of a session.
pub(crate) fn sequence_functions(values: &Arc<SequenceValues>) -> [ScalarUDF; 2] {
    [NEXT, CURRENT].map(|name| {
        let signature = Signature::string(1, Volatility::Volatile);
        ScalarUDF::from(SequenceFunction { name, values: Arc::clone(values), signature, sequence: None })
    })
}

/// The function `setval` of a session.
pub(crate) fn set_value_function(values: &Arc<SequenceValues>) -> ScalarUDF {
    let types = [vec![DataType::Utf8, DataType::Int64], vec![DataType::Utf8, DataType::Int64, DataType::Boolean]];
    let signature = Signature::one_of(types.map(TypeSignature::Exact).to_vec(), Volatility::Volatile);
    ScalarUDF::from(SetValue { values: Arc::clone(values), signature })
}

#[derive(Debug)]
struct SetValue {
    values: Arc<SequenceValues>,
    signature: Signature,
}

impl PartialEq for SetValue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.values, &other.values)
    }
}

impl Eq for SetValue {}

impl Hash for SetValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        "setval".hash(state);
    }
}

impl ScalarUDFImpl for SetValue {
    fn name(&self) -> &'static str {
        "setval"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (names, numbers) = (arrays[0].as_string::<i32>(), arrays[1].as_primitive::<Int64Type>());
        let given = arrays.get(2).map(AsArray::as_boolean);
        let mut set = Vec::with_capacity(names.len());
        for row in 0..names.len() {
            let is_null = names.is_null(row) || numbers.is_null(row) || given.is_some_and(|given| given.is_null(row));
            if !is_null {
                let is_given = given.is_none_or(|given| given.value(row));
                self.values.set(&sequence_name(names.value(row)), numbers.value(row), is_given)?;
            }
            set.push((!is_null).then(|| numbers.value(row)));
        }
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from(set))))
    }
}

/// Whether an expression takes numbers of a sequence.
pub(crate) fn calls_sequence(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(matches!(expr, Expr::ScalarFunction(function) if [NEXT, CURRENT].contains(&function.name()))))
}

/// The names of the sequences whose numbers an expression gives.
pub(crate) fn named_sequences(expr: &Expr) -> Result<Vec<String>> {
    let mut names = Vec::new();
    expr.apply(|expr| {
        if let Expr::ScalarFunction(function) = expr
            && [NEXT, CURRENT].contains(&function.name())
            && let [Expr::Literal(name, _)] = function.args.as_slice()
            && let Some(Some(name)) = name.try_as_str()
        {
            names.push(name.to_owned());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(names)
}

#[derive(Debug)]
struct SequenceFunction {
    name: &'static str,
    values: Arc<SequenceValues>,
    signature: Signature,
    /// The sequence, once it is known. Without an argument, the call is no constant for the planner, which takes a call of constants for one.
    sequence: Option<String>,
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.sequence == other.sequence && Arc::ptr_eq(&self.values, &other.values)
    }
}

impl Eq for SequenceFunction {}

impl Hash for SequenceFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let name = match args.as_slice() {
            [Expr::Literal(name, _)] => name.try_as_str().flatten().map(sequence_name),
            _ => None,
        };
        let Some(sequence) = name else { return Ok(ExprSimplifyResult::Original(args)) };
        let function = Self {
            name: self.name,
            values: Arc::clone(&self.values),
            signature: Signature::nullary(Volatility::Volatile),
            sequence: Some(sequence),
        };
        Ok(ExprSimplifyResult::Simplified(ScalarUDF::from(function).call(Vec::new())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        if let Some(sequence) = &self.sequence {
            let numbers: Int64Array = match self.name {
                NEXT => self.values.next(sequence, rows)?.into(),
                _ => Int64Array::from_value(self.values.current(sequence)?, rows),
            };
            return Ok(ColumnarValue::Array(Arc::new(numbers) as ArrayRef));
        }
        let Some(names) = args.args.first() else { return exec_err!("{} takes the name of a sequence", self.name) };
        let is_scalar = matches!(names, ColumnarValue::Scalar(_));
        let names = names.to_array(if is_scalar { 1 } else { rows })?;
        let names = arrow_cast::cast(&names, &DataType::Utf8)?;
        let names = names.as_string::<i32>();
        let numbers: Int64Array = match (is_scalar, self.name) {
            (true, _) if names.is_null(0) => std::iter::repeat_n(None, rows).collect(),
            (true, NEXT) => self.values.next(&sequence_name(names.value(0)), rows)?.into(),
            (true, _) => Int64Array::from_value(self.values.current(&sequence_name(names.value(0)))?, rows),
            (false, _) => {
                let number = |name: &str| match self.name {
                    NEXT => Ok(self.values.next(&sequence_name(name), 1)?.first().copied()),
                    _ => self.values.current(&sequence_name(name)).map(Some),
                };
                names.iter().map(|name| name.map_or(Ok(None), number)).collect::<Result<_>>()?
            }
        };
        Ok(ColumnarValue::Array(Arc::new(numbers) as ArrayRef))
    }
}

/// The name of a sequence, written as an identifier.
fn sequence_name(text: &str) -> String {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => text.to_lowercase(),
    }
}
