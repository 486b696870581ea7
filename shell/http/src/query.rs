//! Query strings and cookies. Real clients write values without escaping, so reading is lenient and
//! what must survive a redirect is never parsed and printed again.

/// The decoded `name=value` pairs, in order. `+` is a space; a broken escape stays as it is.
#[must_use]
pub fn pairs(raw: &str) -> Vec<(String, String)> {
    raw.split('&')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(name), decode(value))
        })
        .collect()
}

/// The last value of `name`, where the text `None` counts as absent: a client prints it for a missing
/// value.
#[must_use]
pub fn last<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs
        .iter()
        .rev()
        .find(|(n, _)| n == name)
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.is_empty() && *value != "None")
}

/// `raw` with `name=value` appended and every other byte as it was.
#[must_use]
pub fn appended(raw: &str, name: &str, value: &str) -> String {
    let mut out = String::with_capacity(raw.len() + name.len() + value.len() + 2);
    out.push_str(raw);
    if !raw.is_empty() && !raw.ends_with('&') {
        out.push('&');
    }
    out.push_str(name);
    out.push('=');
    out.push_str(value);
    out
}

/// `text` without percent escapes and with `+` as a space.
fn decode(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let escape = bytes.get(i + 1..i + 3).and_then(|h| std::str::from_utf8(h).ok());
        match (bytes[i], escape.and_then(|h| u8::from_str_radix(h, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                i += 3;
            }
            (b'+', _) => {
                out.push(b' ');
                i += 1;
            }
            (other, _) => {
                out.push(other);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The value of a cookie in a `Cookie` header. The first one wins, as in browsers' own order of
/// specificity.
#[must_use]
pub fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header
        .split(';')
        .filter_map(|part| part.trim().split_once('='))
        .find(|(n, _)| *n == name)
        .map(|(_, value)| value.trim_matches('"'))
        .filter(|value| !value.is_empty())
}

/// The token of an `Authorization: Bearer` header. A client's documentation makes users write
/// `Bearer Bearer <token>`, so the word may repeat.
#[must_use]
pub fn bearer(header: &str) -> Option<&str> {
    let mut rest = header.trim();
    let mut seen = false;
    while let Some((word, tail)) = rest.split_once(' ') {
        if !word.eq_ignore_ascii_case("bearer") {
            return None;
        }
        seen = true;
        rest = tail.trim_start();
    }
    (seen && !rest.is_empty() && !rest.eq_ignore_ascii_case("bearer")).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_values_of_real_clients_are_read() {
        let p =
            pairs("dataset=ab&splashAfter=1700000000&bg=%23E2E2E2&t=a+b%20c&splashAfter=False&x");
        assert_eq!(last(&p, "dataset"), Some("ab"));
        assert_eq!(last(&p, "splashAfter"), Some("False"));
        assert_eq!(last(&p, "bg"), Some("#E2E2E2"));
        assert_eq!(last(&p, "t"), Some("a b c"));
        assert_eq!(last(&p, "x"), None);
        assert_eq!(last(&pairs("play=None"), "play"), None);
    }

    #[test]
    fn a_broken_escape_does_not_lose_the_text() {
        assert_eq!(
            pairs("a=100%&b=%zz&c=%e2%82"),
            [
                ("a".to_owned(), "100%".to_owned()),
                ("b".to_owned(), "%zz".to_owned()),
                ("c".to_owned(), "\u{fffd}".to_owned()),
            ]
        );
    }

    #[test]
    fn appending_keeps_every_byte() {
        let raw = "dataset=x&pageTitle=a%20b+c&bg=%23fff&&k=%zz&e=";
        assert_eq!(appended(raw, "session", "s1"), format!("{raw}&session=s1"));
        assert_eq!(appended("", "session", "s1"), "session=s1");
        assert_eq!(appended("a=1&", "session", "s1"), "a=1&session=s1");
    }

    #[test]
    fn a_repeated_bearer_word_is_tolerated_and_other_schemes_are_not_tokens() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc"), Some("abc"));
        assert_eq!(bearer("Bearer Bearer abc"), Some("abc"));
        for bad in ["", "abc", "Bearer", "Bearer ", "Bearer Bearer", "Basic abc", "Bearer a b"] {
            assert_eq!(bearer(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn our_cookie_is_found_among_others() {
        assert_eq!(cookie("a=b; graphlume_jwt=x.y.z; c=d", "graphlume_jwt"), Some("x.y.z"));
        assert_eq!(cookie("xgraphlume_jwt=no", "graphlume_jwt"), None);
        assert_eq!(cookie("graphlume_jwt=", "graphlume_jwt"), None);
    }
}
