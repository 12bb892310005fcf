//! Followers through a bucket: one ships a source to it, another one copies from it.

mod place;
mod receive;
mod ship;

pub(crate) use self::receive::Receiver;
pub(crate) use self::ship::Shipper;
