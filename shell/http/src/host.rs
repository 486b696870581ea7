//! Host names to which this server answers. A page of another site can have its own name lead to an address of the
//! reader's machine, and then counts as ours in the browser: only the header `Host` still tells the name.

use std::net::IpAddr;

use graphlume_types::Code;
use http::header::{HOST, HeaderMap};

use crate::access::Listener;
use crate::config::HttpConfig;
use crate::public_url::{PublicUrl, name};
use crate::status::ApiError;

/// Whether requests of people are held to a name; where this is false, a page of another site whose name leads here
/// is taken for ours.
pub(crate) fn is_checked(config: &HttpConfig) -> bool {
    config.public_url.is_some() || config.listen.ip().is_loopback()
}

/// Refuses requests under a name that is not ours, on listeners of this machine alone and where a public address is
/// set. Elsewhere the names of the server are not known to it.
pub(crate) fn check(
    config: &HttpConfig,
    listener: Listener,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    let (address, public) = match listener {
        Listener::Public => (Some(config.listen), config.public_url.as_ref()),
        Listener::Internal => (config.internal_listen, None),
    };
    let is_checked = public.is_some() || address.is_some_and(|a| a.ip().is_loopback());
    if !is_checked {
        return Ok(());
    }
    for host in headers.get_all(HOST) {
        let host = host.to_str().unwrap_or_default();
        if is_ours(&name(host), public) {
            continue;
        }
        let shown: String = host.chars().take(100).collect();
        let remedy = match listener {
            Listener::Public => {
                "; open it by its address or as localhost, or start it with --public-url and the address \
                 at which people open it, such as --public-url https://viz.example"
            }
            Listener::Internal => "; ask it by its address or as localhost",
        };
        return Err(ApiError::new(
            Code::Forbidden,
            "foreign-host",
            format!("this server is not known as {shown:?} (header Host){remedy}"),
        )
        .at("Host"));
    }
    Ok(())
}

/// No name server can make an address lead elsewhere, and browsers take `localhost` for this machine.
fn is_ours(name: &str, public: Option<&PublicUrl>) -> bool {
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    bare.parse::<IpAddr>().is_ok()
        || name == "localhost"
        || name.ends_with(".localhost")
        || public.is_some_and(|p| p.name == name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn is_answered(listen: &str, public: Option<&str>, hosts: &[&str]) -> bool {
        let config = HttpConfig {
            listen: listen.parse().unwrap(),
            public_url: public.map(|p| p.parse().unwrap()),
            ..HttpConfig::default()
        };
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        check(&config, Listener::Public, &headers).is_ok()
    }

    #[test]
    fn a_listener_of_this_machine_answers_to_addresses_and_localhost() {
        for listen in ["127.0.0.1:8000", "[::1]:8000"] {
            for own in [
                "127.0.0.1:8000",
                "127.0.0.1",
                "localhost:9",
                "LOCALHOST",
                "a.localhost:1",
                "[::1]:80",
            ] {
                assert!(is_answered(listen, None, &[own]), "{own}");
            }
            for foreign in [
                "evil.example",
                "evil.example:8000",
                "127.0.0.1.evil.example",
                "localhost.evil.example",
                "evillocalhost",
                "",
                "[evil.example]",
                "127.0.0.1@evil.example",
            ] {
                assert!(!is_answered(listen, None, &[foreign]), "{foreign}");
            }
            assert!(is_answered(listen, None, &[]), "no browser leaves it out");
            assert!(!is_answered(listen, None, &["localhost", "evil.example"]));
        }
        assert!(is_answered("0.0.0.0:8000", None, &["viz.example"]), "its names are not known");
    }

    #[test]
    fn with_a_public_address_no_other_name_is_answered() {
        let public = Some("https://Viz.Example:8443/");
        for listen in ["127.0.0.1:8000", "0.0.0.0:8000"] {
            for own in
                ["viz.example:8443", "VIZ.example", "viz.example.", "10.0.0.7:8000", "localhost"]
            {
                assert!(is_answered(listen, public, &[own]), "{own}");
            }
            for foreign in ["evil.example", "viz.example.evil.example", "other.viz.example"] {
                assert!(!is_answered(listen, public, &[foreign]), "{foreign}");
            }
        }
        let public: PublicUrl = "https://viz.example".parse().unwrap();
        assert_eq!(public.is_https("viz.example:80"), Some(true));
        assert_eq!(public.is_https("localhost"), None);
    }

    #[test]
    fn a_public_address_is_read_or_refused() {
        for good in
            ["http://viz", "https://viz.example", "https://viz.example:8443/", "http://[::1]:1"]
        {
            assert!(good.parse::<PublicUrl>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "viz.example",
            "ftp://viz",
            "https://",
            "https://viz/graphs",
            "https://a@viz",
            "https://viz/?x",
        ] {
            let refused = bad.parse::<PublicUrl>().unwrap_err();
            assert!(refused.contains("https://viz.example"), "{refused}");
        }
    }
}
