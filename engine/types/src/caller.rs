//! Callers, as far as turns and shares go.

use std::net::{IpAddr, Ipv6Addr};

use crate::id::UserId;

/// Who asks: callers take turns, and each has a share of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Caller {
    /// An account.
    User(UserId),
    /// All who come from one address without an account: see [`Caller::stranger`].
    Address(IpAddr),
    /// The server itself, or a caller of whom nothing is known.
    #[default]
    Nobody,
}

impl Caller {
    /// A caller from `address` without an account. One line of a provider has 2^64 addresses of IPv6, which count as
    /// one.
    #[must_use]
    pub fn stranger(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }

    /// The same caller, or a stranger from `address` where nothing is known of it.
    #[must_use]
    pub fn or_stranger(self, address: IpAddr) -> Self {
        match self {
            Self::Nobody => Self::stranger(address),
            known => known,
        }
    }

    /// Whether it has no account.
    #[must_use]
    pub const fn is_stranger(self) -> bool {
        !matches!(self, Self::User(_))
    }
}

impl From<Option<UserId>> for Caller {
    fn from(user: Option<UserId>) -> Self {
        user.map_or(Self::Nobody, Self::User)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_line_are_one_caller() {
        let of = |text: &str| Caller::stranger(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        let known = Caller::from(Some(UserId(3)));
        assert_eq!(known.or_stranger("10.0.0.1".parse().unwrap()), known);
        assert_eq!(Caller::Nobody.or_stranger("10.0.0.1".parse().unwrap()), of("10.0.0.1"));
    }
}
