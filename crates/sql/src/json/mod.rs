//! JSON in texts: `json_extract`, `->` and their kin.
//!
//! | module | what it does |
//! | --- | --- |
//! | `functions` | the functions and operators |
//! | `path` | keys, positions and paths: `'a'`, `0`, `'$.a.b[0]'` |
//! | `value` | parts of a JSON text, as they are written |

mod functions;
mod path;
mod value;

pub(crate) use self::functions::{JSON, JsonOperators, json_functions, text_function};
