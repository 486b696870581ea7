//! From where pages load the pictures that datasets and addresses name: logos, backgrounds, icons.
//!
//! A picture of another site tells that site who looks, and when. The author of the graph, or merely the link, chooses the
//! picture; so the operator says which sites are asked, and without a word none is.

use std::fmt;
use std::str::FromStr;

/// One site, or all of a scheme, as a source of a content security policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureHost {
    scheme: Scheme,
    /// Absent: every host of the scheme. Lower case.
    host: Option<Host>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    /// `*.` before the name: its subdomains, and not the name itself.
    is_wild: bool,
    name: String,
    port: Option<u16>,
}

impl Scheme {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// The scheme of an address, and the rest of it.
    fn split(text: &str) -> Option<(Self, &str)> {
        let of = |scheme: Self| {
            let (word, rest) = text.split_at_checked(scheme.as_str().len())?;
            let rest = rest.strip_prefix(':')?;
            word.eq_ignore_ascii_case(scheme.as_str()).then_some((scheme, rest))
        };
        of(Self::Https).or_else(|| of(Self::Http))
    }
}

impl fmt::Display for PictureHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme.as_str())?;
        let Some(Host { is_wild, name, port }) = &self.host else { return Ok(()) };
        write!(f, "//{}{name}", if *is_wild { "*." } else { "" })?;
        port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for PictureHost {
    type Err = String;

    /// Reads `images.example.org`, `*.example.org`, `https://example.org:8443`, `https:`, and the same with `http`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no site for pictures; write one such as images.example.org, *.example.org or \
                 http://intranet:8080, or https: for every site over HTTPS"
            )
        };
        let (scheme, rest) = Scheme::split(text).unwrap_or((Scheme::Https, text));
        if rest.is_empty() && !text.is_empty() {
            return Ok(Self { scheme, host: None });
        }
        let authority = if rest.len() == text.len() {
            rest
        } else {
            rest.strip_prefix("//").ok_or_else(wrong)?
        };
        let (is_wild, authority) = match authority.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, authority),
        };
        let (name, port) = match authority.split_once(':') {
            Some((name, port)) => (name, Some(port.parse::<u16>().map_err(|_| wrong())?)),
            None => (authority, None),
        };
        let legal = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        if name.len() > 253 || !name.split('.').all(legal) {
            return Err(wrong());
        }
        Ok(Self { scheme, host: Some(Host { is_wild, name: name.to_ascii_lowercase(), port }) })
    }
}

/// The site of a picture's address that is not ours: its scheme, host and port, and how they read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    scheme: Scheme,
    host: String,
    port: u16,
}

impl Site {
    /// The site that a browser asks for the picture; `None` for our own, and for what holds the picture itself or is none.
    fn of(address: &str) -> Option<Self> {
        // Browsers take a backslash for a slash here, and pass over what stands around an address.
        let address = address.trim().replace('\\', "/");
        let (scheme, rest) = match Scheme::split(&address) {
            Some(found) => found,
            // Of the scheme that the page has.
            None if address.starts_with("//") => (Scheme::Https, &*address),
            None => return None,
        };
        let rest = rest.trim_start_matches('/');
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().unwrap_or(scheme.port()))
            }
            _ => (authority, scheme.port()),
        };
        Some(Self { scheme, host: host.to_ascii_lowercase(), port })
    }
}

impl PictureHost {
    fn has(&self, site: &Site) -> bool {
        // A source over HTTP stands for the same over HTTPS, as browsers read it.
        let upgraded = self.scheme == Scheme::Http && site.scheme == Scheme::Https;
        if self.scheme != site.scheme && !upgraded {
            return false;
        }
        let Some(Host { is_wild, name, port }) = &self.host else { return true };
        let is_port = match port {
            Some(port) => *port == site.port || upgraded && *port == 80 && site.port == 443,
            None => site.port == site.scheme.port(),
        };
        let is_name = if *is_wild {
            site.host.strip_suffix(&**name).is_some_and(|sub| sub.len() > 1 && sub.ends_with('.'))
        } else {
            site.host == *name
        };
        is_port && is_name
    }
}

