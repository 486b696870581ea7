#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use graphlume_types::limits::TOKENS_KNOWN_MAX;
use serde_json::{Value, json};

use super::*;

const KEY: [u8; 32] = [7; 32];
const NOW: i64 = 1_700_000_000;

fn tokens() -> Tokens {
    Tokens::new(&SigningKey::from_bytes(KEY)).unwrap()
}

fn subject() -> Subject {
    Subject {
        user: UserId(3),
        username: "alice".to_owned(),
        email: "a@example.org".to_owned(),
        epoch: 2,
        org: None,
        scope: None,
        key: None,
        login: None,
    }
}

fn good_claims() -> Value {
    serde_json::to_value(tokens().issue(&subject(), NOW, NOW).unwrap().1).unwrap()
}

/// Signs anything with the right key, as an attacker never could: what is refused here is refused for
/// its content.
fn signed(header: &str, claims: &str) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let key = EncodingKey::from_secret(&KEY);
    let sig = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    format!("{message}.{sig}")
}

fn our_header() -> String {
    String::from_utf8(URL_SAFE_NO_PAD.decode(tokens().header_text).unwrap()).unwrap()
}

#[test]
fn a_token_lives_exactly_an_hour() {
    let t = tokens();
    let (token, claims) = t.issue(&subject(), NOW, NOW).unwrap();
    assert_eq!(t.check(&token, NOW).unwrap(), claims);
    assert!(t.check(&token, NOW + 3_599).is_ok());
    assert!(matches!(t.check(&token, NOW + 3_600), Err(IdentityError::TokenExpired)));
}

#[test]
fn what_resembles_a_known_token_is_refused_as_ever() {
    let t = tokens();
    let (token, claims) = t.issue(&subject(), NOW, NOW).unwrap();
    assert_eq!(t.check(&token, NOW).unwrap(), claims);
    assert_eq!(t.genuine.get(&token), Some(claims), "it is known now");
    for at in 0..token.len() {
        let mut other = token.clone().into_bytes();
        other[at] = if other[at] == b'A' { b'B' } else { b'A' };
        let other = String::from_utf8(other).unwrap();
        let refused = t.check(&other, NOW);
        assert!(matches!(refused, Err(IdentityError::TokenInvalid)), "{at}: {refused:?}");
        assert_eq!(t.genuine.get(&other), None);
    }
    let early = t.check(&token, NOW - 3_600);
    assert!(matches!(early, Err(IdentityError::TokenInvalid)), "issued in the future: {early:?}");
}

#[test]
fn known_tokens_are_bounded_and_the_dead_go_first() {
    let t = tokens();
    let issued = |at: i64| t.issue(&subject(), at, at).unwrap().0;
    let live = issued(NOW);
    t.check(&live, NOW).unwrap();
    for _ in 1..TOKENS_KNOWN_MAX {
        t.check(&issued(NOW - 3_599), NOW).unwrap();
    }
    t.check(&issued(NOW), NOW + 1).unwrap();
    assert!(t.genuine.get(&live).is_some(), "the others are dead by now");
    for _ in 0..TOKENS_KNOWN_MAX {
        t.check(&issued(NOW), NOW).unwrap();
    }
    assert!(t.genuine.get(&live).is_none());
    assert!(t.check(&live, NOW).is_ok(), "who was forgotten is looked at again");
}

#[test]
fn the_refresh_window_closes_a_day_after_the_login() {
    let t = tokens();
    let (_, claims) = t.issue(&subject(), NOW + 83_000, NOW).unwrap();
    assert!(Tokens::check_refresh(&claims, NOW + 86_399).is_ok());
    let late = Tokens::check_refresh(&claims, NOW + 86_400);
    assert!(matches!(late, Err(IdentityError::RefreshExpired)));
}

#[test]
fn our_own_signature_over_our_own_header_is_accepted() {
    // Proves that the vectors below are refused for what they change, not for how they are made.
    let token = signed(&our_header(), &good_claims().to_string());
    assert!(tokens().check(&token, NOW).is_ok());
}

#[test]
fn foreign_headers_are_refused_even_with_a_good_signature() {
    let claims = good_claims().to_string();
    let mut headers: Vec<String> = Vec::new();
    for alg in [
        "none", "None", "NONE", "nOnE", "noNe", "NonE", "nONE", "HS384", "HS512", "RS256", "ES256",
        "hs256",
    ] {
        headers.push(json!({"typ": TYP, "alg": alg}).to_string());
    }
    for typ in ["JWT", "at+jwt", "gl-st+jwt", "GL-AT+JWT", ""] {
        headers.push(json!({"typ": typ, "alg": "HS256"}).to_string());
    }
    headers.push(json!({"alg": "HS256"}).to_string());
    headers.push(json!({"typ": TYP}).to_string());
    headers.push(json!({"alg": "HS256", "typ": TYP}).to_string());
    headers.push(format!("{{\"typ\":\"{TYP}\",\"alg\":\"HS256\",\"alg\":\"none\"}}"));
    for extra in ["kid", "jku", "x5u", "jwk", "crit", "b64", "zip", "cty"] {
        let mut h = json!({"typ": TYP, "alg": "HS256"});
        h[extra] = json!("../../dev/null' OR 1=1");
        headers.push(h.to_string());
    }
    headers.push(format!("{} ", our_header()));
    headers.push("{}".to_owned());
    headers.push("null".to_owned());
    let t = tokens();
    for h in headers.iter().filter(|h| **h != our_header()) {
        let outcome = t.check(&signed(h, &claims), NOW);
        assert!(matches!(outcome, Err(IdentityError::TokenInvalid)), "{h}");
    }
    assert!(headers.len() > 25);
}

