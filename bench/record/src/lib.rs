//! Records of measurements: tables in Markdown, and what the figures depend on.

pub mod machine;
pub mod record;
