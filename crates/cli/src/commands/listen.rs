//! Addresses and tokens of commands that listen.

use std::env;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use crate::failure::{Failure, Result};

/// The address that a text means. A port alone is on loopback.
pub(super) fn address(text: &str) -> Result<SocketAddr> {
    let port = text.strip_prefix(':').unwrap_or(text);
    let whole = match port.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.to_owned(),
    };
    let resolved = whole.to_socket_addrs().map(|mut addresses| addresses.next());
    match resolved {
        Ok(Some(address)) => Ok(address),
        Ok(None) => Err(Failure::Usage(format!("{text}: there is no such address"))),
        Err(error) => Err(Failure::Usage(format!("{text} is not an address such as 127.0.0.1:8181: {error}"))),
    }
}

/// The token in a file, or else in a variable; `None` if there is neither.
pub(super) fn token(file: Option<&Path>, variable: &str) -> Result<Option<String>> {
    let (text, place) = match file {
        Some(file) => {
            let text = fs::read_to_string(file).map_err(|error| Failure::reaching(file, &error))?;
            (text, file.display().to_string())
        }
        None => match env::var(variable) {
            Ok(text) => (text, variable.to_owned()),
            Err(env::VarError::NotPresent) => return Ok(None),
            Err(env::VarError::NotUnicode(_)) => return Err(Failure::Usage(format!("{variable} is not Unicode"))),
        },
    };
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage(format!("{place}: a token is one line of visible ASCII characters without spaces")));
    }
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_loopback() {
        for text in ["8181", ":8181", "127.0.0.1:8181"] {
            assert_eq!(address(text).unwrap(), "127.0.0.1:8181".parse().unwrap(), "{text}");
        }
        assert_eq!(address("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        for text in ["", "127.0.0.1", "x", "70000", "127.0.0.1:x"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
