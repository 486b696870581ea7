//! The address at which people open the server, and names in the header `Host`.

use std::str::FromStr;

use http::uri::Uri;

/// The address at which people open the server, such as `https://viz.example`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    is_https: bool,
    /// Without the port, in small letters.
    pub(crate) name: String,
    /// With the port, as it was given.
    authority: String,
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no address such as https://viz.example; a path goes into --base-path"
            )
        };
        let url: Uri = text.trim().parse().map_err(|_| wrong())?;
        let is_https = match url.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let host = url.host().filter(|h| !h.is_empty()).ok_or_else(wrong)?;
        let is_plain = url.authority().is_some_and(|a| !a.as_str().contains('@'));
        if !is_plain || !matches!(url.path(), "" | "/") || url.query().is_some() {
            return Err(wrong());
        }
        let authority = url.authority().map_or(host, |a| a.as_str()).to_owned();
        Ok(Self { is_https, name: name(host), authority })
    }
}

impl PublicUrl {
    /// Name and port as they stand in an address.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether people open `host`, the value of a header, over HTTPS; `None` when it is another place.
    pub(crate) fn is_https(&self, host: &str) -> Option<bool> {
        (name(host) == self.name).then_some(self.is_https)
    }
}

/// The name in `host[:port]`, in small letters and without the dot of the root.
pub(crate) fn name(host: &str) -> String {
    let port = host.rfind(':').filter(|at| host.rfind(']').is_none_or(|end| *at > end));
    let name = &host[..port.unwrap_or(host.len())];
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}
