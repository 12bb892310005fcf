//! `rest://HOST[:PORT][/PATH]/NAMESPACE/TABLE[?warehouse=NAME]`: the address of a catalog, and a table in it.

use std::net::IpAddr;

use lath_parquet::{Error, Result};
use lath_source::{percent_decoded, split_scheme};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::variables::Variables;

const SCHEME: &str = "rest";

const NO_PASSWORD: &str = "leave them out, and set LATH_REST_TOKEN or LATH_REST_CREDENTIAL";

/// The characters that are encoded in segments of paths and in values of queries: all that are not unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Whether a location is one of a REST catalog.
pub(crate) fn is_rest(location: &str) -> bool {
    split_scheme(location).is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME))
}

/// The address of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// `http://` or `https://`, without a slash at its end.
    pub(super) base: String,
    pub(super) warehouse: Option<String>,
    /// Whether it is the catalog of [`Variables::uri`], for which the secrets of the environment are.
    pub(super) is_configured: bool,
}

/// The name of a table in a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableName {
    pub(super) namespace: Vec<String>,
    pub(super) table: String,
}

impl Address {
    /// The address in a location without a table.
    pub(super) fn parse(location: &str, variables: &Variables) -> Result<Self> {
        let (place, warehouse) = split_query(location)?;
        let mut address = Self::new(place, warehouse, variables, location)?;
        // `http://` says more than `rest://`.
        if let Some((scheme @ ("http" | "https"), _)) = split_scheme(location)
            && split_scheme(&address.base).is_some_and(|(own, _)| own != scheme)
        {
            address = Self { base: format!("{scheme}://{}", catalog_path(place)), is_configured: false, ..address };
        }
        Ok(address)
    }

    /// The address and the table in a location.
    pub(super) fn parse_table(location: &str, variables: &Variables) -> Result<(Self, TableName)> {
        let (place, warehouse) = split_query(location)?;
        let parts = place.rsplit_once('/').and_then(|(above, table)| Some((above.rsplit_once('/')?, table)));
        let Some(((place, namespace), table)) =
            parts.filter(|((_, namespace), table)| !namespace.is_empty() && !table.is_empty())
        else {
            return Err(Error::invalid(format!(
                "{location}: name a table of the catalog: rest://HOST/NAMESPACE/TABLE, with dots between the levels of a namespace"
            )));
        };
        let table = TableName { namespace: parse_namespace(namespace)?, table: decoded(table)? };
        Ok((Self::new(place, warehouse, variables, location)?, table))
    }

    fn new(place: &str, warehouse: Option<String>, variables: &Variables, location: &str) -> Result<Self> {
        let place = catalog_path(place);
        let configured = variables.uri.as_deref().map(catalog_path);
        let is_configured = configured.is_some_and(|uri| {
            place.is_empty() || split_scheme(uri).is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(place))
        });
        if let Some(uri) = configured.filter(|_| is_configured) {
            if uri.contains('@') {
                return Err(Error::invalid(format!("LATH_REST_URI has a user and a password: {NO_PASSWORD}")));
            }
            if !matches!(split_scheme(uri), Some(("http" | "https", _))) {
                return Err(Error::invalid(format!(
                    "LATH_REST_URI is {uri}, and has to begin with https:// or http://"
                )));
            }
            let warehouse = warehouse.or_else(|| variables.warehouse.clone());
            return Ok(Self { base: uri.to_owned(), warehouse, is_configured });
        }
        let authority = place.split('/').next().unwrap_or(place);
        if authority.is_empty() {
            return Err(Error::invalid(format!(
                "{location}: name the host of the catalog, as in rest://localhost:8181, or set LATH_REST_URI"
            )));
        }
        if authority.contains('@') {
            return Err(Error::invalid(format!("the location of a catalog has a user and a password: {NO_PASSWORD}")));
        }
        let scheme = if is_loopback(authority) { "http" } else { "https" };
        Ok(Self { base: format!("{scheme}://{place}"), warehouse, is_configured })
    }
}

/// The path of a catalog: without a slash at its end, and without the version of the protocol, which its documentation may show.
fn catalog_path(place: &str) -> &str {
    let place = place.trim_end_matches('/');
    place.strip_suffix("/v1").map_or(place, |path| path.trim_end_matches('/'))
}

/// The text after the scheme, and the warehouse that its query names.
fn split_query(location: &str) -> Result<(&str, Option<String>)> {
    let (_, rest) = split_scheme(location).unwrap_or(("", location));
    let Some((place, query)) = rest.split_once('?') else { return Ok((rest, None)) };
    match query.split_once('=') {
        Some(("warehouse", name)) if !name.contains('&') => Ok((place, Some(decoded(name)?))),
        _ => Err(Error::invalid(format!("{location}: the only parameter of a catalog is warehouse, not {query:?}"))),
    }
}

/// The levels of a namespace. A dot within a level is `%2E`.
pub(super) fn parse_namespace(text: &str) -> Result<Vec<String>> {
    text.split('.').map(decoded).collect()
}

/// A namespace as [`parse_namespace`] takes it.
pub(super) fn shown_namespace(levels: &[String]) -> String {
    let level = |level: &String| level.replace('%', "%25").replace('.', "%2E").replace('/', "%2F");
    levels.iter().map(level).collect::<Vec<_>>().join(".")
}

