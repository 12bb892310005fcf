//! Connections to DuckDB, their statements, and chunks of results.

use std::ptr::null_mut;
use std::slice;

use super::api::{Answer, Api, Handle, Text, c_text, message};
use crate::engine::Row;

pub struct Connection {
    api: &'static Api,
    handle: Handle,
}

/// A parameter of a statement.
pub enum Parameter<'p> {
    Text(&'p [u8]),
    Number(i64),
}

impl Connection {
    pub fn open(api: &'static Api, database: Handle) -> Self {
        let mut handle = null_mut();
        // SAFETY: the database is open.
        assert_eq!(unsafe { (api.duckdb_connect)(database, &mut handle) }, 0, "DuckDB connects");
        Self { api, handle }
    }

    pub fn run(&self, text: &str) {
        let mut answer = Answer::EMPTY;
        // SAFETY: the connection is open, and the result is destroyed once.
        unsafe {
            let state = (self.api.duckdb_query)(self.handle, c_text(text).as_ptr(), &mut answer);
            assert_eq!(state, 0, "DuckDB: {}", message((self.api.duckdb_result_error)(&mut answer)));
            (self.api.duckdb_destroy_result)(&mut answer);
        }
    }

    pub fn prepare(&self, text: &str) -> Statement {
        let mut handle = null_mut();
        // SAFETY: the connection is open.
        unsafe {
            let state = (self.api.duckdb_prepare)(self.handle, c_text(text).as_ptr(), &mut handle);
            assert_eq!(state, 0, "DuckDB: {}", message((self.api.duckdb_prepare_error)(handle)));
        }
        Statement { api: self.api, handle }
    }

    /// Adds rows to a table.
    pub fn append(&self, table: &str, rows: impl Iterator<Item = (String, Row)>) {
        let api = self.api;
        let mut appender = null_mut();
        // SAFETY: the connection is open, and texts are copied before the calls return.
        unsafe {
            let state = (api.duckdb_appender_create)(self.handle, null_mut(), c_text(table).as_ptr(), &mut appender);
            assert_eq!(state, 0, "DuckDB appends");
            for (key, row) in rows {
                for text in std::iter::once(key.as_bytes()).chain(row.iter().map(Vec::as_slice)) {
                    let state = (api.duckdb_append_varchar_length)(appender, text.as_ptr(), text.len() as u64);
                    assert_eq!(state, 0, "DuckDB appends");
                }
                assert_eq!((api.duckdb_appender_end_row)(appender), 0, "DuckDB appends");
            }
            assert_eq!((api.duckdb_appender_destroy)(&mut appender), 0, "DuckDB appends");
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the connection is open, and closed once.
        unsafe { (self.api.duckdb_disconnect)(&mut self.handle) };
    }
}

pub struct Statement {
    api: &'static Api,
    handle: Handle,
}

impl Statement {
    /// Executes it as a transaction, and gives the chunks of the result to `visit`.
    ///
    /// # Errors
    /// DuckDB's message.
    pub fn execute(&self, parameters: &[Parameter<'_>], mut visit: impl FnMut(&Chunk)) -> Result<(), String> {
        let api = self.api;
        let mut answer = Answer::EMPTY;
        // SAFETY: the statement is open; texts are copied before the calls return; each handle is destroyed once.
        unsafe {
            for (place, parameter) in (1..).zip(parameters) {
                let state = match parameter {
                    Parameter::Text(text) => {
                        (api.duckdb_bind_varchar_length)(self.handle, place, text.as_ptr(), text.len() as u64)
                    }
                    Parameter::Number(number) => (api.duckdb_bind_int64)(self.handle, place, *number),
                };
                assert_eq!(state, 0, "DuckDB binds");
            }
            let state = (api.duckdb_execute_prepared)(self.handle, &mut answer);
            let mut done = Ok(());
            if state != 0 {
                done = Err(message((api.duckdb_result_error)(&mut answer)));
            } else {
                loop {
                    let handle = (api.duckdb_fetch_chunk)(answer);
                    if handle.is_null() {
                        break;
                    }
                    visit(&Chunk { api, handle });
                }
            }
            (api.duckdb_destroy_result)(&mut answer);
            done
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the statement is open, and destroyed once.
        unsafe { (self.api.duckdb_destroy_prepare)(&mut self.handle) };
    }
}

/// Rows of a result, up to 2,048.
pub struct Chunk {
    api: &'static Api,
    handle: Handle,
}

impl Chunk {
    pub fn len(&self) -> usize {
        // SAFETY: the chunk is open.
        unsafe { (self.api.duckdb_data_chunk_get_size)(self.handle) as usize }
    }

    /// The values of a column of VARCHAR without nulls.
    pub fn texts(&self, column: usize) -> &[Text] {
        // SAFETY: the column has this type.
        unsafe { self.values(column) }
    }

    /// The values of a column of BIGINT without nulls.
    pub fn numbers(&self, column: usize) -> &[i64] {
        // SAFETY: the column has this type.
        unsafe { self.values(column) }
    }

    /// # Safety
    /// The values of the column have the type `T`.
    unsafe fn values<T>(&self, column: usize) -> &[T] {
        // SAFETY: the chunk is open, and its vectors have values for all of its rows.
        unsafe {
            let vector = (self.api.duckdb_data_chunk_get_vector)(self.handle, column as u64);
            let start = (self.api.duckdb_vector_get_data)(vector);
            slice::from_raw_parts(start.cast::<T>(), self.len())
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: the chunk is open, and destroyed once.
        unsafe { (self.api.duckdb_destroy_data_chunk)(&mut self.handle) };
    }
}
