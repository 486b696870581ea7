//! Secrets that are handed out once, of which the server keeps a digest alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use graphlume_storage::SecretDigest;
use graphlume_types::id::{hex, random_bytes};
use sha2::{Digest as _, Sha256};

/// Characters of a secret: 32 bytes in base64url without padding.
const CHARS: usize = 43;

/// A fresh secret of 256 bits, safe in an address and in a cookie.
pub fn fresh() -> String {
    URL_SAFE_NO_PAD.encode(random_bytes::<32>())
}

/// What is stored and looked up. A digest of 256 random bits needs neither salt nor stretching, and a
/// look-up by digest does not tell how much of a guess was right.
pub fn digest(secret: &str) -> SecretDigest {
    SecretDigest::new(Sha256::digest(secret.as_bytes()).into())
}

/// Whether a text has the form of a secret: what has not is refused without a look-up.
pub(crate) fn has_form(text: &str) -> bool {
    text.len() == CHARS
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// A digest as tokens carry it: nothing can be done with it, for it is the secret that opens something.
pub(crate) fn name_of(digest: &SecretDigest) -> String {
    hex(digest.as_bytes())
}

/// The digest that a token names.
pub(crate) fn digest_of(name: &str) -> Option<SecretDigest> {
    serde_json::from_value(name.into()).ok()
}

/// A name for a secret in the log, from which it cannot be found out.
pub(crate) fn log_name(digest: &SecretDigest) -> String {
    hex(&digest.as_bytes()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_its_form_and_others_have_not() {
        let all: std::collections::HashSet<String> = (0..1_000).map(|_| fresh()).collect();
        assert_eq!(all.len(), 1_000);
        assert!(all.iter().all(|s| has_form(s)));
        let long = "a".repeat(44);
        for bad in ["", "a", &long, &format!("{}=", &long[..42]), &format!("{}é", &long[..41])] {
            assert!(!has_form(bad), "{bad}");
        }
    }

    #[test]
    fn the_log_name_is_a_part_of_the_digest() {
        let digest = digest("abc");
        // SHA-256 of "abc" is a test vector of the standard.
        assert_eq!(log_name(&digest), "ba7816bf8f01cfea");
    }
}
