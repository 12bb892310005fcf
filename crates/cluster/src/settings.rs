//! The settings of a query that change what operators do while they run; they travel with each part of the plan.

use std::collections::BTreeMap;

use datafusion::common::{Result, plan_datafusion_err};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SessionState, SessionStateBuilder};
use http::{HeaderMap, HeaderName, HeaderValue};

const HEADER: HeaderName = HeaderName::from_static("x-lath-settings");

const SETTINGS: [&str; 6] = [
    "datafusion.execution.batch_size",
    "datafusion.execution.enable_ansi_mode",
    "datafusion.execution.skip_physical_aggregate_schema_check",
    "datafusion.execution.time_zone",
    "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values",
    "datafusion.optimizer.hash_join_inlist_pushdown_max_size",
];

/// Gives a session the options of another one, and keeps what belongs to the part of the plan.
pub(crate) fn with_options_from(mut builder: SessionStateBuilder, other: &SessionState) -> SessionStateBuilder {
    let options = other.config().options();
    let mut config = builder.config().take().unwrap_or_default();
    let own = config.options_mut();
    own.catalog = options.catalog.clone();
    own.execution = options.execution.clone();
    own.format = options.format.clone();
    own.optimizer = options.optimizer.clone();
    own.sql_parser = options.sql_parser.clone();
    builder.with_config(config)
}

/// Adds the settings to the headers of a request.
pub(crate) fn write_settings(options: &ConfigOptions, headers: &mut HeaderMap) -> Result<()> {
    let entries = options.entries();
    let settings: BTreeMap<&str, &str> = entries
        .iter()
        .filter(|entry| SETTINGS.contains(&entry.key.as_str()))
        .filter_map(|entry| Some((entry.key.as_str(), entry.value.as_deref()?)))
        .collect();
    let text = serde_json::to_string(&settings).map_err(|error| plan_datafusion_err!("{error}"))?;
    let value =
        HeaderValue::from_str(&text).map_err(|error| plan_datafusion_err!("a setting cannot travel: {error}"))?;
    headers.insert(HEADER, value);
    Ok(())
}

/// Takes the settings over from the headers of a request.
pub(crate) fn read_settings(headers: &HeaderMap, options: &mut ConfigOptions) -> Result<()> {
    let Some(text) = headers.get(HEADER) else { return Ok(()) };
    let settings: BTreeMap<String, String> = serde_json::from_slice(text.as_bytes())
        .map_err(|error| plan_datafusion_err!("settings of a query: {error}"))?;
    for (name, value) in settings.iter().filter(|(name, _)| SETTINGS.contains(&name.as_str())) {
        options.set(name, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_travel() -> Result<()> {
        let mut options = ConfigOptions::new();
        options.set("datafusion.execution.time_zone", "Europe/Berlin")?;
        options.set("datafusion.execution.batch_size", "77")?;
        let mut headers = HeaderMap::new();
        write_settings(&options, &mut headers)?;
        let mut there = ConfigOptions::new();
        read_settings(&headers, &mut there)?;
        assert_eq!(there.execution.time_zone, options.execution.time_zone);
        assert_eq!(there.execution.batch_size, options.execution.batch_size);
        // All of them exist.
        let known = ConfigOptions::new().entries();
        assert!(SETTINGS.iter().all(|name| known.iter().any(|entry| entry.key == *name)));
        Ok(())
    }
}
