//! Whose request it is when a proxy brings it.

use std::net::IpAddr;
use std::str::FromStr;

use http::header::{HeaderMap, HeaderName};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A network of addresses, such as `10.0.0.0/8`; a bare address is a network of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no network; write one such as 10.0.0.0/8, or an address");
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |b| b.parse().map_err(|_| wrong()))?;
        if bits > most {
            return Err(wrong());
        }
        Ok(Self { address, bits })
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let rest = width - u32::from(self.bits);
            a.checked_shr(rest).unwrap_or(0) == b.checked_shr(rest).unwrap_or(0)
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }
}

/// Whether `address` is one of the operator's proxies.
pub(crate) fn is_trusted(trusted: &[Network], address: IpAddr) -> bool {
    trusted.iter().any(|n| n.contains(address))
}

/// Whether the request names another sender than the other end of the connection, which is not believed.
pub(crate) fn is_unbelieved(trusted: &[Network], peer: IpAddr, headers: &HeaderMap) -> bool {
    headers.contains_key(FORWARDED_FOR) && !is_trusted(trusted, peer.to_canonical())
}

/// The address of the client: the other end of the connection, and where that is a proxy of
/// the operator's, the rightmost address in `X-Forwarded-For` that is not one. What stands further left was
/// written by the sender and says nothing.
pub(crate) fn client(trusted: &[Network], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let mut at = peer.to_canonical();
    let lines: Vec<&str> =
        headers.get_all(FORWARDED_FOR).iter().filter_map(|v| v.to_str().ok()).collect();
    for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        if !is_trusted(trusted, at) {
            break;
        }
        let Some(next) = forwarded(entry) else { break };
        at = next;
    }
    at
}

/// Whether a proxy says that the request came over plain HTTP.
pub(crate) fn came_plain(headers: &HeaderMap) -> bool {
    let last = headers.get_all(FORWARDED_PROTO).iter().next_back();
    last.and_then(|v| v.to_str().ok())
        .and_then(|v| v.rsplit(',').next())
        .is_some_and(|v| v.trim().eq_ignore_ascii_case("http"))
}

/// One entry: an address, with or without a port.
fn forwarded(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bare = entry.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(a, _)| a);
    let address = entry.parse::<IpAddr>().ok();
    let address = address.or_else(|| bare.and_then(|a| a.parse().ok()));
    let address = address.or_else(|| entry.rsplit_once(':').and_then(|(a, _)| a.parse().ok()));
    address.map(|a| a.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn seen(trusted: &[&str], peer: &str, lines: &[&str]) -> String {
        let trusted: Vec<Network> = trusted.iter().map(|n| n.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, HeaderValue::from_str(line).unwrap());
        }
        client(&trusted, peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxy_counts() {
        let own = &["127.0.0.1", "10.0.0.0/8", "fd00::/8"][..];
        for (peer, lines, want) in [
            ("127.0.0.1", &[][..], "127.0.0.1"),
            ("127.0.0.1", &["203.0.113.7"], "203.0.113.7"),
            ("127.0.0.1", &["1.2.3.4, 203.0.113.7"], "203.0.113.7"),
            ("127.0.0.1", &["1.2.3.4", "203.0.113.7, 10.1.2.3"], "203.0.113.7"),
            ("127.0.0.1", &["203.0.113.7:4711"], "203.0.113.7"),
            ("127.0.0.1", &["[2001:db8::1]:80"], "2001:db8::1"),
            ("::ffff:127.0.0.1", &["2001:db8::1"], "2001:db8::1"),
            ("fd00::1", &["203.0.113.7, fd00::2"], "203.0.113.7"),
            ("127.0.0.1", &["nonsense"], "127.0.0.1"),
            ("127.0.0.1", &["203.0.113.7, unknown"], "127.0.0.1"),
            ("198.51.100.1", &["203.0.113.7"], "198.51.100.1"),
            ("127.0.0.2", &["203.0.113.7"], "127.0.0.2"),
        ] {
            assert_eq!(seen(own, peer, lines), want, "{peer} {lines:?}");
        }
        assert_eq!(seen(&[], "127.0.0.1", &["203.0.113.7"]), "127.0.0.1", "nobody is trusted");
        assert_eq!(seen(&["0.0.0.0/0"], "127.0.0.1", &["a, 203.0.113.7"]), "203.0.113.7");
    }

    #[test]
    fn a_sender_is_not_believed_when_no_proxy_of_ours_names_it() {
        let own = ["10.0.0.0/8".parse::<Network>().unwrap()];
        let mut headers = HeaderMap::new();
        let mut is = |peer: &str, named: bool| {
            headers.clear();
            if named {
                headers.append(FORWARDED_FOR, HeaderValue::from_static("203.0.113.7"));
            }
            is_unbelieved(&own, peer.parse().unwrap(), &headers)
        };
        assert!(is("192.0.2.1", true) && !is("192.0.2.1", false));
        assert!(!is("10.1.2.3", true) && !is("::ffff:10.1.2.3", true));
    }

    #[test]
    fn a_network_is_read_or_refused() {
        for good in ["10.0.0.0/8", "::1", "0.0.0.0/0", "2001:db8::/32", "192.0.2.1/32"] {
            assert!(good.parse::<Network>().is_ok(), "{good}");
        }
        for bad in ["", "10.0.0.0/33", "10/8", "x", "::1/129", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
