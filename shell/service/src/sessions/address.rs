//! The parameters of a page's address: which there are, and what is said of those that do nothing.
//!
//! Reading stays lenient, because clients send whatever they were given and the page must open. What is passed
//! over is said in the page and to agents that describe the session.

use std::collections::HashMap;

use graphlume_engine::LayoutSettings;
use graphlume_types::limits::NOTICES_MAX;
use graphlume_types::{Notice, note};

/// What the value of a parameter may be.
enum Kind {
    Number(f64, f64),
    Flag,
    Word(&'static [&'static str]),
    /// Anything, or checked where it is used.
    Any,
    /// Known to clients, and nothing that the page shows: said when it asks for something.
    NotShown,
}

const PARAMETERS: &[(&str, Kind)] = &[
    ("dataset", Kind::Any),
    ("session", Kind::Any),
    ("type", Kind::Any),
    ("viztoken", Kind::Any),
    ("usertag", Kind::Any),
    ("workbook", Kind::Any),
    ("key", Kind::Any),
    ("next", Kind::Any),
    ("test", Kind::Any),
    ("splashAfter", Kind::Any),
    ("left", Kind::Number(f64::MIN, f64::MAX)),
    ("right", Kind::Number(f64::MIN, f64::MAX)),
    ("top", Kind::Number(f64::MIN, f64::MAX)),
    ("bottom", Kind::Number(f64::MIN, f64::MAX)),
    ("pointSize", Kind::Number(0.1, 10.0)),
    ("pointOpacity", Kind::Number(0.0, 1.0)),
    ("pointStrokeWidth", Kind::Number(0.0, 5.0)),
    ("edgeOpacity", Kind::Number(0.0, 1.0)),
    ("edgeCurvature", Kind::Number(0.0, 1.0)),
    ("showArrows", Kind::Flag),
    ("showLabels", Kind::Flag),
    ("showLabelOnHover", Kind::Flag),
    ("showPointsOfInterest", Kind::Flag),
    ("showPointsOfInterestLabel", Kind::Flag),
    ("pointsOfInterestMax", Kind::Number(0.0, 100.0)),
    ("shortenLabels", Kind::Flag),
    ("labelOpacity", Kind::Number(0.0, 1.0)),
    ("labelColor", Kind::Any),
    ("labelBackground", Kind::Any),
    ("neighborhoodHighlight", Kind::Word(&["both", "incoming", "outgoing", "node", "none"])),
    ("neighborhoodHighlightHops", Kind::Number(1.0, 5.0)),
    ("bg", Kind::Any),
    ("theme", Kind::Word(&["dark", "light", "auto"])),
    ("menu", Kind::Flag),
    ("info", Kind::Flag),
    ("showCollections", Kind::Flag),
    ("collections", Kind::Any),
    ("collectionsGlobalNodeColor", Kind::Any),
    ("collectionsGlobalEdgeColor", Kind::Any),
    ("pageTitle", Kind::Any),
    ("favicon", Kind::Any),
    ("logoUrl", Kind::Any),
    ("logoPosition", Kind::Any),
    ("logoMaxHeight", Kind::Number(1.0, 1000.0)),
    ("logoMaxWidth", Kind::Number(1.0, 1000.0)),
    ("logoAutoInvert", Kind::Flag),
    ("showHistograms", Kind::Flag),
    ("showInspector", Kind::NotShown),
    ("showActions", Kind::NotShown),
    ("showLabelPropertiesOnHover", Kind::NotShown),
    ("controls", Kind::NotShown),
];

const YES: [&str; 4] = ["true", "1", "yes", "on"];
const NO: [&str; 4] = ["false", "0", "no", "off"];
/// Characters of a name or value that a notice shows.
const SHOWN_CHARS: usize = 64;

/// What is said of the parameters `query` that the page does not obey. Of a repeated name the last counts.
/// Any client may send an address of thousands of parameters: each is looked at once, and no more are compared
/// with the known names than there are notices.
pub(crate) fn notices(query: &[(String, String)]) -> Vec<Notice> {
    let last: HashMap<&str, usize> =
        query.iter().enumerate().map(|(i, (name, _))| (name.as_str(), i)).collect();
    let mut out = Vec::new();
    for (i, (name, value)) in query.iter().enumerate() {
        if out.len() >= NOTICES_MAX {
            break;
        }
        if last.get(name.as_str()) != Some(&i) {
            continue;
        }
        if let Some(text) = objection(name, value.trim()) {
            note(&mut out, Notice::new("parameter-ignored", text));
        }
    }
    out
}