/// A segment of a path, or a value of a query.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

fn decoded(text: &str) -> Result<String> {
    match percent_decoded(text) {
        Some(decoded) if !decoded.is_empty() => Ok(decoded.into_owned()),
        _ => Err(Error::invalid(format!("{text:?} is not a name in a catalog"))),
    }
}

/// Whether a host, with or without a port, is this machine.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || plain.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(location: &str, uri: Option<&str>) -> Result<(String, Option<String>, bool, String, String)> {
        let variables =
            Variables { uri: uri.map(str::to_owned), warehouse: Some("own".to_owned()), ..Variables::default() };
        let (address, name) = Address::parse_table(location, &variables)?;
        let namespace = name.namespace.join("|");
        Ok((address.base, address.warehouse, address.is_configured, namespace, name.table))
    }

    #[test]
    fn locations_have_a_host_a_namespace_and_a_table() {
        let found = |location: &str| {
            let (base, warehouse, _, namespace, table) = parse(location, None).unwrap();
            (base, warehouse, namespace, table)
        };
        let is = |base: &str, warehouse: Option<&str>, namespace: &str, table: &str| {
            (base.to_owned(), warehouse.map(str::to_owned), namespace.to_owned(), table.to_owned())
        };
        assert_eq!(found("rest://localhost:8181/public/orders"), is("http://localhost:8181", None, "public", "orders"));
        assert_eq!(found("rest://[::1]:8181/a.b/t"), is("http://[::1]:8181", None, "a|b", "t"));
        assert_eq!(
            found("REST://lake.example/api/catalog/a%2Eb.c%20d/e%2Ff?warehouse=x%26y"),
            is("https://lake.example/api/catalog", Some("x&y"), "a.b|c d", "e/f")
        );
        for location in [
            "rest://",
            "rest:///a/b",
            "rest://host",
            "rest://host/t",
            "rest://host//t",
            "rest://host/n/",
            "rest://host/a..b/t",
            "rest://h/n/t?x=1",
            "rest://h/n/t?warehouse=a&b=c",
            "rest://u:p@h/n/t",
            "rest://h/%ff/t",
        ] {
            assert!(parse(location, None).is_err(), "{location}");
        }
    }

    #[test]
    fn secrets_are_for_the_catalog_that_the_environment_names() {
        let uri = Some("http://lake.example:8181/api/");
        let (base, warehouse, is_configured, ..) = parse("rest://lake.example:8181/api/n/t", uri).unwrap();
        assert_eq!(
            (base.as_str(), warehouse.as_deref(), is_configured),
            ("http://lake.example:8181/api", Some("own"), true)
        );
        let (base, _, is_configured, namespace, table) = parse("rest:///n/t", uri).unwrap();
        assert_eq!(
            (base.as_str(), is_configured, namespace.as_str(), table.as_str()),
            ("http://lake.example:8181/api", true, "n", "t")
        );
        for other in [
            "rest://lake.example/api/n/t",
            "rest://lake.example:8181/n/t",
            "rest://evil.example/lake.example:8181/api/n/t",
        ] {
            let (base, warehouse, is_configured, ..) = parse(other, uri).unwrap();
            assert!(base.starts_with("https://") && warehouse.is_none() && !is_configured, "{other}: {base}");
        }
        assert!(parse("rest:///n/t", Some("lake.example")).is_err());
    }

    #[test]
    fn catalogs_have_urls_too() {
        let variables = |uri: &str| Variables { uri: Some(uri.to_owned()), ..Variables::default() };
        let found = |location: &str, uri: &str| {
            let address = Address::parse(location, &variables(uri)).unwrap();
            (address.base, address.is_configured)
        };
        let is = |base: &str, is_configured| (base.to_owned(), is_configured);
        assert_eq!(found("http://lake:8181/?warehouse=w", ""), is("http://lake:8181", false));
        assert_eq!(found("https://lake/api/v1/", ""), is("https://lake/api", false));
        assert_eq!(found("https://localhost:8181", ""), is("https://localhost:8181", false));
        assert_eq!(found("rest://lake/api", "https://lake/api/v1/"), is("https://lake/api", true));
        assert_eq!(found("https://lake/api/v1", "https://lake/api"), is("https://lake/api", true));
        // A secret for https is not sent in the clear.
        assert_eq!(found("http://lake/api", "https://lake/api"), is("http://lake/api", false));
        for (location, uri) in [("rest://user:s3cret@lake", ""), ("rest://", "https://user:s3cret@lake")] {
            let message = Address::parse(location, &variables(uri)).unwrap_err().to_string();
            assert!(message.contains("LATH_REST_TOKEN") && !message.contains("s3cret"), "{message}");
        }
    }

    #[test]
    fn namespaces_are_shown_as_they_are_parsed() {
        for levels in [vec!["a"], vec!["a", "b"], vec!["a.b", "50%", "c/d"]] {
            let levels: Vec<String> = levels.into_iter().map(str::to_owned).collect();
            assert_eq!(parse_namespace(&shown_namespace(&levels)).unwrap(), levels);
        }
        assert_eq!(encoded("a b/c+é~"), "a%20b%2Fc%2B%C3%A9~");
    }
}
