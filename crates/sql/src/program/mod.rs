//! Statements of programs with an asynchronous runtime, such as servers.
//!
//! | module | contents |
//! | --- | --- |
//! | `plan` | A statement that is planned, and its rows. |
//! | `statement` | A statement with parameters, which is planned at each run. |
//! | `literal` | Values of parameters as they are written in a statement. |

mod literal;
mod plan;
mod statement;

pub use self::plan::{StatementPlan, StatementRows};
pub use self::statement::ProgramStatement;
