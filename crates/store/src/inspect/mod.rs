//! Checks, statistics, and who has a store open.

mod check;
mod stats;
mod users;

pub use self::check::{CheckReport, Problem};
pub use self::stats::{Held, Holder, Stats};
pub use self::users::{StoreUser, store_users};