#[test]
fn wrong_claims_are_refused_even_with_a_good_signature() {
    let t = tokens();
    let set = |k: &str, v: Value| {
        let mut c = good_claims();
        c[k] = v;
        c.to_string()
    };
    let mut bad = Vec::new();
    for k in ["iss", "aud", "sub", "user_id", "username", "iat", "exp", "orig_iat", "jti", "epoch"]
    {
        let mut c = good_claims();
        c.as_object_mut().unwrap().remove(k);
        bad.push(c.to_string());
        bad.push(set(k, Value::Null));
        bad.push(set(k, json!({"x": 1})));
    }
    for v in
        [json!("1700003600"), json!(1_700_003_600.5), json!(-1), json!(1e308), json!(0), json!([1])]
    {
        bad.push(set("exp", v));
    }
    bad.push(set("exp", json!(NOW + 3_601)));
    bad.push(set("exp", json!(i64::MAX)));
    bad.push(set("iat", json!(i64::MIN)));
    bad.push(set("iat", json!(NOW + 600)));
    bad.push(set("orig_iat", json!(NOW + 1)));
    bad.push(set("iss", json!("somebody")));
    bad.push(set("iss", json!(["somebody"])));
    bad.push(set("aud", json!("other")));
    bad.push(set("aud", json!(["other"])));
    bad.push(set("sub", json!("4")));
    bad.push(set("admin", json!(true)));
    bad.extend(["[]", "null", "1", "\"x\"", "", "{", "{}"].map(str::to_owned));
    for c in &bad {
        assert!(t.check(&signed(&our_header(), c), NOW).is_err(), "{c}");
    }
    assert!(bad.len() > 45);
}

#[test]
fn every_flipped_bit_of_the_signature_is_noticed() {
    let t = tokens();
    let (token, _) = t.issue(&subject(), NOW, NOW).unwrap();
    let (message, sig) = token.rsplit_once('.').unwrap();
    let sig = URL_SAFE_NO_PAD.decode(sig).unwrap();
    for bit in 0..256 {
        let mut s = sig.clone();
        s[bit / 8] ^= 1 << (bit % 8);
        let forged = format!("{message}.{}", URL_SAFE_NO_PAD.encode(&s));
        assert!(matches!(t.check(&forged, NOW), Err(IdentityError::TokenInvalid)), "bit {bit}");
    }
}

#[test]
fn misshapen_texts_are_refused() {
    let t = tokens();
    let (token, _) = t.issue(&subject(), NOW, NOW).unwrap();
    let (message, sig) = token.rsplit_once('.').unwrap();
    let (_, claims) = message.split_once('.').unwrap();
    let mut bad = vec![
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        format!("{message}."),
        message.to_owned(),
        format!("{token}."),
        format!("{token}.a.b"),
        format!("{token}="),
        format!(" {token}"),
        format!("{token}\n"),
        format!("Bearer {token}"),
        format!(".{claims}.{sig}"),
        "é.é.é".to_owned(),
        "a".repeat(1 << 20),
    ];
    for n in 0..sig.len() {
        bad.push(format!("{message}.{}", &sig[..n]));
    }
    // The last character of 43 carries two unused bits: only one of four spellings is canonical.
    let last = sig.chars().last().unwrap();
    for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/".chars() {
        if c != last {
            bad.push(format!("{message}.{}{c}", &sig[..sig.len() - 1]));
        }
    }
    for b in &bad {
        assert!(matches!(t.check(b, NOW), Err(IdentityError::TokenInvalid)), "{b:.60}");
    }
}

#[test]
fn another_key_does_not_verify() {
    let (token, _) = tokens().issue(&subject(), NOW, NOW).unwrap();
    let other = Tokens::new(&SigningKey::from_bytes([8; 32])).unwrap();
    assert!(matches!(other.check(&token, NOW), Err(IdentityError::TokenInvalid)));
}

#[test]
fn after_a_rotation_the_key_before_verifies_for_the_life_of_a_token_and_signs_nothing() {
    let (first, second) = (SigningKey::from_bytes(KEY), SigningKey::from_bytes([8; 32]));
    let tokens = Tokens::new(&first).unwrap();
    // One that was asked for before the rotation, one that was not.
    let (known, _) = tokens.issue(&subject(), NOW, NOW).unwrap();
    let (unknown, _) = tokens.issue(&subject(), NOW, NOW).unwrap();
    assert!(tokens.check(&known, NOW).is_ok());
    let until = NOW + TOKEN_SECS;
    tokens.use_keys(&second, Some(&(SigningKey::from_bytes(KEY), until)));
    for token in [&known, &unknown] {
        assert!(tokens.check(token, until - 1).is_ok());
        assert!(matches!(
            tokens.check(token, until),
            Err(IdentityError::TokenInvalid | IdentityError::TokenExpired)
        ));
    }
    let (fresh, _) = tokens.issue(&subject(), NOW, NOW).unwrap();
    assert!(Tokens::new(&second).unwrap().check(&fresh, NOW).is_ok());
    assert!(matches!(
        Tokens::new(&first).unwrap().check(&fresh, NOW),
        Err(IdentityError::TokenInvalid)
    ));
    // What somebody signs with the key before after its end is nothing, however young it looks.
    let (forged, _) = Tokens::new(&first).unwrap().issue(&subject(), until, until).unwrap();
    assert!(matches!(tokens.check(&forged, until), Err(IdentityError::TokenInvalid)));
    // At once: what was genuine a moment ago is not any more.
    let (late, _) = tokens.issue(&subject(), NOW, NOW).unwrap();
    assert!(tokens.check(&late, NOW).is_ok());
    tokens.use_keys(&SigningKey::from_bytes([9; 32]), None);
    assert!(matches!(tokens.check(&late, NOW), Err(IdentityError::TokenInvalid)));
}
