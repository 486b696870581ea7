//! Network addresses as units that something is counted by.

use std::net::{IpAddr, Ipv6Addr};

/// The address that stands for all clients that share `address`: a client with one IPv6 address has 2^64 of
/// them, and an IPv4 address that is mapped into IPv6 is itself.
#[must_use]
pub fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (!0u128 << 64)))
        }
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_household_are_one() {
        let of = |text: &str| household(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.2"), of("192.0.2.1"));
        assert_eq!(of("::1").to_string(), "::1");
    }
}
