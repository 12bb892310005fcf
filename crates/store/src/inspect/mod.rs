//! Checks, statistics, and the processes that have a store open.

mod check;
mod stats;
mod users;

pub use self::check::{CheckReport, Problem};
pub use self::stats::{HeldSpace, Holder, Stats};
pub use self::users::{StoreUser, store_users};
