//! Fields of JSON objects, with errors that name them.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A JSON object that is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'j> {
    fields: &'j Map<String, Value>,
    /// The kind of object, for errors.
    what: &'static str,
}

impl<'j> Object<'j> {
    pub(crate) fn new(value: &'j Value, what: &'static str) -> Result<Self> {
        let fields = value.as_object().ok_or_else(|| Error::corrupt(what, "expected an object"))?;
        Ok(Self { fields, what })
    }

    /// A field that exists and is not null.
    pub(crate) fn get(&self, name: &str) -> Option<&'j Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn require(&self, name: &str) -> Result<&'j Value> {
        self.get(name).ok_or_else(|| self.error(name, "is missing"))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'j str> {
        self.require(name)?.as_str().ok_or_else(|| self.error(name, "is not text"))
    }

    pub(crate) fn text_if_any(&self, name: &str) -> Result<Option<&'j str>> {
        self.get(name).map(|_| self.text(name)).transpose()
    }

    pub(crate) fn long(&self, name: &str) -> Result<i64> {
        self.require(name)?.as_i64().ok_or_else(|| self.error(name, "is not an integer of 64 bits"))
    }

    pub(crate) fn long_if_any(&self, name: &str) -> Result<Option<i64>> {
        self.get(name).map(|_| self.long(name)).transpose()
    }

    pub(crate) fn int(&self, name: &str) -> Result<i32> {
        let value = self.require(name)?.as_i64().and_then(|value| i32::try_from(value).ok());
        value.ok_or_else(|| self.error(name, "is not an integer of 32 bits"))
    }

    pub(crate) fn int_if_any(&self, name: &str) -> Result<Option<i32>> {
        self.get(name).map(|_| self.int(name)).transpose()
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<bool> {
        self.require(name)?.as_bool().ok_or_else(|| self.error(name, "is not true or false"))
    }

    pub(crate) fn list(&self, name: &str) -> Result<&'j [Value]> {
        let list = self.require(name)?.as_array().ok_or_else(|| self.error(name, "is not a list"))?;
        Ok(list)
    }

    /// A list that may be missing: then it is empty.
    pub(crate) fn list_or_empty(&self, name: &str) -> Result<&'j [Value]> {
        self.get(name).map_or(Ok(&[]), |_| self.list(name))
    }

    /// A list of integers that may be missing.
    pub(crate) fn ints_or_empty(&self, name: &str) -> Result<Vec<i32>> {
        let parse = |value: &Value| value.as_i64().and_then(|value| i32::try_from(value).ok());
        let ints = self.list_or_empty(name)?.iter().map(parse).collect::<Option<_>>();
        ints.ok_or_else(|| self.error(name, "is not a list of integers"))
    }

    /// The texts of an object that may be missing. Numbers and booleans become text, as some writers leave them.
    pub(crate) fn texts_or_empty(&self, name: &str) -> Result<Vec<(String, String)>> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let object = value.as_object().ok_or_else(|| self.error(name, "is not an object"))?;
        let text = |(key, value): (&String, &Value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (key.clone(), value)
        };
        Ok(object.iter().map(text).collect())
    }

    pub(crate) fn error(&self, name: &str, problem: &str) -> Error {
        Error::corrupt(self.what, format!("'{name}' {problem}"))
    }
}

/// Builds an object without fields for what is missing.
#[derive(Debug, Default)]
pub(crate) struct ObjectBuilder {
    fields: Map<String, Value>,
}

impl ObjectBuilder {
    pub(crate) fn put(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn put_if_any(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    pub(crate) fn finish(self) -> Value {
        Value::Object(self.fields)
    }
}
