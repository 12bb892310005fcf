//! Credentials for a store that a catalog sends with a table.

use std::collections::HashMap;

use lath_source::{GrantedAccess, S3Access, S3Keys};
use serde_json::Value;

/// Names and values of settings.
pub(super) type Settings = HashMap<String, String>;

/// The header by which a client says that it takes credentials.
pub(super) const DELEGATION: (&str, &str) = ("x-iceberg-access-delegation", "vended-credentials");

/// The settings of a JSON object about stores; none of other values.
pub(super) fn settings(value: &Value) -> Settings {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    let entries = value.as_object().into_iter().flatten();
    let entries = entries.filter(|(name, _)| name.starts_with("s3.") || *name == "client.region");
    entries.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect()
}

/// The access that an answer grants: `config` is for all objects, and `credentials` (prefixes, each with settings) for some. `shared` are the settings of
/// the catalog, which others replace.
pub(super) fn granted(shared: &Settings, config: &Value, credentials: &Value) -> GrantedAccess {
    let mut all = shared.clone();
    all.extend(settings(config));
    let of_prefix = |credential: &Value| {
        let prefix = credential.get("prefix")?.as_str()?.to_owned();
        let mut own = all.clone();
        own.extend(settings(credential.get("config")?));
        Some((prefix, access(&own)?))
    };
    let by_prefix = credentials.as_array().into_iter().flatten().filter_map(of_prefix);
    GrantedAccess::new(access(&all).map(|access| (String::new(), access)).into_iter().chain(by_prefix))
}

/// The access that settings describe; `None` if they have none.
fn access(settings: &Settings) -> Option<S3Access> {
    let value = |name: &str| settings.get(name).filter(|value| !value.is_empty()).cloned();
    let keys = value("s3.access-key-id").zip(value("s3.secret-access-key"));
    let access = S3Access {
        keys: keys.map(|(id, secret)| S3Keys { id, secret, session_token: value("s3.session-token") }),
        endpoint: value("s3.endpoint"),
        region: value("s3.region").or_else(|| value("client.region")),
        is_virtual_hosted: value("s3.path-style-access").is_some_and(|value| value.eq_ignore_ascii_case("false")),
    };
    (access.keys.is_some() || access.region.is_some()).then_some(access)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_of_prefixes_replace_the_tables_and_those_the_catalogs() {
        let shared =
            settings(&json!({ "s3.region": "a", "s3.endpoint": "http://e", "other": "x", "s3.nothing": null }));
        assert_eq!(shared.len(), 2);
        let config = json!({ "s3.region": "b", "s3.path-style-access": true, "s3.access-key-id": "1", "s3.secret-access-key": "2" });
        let credentials = json!([
            { "prefix": "s3://bucket/t", "config": {
                "s3.access-key-id": "3", "s3.secret-access-key": "4", "s3.session-token": "5", "s3.path-style-access": "false"
            } },
            { "config": {} },
            7
        ]);
        let keys = |id: &str, secret: &str, token: Option<&str>| {
            Some(S3Keys { id: id.to_owned(), secret: secret.to_owned(), session_token: token.map(str::to_owned) })
        };
        let (endpoint, region) = (Some("http://e".to_owned()), Some("b".to_owned()));
        let all = S3Access {
            keys: keys("1", "2", None),
            endpoint: endpoint.clone(),
            region: region.clone(),
            is_virtual_hosted: false,
        };
        let own = S3Access { keys: keys("3", "4", Some("5")), endpoint, region, is_virtual_hosted: true };
        let expected = GrantedAccess::new([(String::new(), all), ("s3://bucket/t".to_owned(), own)]);
        assert_eq!(granted(&shared, &config, &credentials), expected);
        assert!(granted(&Settings::new(), &json!({ "token": "x" }), &Value::Null).is_empty());
        assert!(granted(&Settings::new(), &json!({ "s3.access-key-id": "no secret" }), &json!("text")).is_empty());
    }
}
