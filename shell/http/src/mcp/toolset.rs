//! Toolsets: a client is shown the tools of the specification, or all.

use http::HeaderMap;
use http::header::HeaderName;

use super::error::{Kind, Refusal};

/// Header by which a client names what it wants to be shown at `/mcp`.
const TOOLSETS: HeaderName = HeaderName::from_static("x-mcp-toolsets");

/// What `tools/list` gives. Every tool can be called, whether it is listed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toolset {
    /// The tools of the specification.
    Default,
    /// These, and all further ones.
    All,
}

impl Toolset {
    /// Every toolset, with its name and the address that shows it.
    pub(super) const EACH: [(Self, &'static str, &'static str); 2] =
        [(Self::Default, "default", "/mcp"), (Self::All, "all", "/mcp/x/all")];

    fn of_name(name: &str) -> Option<Self> {
        let found = Self::EACH.iter().find(|(_, own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(set, ..)| *set)
    }

    /// What a request asks for: by its address, `part` being what follows `/mcp/x/`, and by its headers, which name one or
    /// several. The largest that is named is shown.
    pub(super) fn asked(part: &str, headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut set = Self::Default;
        let mut add = |name: &str, at: &str| -> Result<(), Refusal> {
            if !name.is_empty() {
                let named = Self::of_name(name).ok_or_else(|| unknown(name, at))?;
                set = if named == Self::All { named } else { set };
            }
            Ok(())
        };
        add(part, "the address /mcp/x/")?;
        for value in headers.get_all(&TOOLSETS) {
            let text = String::from_utf8_lossy(value.as_bytes());
            text.split(',').try_for_each(|name| add(name.trim(), "the header X-MCP-Toolsets"))?;
        }
        Ok(set)
    }
}

fn unknown(name: &str, source: &str) -> Refusal {
    let shown: String = name.chars().take(40).collect();
    let text = format!(
        "{source} names the toolset {shown:?}, which does not exist; there are \"default\", the tools of \
         the specification, at /mcp, and \"all\", at /mcp/x/all or with the header X-MCP-Toolsets: all"
    );
    Refusal::new(Kind::Params, text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn the_largest_toolset_that_is_named_is_shown() {
        let asked = |part: &str, told: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in told {
                headers.append(TOOLSETS, HeaderValue::from_str(value).unwrap());
            }
            Toolset::asked(part, &headers).map_err(|refusal| {
                assert_eq!(refusal.kind, Kind::Params);
                refusal.message
            })
        };
        for (part, told) in [
            ("", &[] as &[&str]),
            ("", &[""]),
            ("", &["default"]),
            ("default", &[]),
            ("", &[" , "]),
        ] {
            assert_eq!(asked(part, told), Ok(Toolset::Default), "{part} {told:?}");
        }
        for (part, told) in [
            ("all", &[] as &[&str]),
            ("", &["all"]),
            ("", &["ALL"]),
            ("", &["default, all"]),
            ("", &["default", "all"]),
            ("all", &["default"]),
        ] {
            assert_eq!(asked(part, told), Ok(Toolset::All), "{part} {told:?}");
        }
        for (part, told, named) in [
            ("nosuch", &[] as &[&str], "the address /mcp/x/ names the toolset \"nosuch\""),
            ("", &["all, graphs"], "the header X-MCP-Toolsets names the toolset \"graphs\""),
            ("all", &["*"], "the header X-MCP-Toolsets names the toolset \"*\""),
        ] {
            let refusal = asked(part, told).unwrap_err();
            assert!(refusal.starts_with(named) && refusal.contains("/mcp/x/all"), "{refusal}");
        }
    }
}
