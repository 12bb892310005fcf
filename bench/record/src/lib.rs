//! Records of measurements: tables in Markdown, with the machine and versions that the figures depend on.

pub mod machine;
pub mod record;