/// Why the parameter does nothing; `None` for one that is obeyed, checked elsewhere or not there.
fn objection(name: &str, value: &str) -> Option<String> {
    let shown: String = name.chars().take(SHOWN_CHARS).collect();
    let Some((_, kind)) = PARAMETERS.iter().find(|(known, _)| *known == name) else {
        return (!LayoutSettings::is_knob(name)).then(|| unknown(&shown));
    };
    let word = value.to_ascii_lowercase();
    // As Python and JavaScript write what is not there; `none` can be a word.
    if matches!(value, "" | "None" | "null" | "undefined" | "nan" | "NaN") {
        return None;
    }
    let expected = match kind {
        Kind::Any => return None,
        Kind::NotShown if NO.contains(&word.as_str()) || word == "none" => return None,
        Kind::NotShown => {
            return Some(format!(
                "{shown} of the page's address is known, but nothing of it is shown yet"
            ));
        }
        Kind::Flag if YES.contains(&word.as_str()) || NO.contains(&word.as_str()) => return None,
        Kind::Flag => "true or false".to_owned(),
        Kind::Word(words) if words.contains(&word.as_str()) => return None,
        Kind::Word(words) => words.join(", "),
        Kind::Number(low, high) => match value.parse::<f64>() {
            Ok(x) if (*low..=*high).contains(&x) => return None,
            Ok(x) if x.is_finite() => {
                let nearest = if x < *low { low } else { high };
                return Some(format!(
                    "{shown}={x} of the page's address is outside {low} to {high}: {nearest} is used"
                ));
            }
            _ => "a number".to_owned(),
        },
    };
    let value: String = value.chars().take(SHOWN_CHARS).collect();
    Some(format!(
        "{shown}={value:?} of the page's address is not possible, expected {expected}: the default is used"
    ))
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> =
        PARAMETERS.iter().map(|(n, _)| *n).chain(LayoutSettings::knob_names()).collect();
    let hint = match graphlume_expr::nearest(name, &known) {
        Some(near) => format!(", did you mean {near}?"),
        None => String::new(),
    };
    format!("{name:?} of the page's address is not known and does nothing{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(query: &[(&str, &str)]) -> Vec<String> {
        let pairs: Vec<(String, String)> =
            query.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        notices(&pairs).into_iter().map(|n| n.text).collect()
    }

    #[test]
    fn what_the_address_asks_in_vain_is_said() {
        let of = |name, value| said(&[(name, value)]).pop().unwrap_or_default();
        assert!(
            of("plai", "0").ends_with("does nothing, did you mean play?"),
            "{}",
            of("plai", "0")
        );
        assert!(of("strongGravitty", "true").contains("did you mean strongGravity?"));
        assert!(of("pointSize", "big").contains("expected a number"));
        assert!(of("pointOpacity", "7").contains("outside 0 to 1: 1 is used"));
        assert!(of("menu", "perhaps").contains("true or false"));
        assert!(of("neighborhoodHighlight", "all").contains("both, incoming"));
        assert!(of("showInspector", "True").contains("nothing of it is shown yet"));
        assert_eq!(said(&[("menu", "perhaps"), ("menu", "1")]), Vec::<String>::new());
    }

    #[test]
    fn an_address_of_thousands_of_parameters_gets_as_many_notices_as_there_may_be() {
        let many: Vec<(String, String)> =
            (0..4_000).map(|i| (format!("unknown{}", i % 2_000), "1".to_owned())).collect();
        let said = notices(&many);
        assert_eq!(said.len(), NOTICES_MAX);
        assert!(said[0].text.starts_with("\"unknown0\""), "{}", said[0].text);
    }

    #[test]
    fn what_clients_send_is_no_complaint() {
        let sent = [
            ("dataset", "x"),
            ("type", "arrow"),
            ("viztoken", "1"),
            ("usertag", "1-pygraphistry-0.61.2"),
            ("splashAfter", "1700000000"),
            ("info", "true"),
            ("play", "0"),
            ("lockedR", "True"),
            ("linLog", "None"),
            ("bg", "#E2E2E2"),
            ("pointSize", "None"),
            ("neighborhoodHighlight", "none"),
            ("edgeInfluence", "2.0"),
            ("showHistograms", "False"),
            ("showInspector", "False"),
        ];
        assert_eq!(said(&sent), Vec::<String>::new());
    }
}
