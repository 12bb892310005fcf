//! The argument `storage_options`: how objects in S3 are accessed, instead of environment variables.

use std::collections::BTreeMap;

use lath::{GrantedAccess, S3Access, S3Keys};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The access that options give, by the names that polars and the `object_store` crate have for them.
///
/// # Errors
/// `ValueError` for an option that is not known, and for options that are needed together.
pub fn access(options: &BTreeMap<String, String>) -> PyResult<GrantedAccess> {
    let (mut id, mut secret, mut session_token) = (None, None, None);
    let mut access = S3Access::default();
    for (name, value) in options {
        let lower = name.to_ascii_lowercase();
        let value = value.clone();
        match lower.strip_prefix("aws_").unwrap_or(&lower) {
            "access_key_id" | "key" => id = Some(value),
            "secret_access_key" | "secret" => secret = Some(value),
            "session_token" | "token" => session_token = Some(value),
            "region" | "default_region" => access.region = Some(value),
            "endpoint" | "endpoint_url" => access.endpoint = Some(value),
            "virtual_hosted_style_request" => {
                access.is_virtual_hosted = value.parse().map_err(|_| invalid(format!("{name}: give true or false")))?;
            }
            _ => {
                let known = "access_key_id, secret_access_key, session_token, region, endpoint_url and virtual_hosted_style_request";
                return Err(invalid(format!(
                    "there is no option {name:?}; for S3 there are {known}, other stores take environment variables"
                )));
            }
        }
    }
    access.keys = match (id, secret) {
        (Some(id), Some(secret)) => Some(S3Keys { id, secret, session_token }),
        (None, None) if session_token.is_none() && access.endpoint.is_none() => None,
        _ => {
            let what = "endpoint_url and session_token need access_key_id and secret_access_key, which need each other";
            return Err(invalid(what.to_owned()));
        }
    };
    Ok(GrantedAccess::new([(String::new(), access)]))
}

fn invalid(what: String) -> PyErr {
    PyValueError::new_err(format!("storage_options: {what}"))
}
