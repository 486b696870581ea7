//! Opaque identifiers. All of them are safe inside a URL path segment without escaping, because real
//! clients paste them there unescaped.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} id {value:?} is not valid: expected {expected}")]
pub struct IdError {
    kind: &'static str,
    value: String,
    expected: &'static str,
}

/// Fills `buf` from the operating system's generator.
///
/// # Panics
/// When the operating system has no entropy source, without which no secret can be made.
#[allow(clippy::expect_used, reason = "a server without entropy must not mint ids")]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut buf = [0u8; N];
    getrandom::fill(&mut buf).expect("the operating system must provide randomness");
    buf
}

/// Lower-case hexadecimal text of `bytes`.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for b in bytes {
        out.push(char::from(DIGITS[usize::from(b >> 4)]));
        out.push(char::from(DIGITS[usize::from(b & 15)]));
    }
    out
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 16]);

        impl $name {
            /// A fresh random id of 128 bits.
            #[must_use]
            pub fn random() -> Self {
                Self(random_bytes::<16>())
            }

            /// The raw bytes.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// An id with these bytes, for deterministic tests and built-in objects.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($kind, ":{}"), self)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(s: &str) -> Result<Self, IdError> {
                let err = || IdError {
                    kind: $kind,
                    value: s.chars().take(64).collect(),
                    expected: "32 hexadecimal characters",
                };
                let b = s.as_bytes();
                if b.len() != 32 {
                    return Err(err());
                }
                let nibble = |c: u8| match c {
                    b'0'..=b'9' => Some(c - b'0'),
                    b'a'..=b'f' => Some(c - b'a' + 10),
                    _ => None,
                };
                let mut out = [0u8; 16];
                for (o, pair) in out.iter_mut().zip(b.chunks_exact(2)) {
                    let (Some(hi), Some(lo)) = (nibble(pair[0]), nibble(pair[1])) else {
                        return Err(err());
                    };
                    *o = hi << 4 | lo;
                }
                Ok(Self(out))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let s = std::borrow::Cow::<'de, str>::deserialize(d)?;
                s.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

hex_id!(
    /// An uploaded file.
    FileId,
    "file"
);
hex_id!(
    /// A dataset: bindings over tables.
    DatasetId,
    "dataset"
);

/// A live visualization session. Clients may choose its name in the page's address, so it is text:
/// 1 to 64 characters of `A-Z a-z 0-9 _ -`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SessionId(String);

impl SessionId {
    /// A fresh random id.
    #[must_use]
    pub fn random() -> Self {
        Self(hex(&random_bytes::<16>()))
    }

    /// Whether the name has the form of those that [`Self::random`] makes. Other names were chosen by
    /// clients, and may be guessed.
    #[must_use]
    pub fn has_random_form(&self) -> bool {
        self.0.len() == 32 && self.0.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// The text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session:{}", self.0)
    }
}

impl FromStr for SessionId {
    type Err = IdError;
    fn from_str(s: &str) -> Result<Self, IdError> {
        let ok = (1..=64).contains(&s.len())
            && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if ok {
            Ok(Self(s.to_owned()))
        } else {
            Err(IdError {
                kind: "session",
                value: s.chars().take(64).collect(),
                expected: "1 to 64 characters of A-Z a-z 0-9 _ -",
            })
        }
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let s = std::borrow::Cow::<'de, str>::deserialize(d)?;
        s.parse().map_err(serde::de::Error::custom)
    }
}

/// The public half of a personal key: 10 upper-case letters and digits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct KeyId(pub String);

/// An account number, starting at 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserId(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hex_id_survives_printing_and_parsing() {
        let id = DatasetId::random();
        assert_eq!(id.to_string().parse::<DatasetId>(), Ok(id));
        assert_eq!(id.to_string().len(), 32);
    }

    #[test]
    fn upper_case_short_and_foreign_text_is_refused() {
        for bad in
            ["", "abc", &"A".repeat(32), &"g".repeat(32), &"a".repeat(33), "../../etc/passwd"]
        {
            assert!(bad.parse::<FileId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn names_of_the_server_are_told_from_names_that_clients_chose() {
        assert!(SessionId::random().has_random_form());
        for chosen in ["demo1", &"A".repeat(32), &"a".repeat(31), &"a".repeat(33), &"g".repeat(32)]
        {
            assert!(!chosen.parse::<SessionId>().unwrap().has_random_form(), "{chosen}");
        }
    }

    #[test]
    fn a_session_may_have_a_name_that_a_client_chose() {
        assert!("cycle".parse::<SessionId>().is_ok());
        for bad in ["", "a b", "a/b", &"x".repeat(65), "é"] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }
}