/// The site of a picture that pages do not load, because none of `hosts` is its site; `None` for one that they load, and
/// for what is no address of a picture.
#[must_use]
pub fn foreign_picture(hosts: &[PictureHost], address: &str) -> Option<String> {
    let site = Site::of(address)?;
    if hosts.iter().any(|h| h.has(&site)) {
        return None;
    }
    let host: String = site.host.chars().take(80).filter(|c| !c.is_control()).collect();
    let port =
        if site.port == site.scheme.port() { String::new() } else { format!(":{}", site.port) };
    Some(format!("{}://{host}{port}", site.scheme.as_str()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<PictureHost> {
        text.split_whitespace().map(|t| t.parse().unwrap()).collect()
    }

    #[test]
    fn a_site_is_read_and_written_as_a_source_of_a_policy() {
        for (text, source) in [
            ("images.example.org", "https://images.example.org"),
            ("Images.Example.ORG:8443", "https://images.example.org:8443"),
            ("*.example.org", "https://*.example.org"),
            ("http://intranet:8080", "http://intranet:8080"),
            ("HTTPS://a-b.example", "https://a-b.example"),
            ("https:", "https:"),
            ("http:", "http:"),
        ] {
            assert_eq!(text.parse::<PictureHost>().unwrap().to_string(), source);
        }
        for bad in [
            "",
            "*",
            "https://",
            "https:/a",
            "ftp://a",
            "a;b",
            "a b",
            "a/b",
            "a.example/",
            "'self'",
            "data:",
            "a.*.example",
            "a:port",
            "a:99999",
            "[::1]",
            "é.example",
            "a..b",
            ".a",
            "*.",
            "a\r\nb",
            "a,b",
            "a:",
        ] {
            assert!(bad.parse::<PictureHost>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_picture_is_foreign_unless_its_site_is_named() {
        let named =
            hosts("images.example.org *.cdn.example http://intranet:8080 http://plain.example");
        for ours in [
            "https://images.example.org/a.png",
            "HTTPS://IMAGES.example.org:443/a.png?x#y",
            "//images.example.org/a.png",
            "https://a.cdn.example/x",
            "https://a.b.cdn.example",
            "http://intranet:8080/a.png",
            "http://plain.example/x",
            "https://plain.example/x",
            "data:image/png;base64,AA==",
            "/logo.png",
            "./logo.png",
            "",
            "no picture at all",
        ] {
            assert_eq!(foreign_picture(&named, ours), None, "{ours}");
        }
        for (foreign, site) in [
            (
                "https://images.example.org.evil.example/a",
                "https://images.example.org.evil.example",
            ),
            ("https://images.example.org@evil.example/a", "https://evil.example"),
            ("https://images.example.org:8443/", "https://images.example.org:8443"),
            ("http://images.example.org/a.png", "http://images.example.org"),
            ("https://cdn.example/", "https://cdn.example"),
            ("https://xcdn.example/", "https://xcdn.example"),
            ("//evil.example/pixel", "https://evil.example"),
            ("\\\\evil.example\\pixel", "https://evil.example"),
            (" https:evil.example", "https://evil.example"),
            ("http://intranet/", "http://intranet"),
            ("https://[::1]/a", "https://[::1]"),
        ] {
            assert_eq!(foreign_picture(&named, foreign).as_deref(), Some(site), "{foreign}");
            assert_eq!(foreign_picture(&[], foreign).as_deref(), Some(site), "{foreign}");
        }
        assert_eq!(foreign_picture(&hosts("https:"), "https://anything.example:444/"), None);
        assert!(foreign_picture(&hosts("https:"), "http://anything.example/").is_some());
        assert_eq!(foreign_picture(&hosts("http:"), "https://anything.example/"), None);
    }
}
