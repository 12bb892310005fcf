//! Credentials for requests to a catalog.

use std::fmt;

use lath_parquet::{Error, Result};
use lath_source::WebRequest;

use super::location::{Address, encoded};
use super::variables::Variables;

/// The proof that requests carry.
#[derive(Clone, PartialEq)]
pub(super) enum Access {
    /// Nothing.
    Open,
    /// A token.
    Bearer(String),
    /// An identity, for which the catalog or another server makes a token.
    Credential { token_url: String, form: String, secret: String },
    /// A signature for a service of AWS in a region.
    Signed(String, String),
}

impl Access {
    /// The access to a catalog. Secrets of the environment go to the catalog that it names, and to no other.
    pub(super) fn new(address: &Address, variables: &Variables) -> Result<Self> {
        if let Some((service, region)) = aws_service(&address.base) {
            return Ok(Self::Signed(service.to_owned(), region.to_owned()));
        }
        let has_secret = variables.token.is_some() || variables.credential.is_some();
        if has_secret && variables.uri.is_none() {
            return Err(Error::invalid(format!(
                "LATH_REST_TOKEN and LATH_REST_CREDENTIAL are sent only to the catalog that LATH_REST_URI names: set it to {}, or unset them",
                address.base
            )));
        }
        if !address.is_configured {
            return Ok(Self::Open);
        }
        if let Some(signing) = &variables.sigv4 {
            return match signing.split_once('/') {
                Some((service, region)) => Ok(Self::Signed(service.to_owned(), region.to_owned())),
                None => Err(Error::invalid(format!("LATH_REST_SIGV4 is {signing}, and has to be SERVICE/REGION"))),
            };
        }
        if let Some(token) = &variables.token {
            return Ok(Self::Bearer(token.clone()));
        }
        let Some(credential) = &variables.credential else { return Ok(Self::Open) };
        let scope = variables.scope.as_deref().unwrap_or("catalog");
        let mut form = format!("grant_type=client_credentials&scope={}", encoded(scope));
        let secret = match credential.split_once(':') {
            Some((id, secret)) => {
                form.push_str(&format!("&client_id={}", encoded(id)));
                secret
            }
            None => credential,
        };
        form.push_str(&format!("&client_secret={}", encoded(secret)));
        let token_url = variables.oauth2_uri.clone().unwrap_or_else(|| format!("{}/v1/oauth/tokens", address.base));
        if token_url.contains('@') {
            return Err(Error::invalid("LATH_REST_OAUTH2_URI has a user and a password: leave them out"));
        }
        Ok(Self::Credential { token_url, form, secret: secret.to_owned() })
    }

    /// A text of the catalog without the secrets, which it may repeat.
    pub(super) fn hide(&self, text: String) -> String {
        let secret = match self {
            Self::Bearer(token) => token.as_str(),
            Self::Credential { secret, .. } => secret.as_str(),
            Self::Open | Self::Signed(..) => "",
        };
        if secret.is_empty() { text } else { text.replace(secret, "…") }
    }

    /// The request with what it has to bring.
    pub(super) fn add_to(&self, mut request: WebRequest) -> WebRequest {
        match self {
            Self::Open | Self::Credential { .. } => {}
            Self::Bearer(token) => request.headers.push(("authorization".to_owned(), format!("Bearer {token}"))),
            Self::Signed(service, region) => request.signing = Some((service.clone(), region.clone())),
        }
        request
    }
}

/// Without the secrets.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "Open",
            Self::Bearer(_) => "Bearer",
            Self::Credential { .. } => "Credential",
            Self::Signed(..) => "Signed",
        })
    }
}

/// The service and region of a catalog of AWS, whose requests are signed: `https://glue.eu-west-1.amazonaws.com/iceberg`.
fn aws_service(base: &str) -> Option<(&str, &str)> {
    let host = base.strip_prefix("https://")?.split('/').next()?;
    let (service, region) = host.strip_suffix(".amazonaws.com")?.split_once('.')?;
    (matches!(service, "glue" | "s3tables") && !region.contains('.')).then_some((service, region))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(base: &str, is_configured: bool, variables: &Variables) -> Result<Access> {
        Access::new(&Address { base: base.to_owned(), warehouse: None, is_configured }, variables)
    }

    #[test]
    fn catalogs_of_aws_are_signed_and_no_others() {
        let found = |base: &str| format!("{:?}", access(base, false, &Variables::default()).unwrap());
        assert_eq!(found("https://glue.eu-west-1.amazonaws.com/iceberg"), "Signed");
        assert_eq!(found("https://s3tables.us-east-1.amazonaws.com/iceberg"), "Signed");
        for base in [
            "http://glue.eu-west-1.amazonaws.com/iceberg",
            "https://glue.evil.example/.amazonaws.com",
            "https://glue.a.b.amazonaws.com",
            "https://lake.example",
        ] {
            assert_eq!(found(base), "Open", "{base}");
        }
    }

    #[test]
    fn secrets_need_to_be_told_whose_they_are() {
        let token = Variables { token: Some("t".to_owned()), ..Variables::default() };
        assert!(access("http://localhost:1", false, &token).is_err());
        let token = Variables { uri: Some("https://lake.example".to_owned()), ..token };
        assert_eq!(format!("{:?}", access("http://localhost:1", false, &token).unwrap()), "Open");
        assert_eq!(format!("{:?}", access("https://lake.example", true, &token).unwrap()), "Bearer");
        let credential = Variables { token: None, credential: Some("id:se:cret&".to_owned()), ..token };
        let Access::Credential { token_url, form, secret } = access("https://lake.example", true, &credential).unwrap()
        else {
            unreachable!("an identity is given");
        };
        assert_eq!(token_url, "https://lake.example/v1/oauth/tokens");
        assert_eq!(secret, "se:cret&");
        assert_eq!(form, "grant_type=client_credentials&scope=catalog&client_id=id&client_secret=se%3Acret%26");
    }
}
