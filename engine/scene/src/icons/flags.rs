//! The flags of countries by their codes.

/// The code of a flag that the page has: of a country by ISO 3166-1 (two letters or three), of the parts of the
/// United Kingdom (`gb-eng`), of the European Union and of the United Nations; also after `flag-icon-`.
pub(crate) fn flag(name: &str) -> Option<&'static str> {
    let name = name.trim().to_ascii_lowercase();
    // The style sheet's own class may stand before that of the country.
    let name = name.strip_prefix("flag-icon flag-icon-").unwrap_or(&name);
    let name = name.strip_prefix("flag-icon-").unwrap_or(name);
    if let Some(other) = OTHERS.iter().find(|o| **o == name) {
        return Some(other);
    }
    let by_three = CODES.binary_search_by(|(three, _)| (*three).cmp(name)).ok();
    by_three.map(|at| CODES[at].1).or_else(|| CODES.iter().map(|c| c.1).find(|two| *two == name))
}

/// Flags that are not of a country of the standard.
const OTHERS: [&str; 6] = ["eu", "gb-eng", "gb-nir", "gb-sct", "gb-wls", "un"];

/// ISO 3166-1: three letters, ascending, and two; and Kosovo, which has a code of the reserved ones.
#[rustfmt::skip]
static CODES: [(&str, &str); 250] = [
    ("abw", "aw"), ("afg", "af"), ("ago", "ao"), ("aia", "ai"), ("ala", "ax"), ("alb", "al"), ("and", "ad"),
    ("are", "ae"), ("arg", "ar"), ("arm", "am"), ("asm", "as"), ("ata", "aq"), ("atf", "tf"), ("atg", "ag"),
    ("aus", "au"), ("aut", "at"), ("aze", "az"), ("bdi", "bi"), ("bel", "be"), ("ben", "bj"), ("bes", "bq"),
    ("bfa", "bf"), ("bgd", "bd"), ("bgr", "bg"), ("bhr", "bh"), ("bhs", "bs"), ("bih", "ba"), ("blm", "bl"),
    ("blr", "by"), ("blz", "bz"), ("bmu", "bm"), ("bol", "bo"), ("bra", "br"), ("brb", "bb"), ("brn", "bn"),
    ("btn", "bt"), ("bvt", "bv"), ("bwa", "bw"), ("caf", "cf"), ("can", "ca"), ("cck", "cc"), ("che", "ch"),
    ("chl", "cl"), ("chn", "cn"), ("civ", "ci"), ("cmr", "cm"), ("cod", "cd"), ("cog", "cg"), ("cok", "ck"),
    ("col", "co"), ("com", "km"), ("cpv", "cv"), ("cri", "cr"), ("cub", "cu"), ("cuw", "cw"), ("cxr", "cx"),
    ("cym", "ky"), ("cyp", "cy"), ("cze", "cz"), ("deu", "de"), ("dji", "dj"), ("dma", "dm"), ("dnk", "dk"),
    ("dom", "do"), ("dza", "dz"), ("ecu", "ec"), ("egy", "eg"), ("eri", "er"), ("esh", "eh"), ("esp", "es"),
    ("est", "ee"), ("eth", "et"), ("fin", "fi"), ("fji", "fj"), ("flk", "fk"), ("fra", "fr"), ("fro", "fo"),
    ("fsm", "fm"), ("gab", "ga"), ("gbr", "gb"), ("geo", "ge"), ("ggy", "gg"), ("gha", "gh"), ("gib", "gi"),
    ("gin", "gn"), ("glp", "gp"), ("gmb", "gm"), ("gnb", "gw"), ("gnq", "gq"), ("grc", "gr"), ("grd", "gd"),
    ("grl", "gl"), ("gtm", "gt"), ("guf", "gf"), ("gum", "gu"), ("guy", "gy"), ("hkg", "hk"), ("hmd", "hm"),
    ("hnd", "hn"), ("hrv", "hr"), ("hti", "ht"), ("hun", "hu"), ("idn", "id"), ("imn", "im"), ("ind", "in"),
    ("iot", "io"), ("irl", "ie"), ("irn", "ir"), ("irq", "iq"), ("isl", "is"), ("isr", "il"), ("ita", "it"),
    ("jam", "jm"), ("jey", "je"), ("jor", "jo"), ("jpn", "jp"), ("kaz", "kz"), ("ken", "ke"), ("kgz", "kg"),
    ("khm", "kh"), ("kir", "ki"), ("kna", "kn"), ("kor", "kr"), ("kwt", "kw"), ("lao", "la"), ("lbn", "lb"),
    ("lbr", "lr"), ("lby", "ly"), ("lca", "lc"), ("lie", "li"), ("lka", "lk"), ("lso", "ls"), ("ltu", "lt"),
    ("lux", "lu"), ("lva", "lv"), ("mac", "mo"), ("maf", "mf"), ("mar", "ma"), ("mco", "mc"), ("mda", "md"),
    ("mdg", "mg"), ("mdv", "mv"), ("mex", "mx"), ("mhl", "mh"), ("mkd", "mk"), ("mli", "ml"), ("mlt", "mt"),
    ("mmr", "mm"), ("mne", "me"), ("mng", "mn"), ("mnp", "mp"), ("moz", "mz"), ("mrt", "mr"), ("msr", "ms"),
    ("mtq", "mq"), ("mus", "mu"), ("mwi", "mw"), ("mys", "my"), ("myt", "yt"), ("nam", "na"), ("ncl", "nc"),
    ("ner", "ne"), ("nfk", "nf"), ("nga", "ng"), ("nic", "ni"), ("niu", "nu"), ("nld", "nl"), ("nor", "no"),
    ("npl", "np"), ("nru", "nr"), ("nzl", "nz"), ("omn", "om"), ("pak", "pk"), ("pan", "pa"), ("pcn", "pn"),
    ("per", "pe"), ("phl", "ph"), ("plw", "pw"), ("png", "pg"), ("pol", "pl"), ("pri", "pr"), ("prk", "kp"),
    ("prt", "pt"), ("pry", "py"), ("pse", "ps"), ("pyf", "pf"), ("qat", "qa"), ("reu", "re"), ("rou", "ro"),
    ("rus", "ru"), ("rwa", "rw"), ("sau", "sa"), ("sdn", "sd"), ("sen", "sn"), ("sgp", "sg"), ("sgs", "gs"),
    ("shn", "sh"), ("sjm", "sj"), ("slb", "sb"), ("sle", "sl"), ("slv", "sv"), ("smr", "sm"), ("som", "so"),
    ("spm", "pm"), ("srb", "rs"), ("ssd", "ss"), ("stp", "st"), ("sur", "sr"), ("svk", "sk"), ("svn", "si"),
    ("swe", "se"), ("swz", "sz"), ("sxm", "sx"), ("syc", "sc"), ("syr", "sy"), ("tca", "tc"), ("tcd", "td"),
    ("tgo", "tg"), ("tha", "th"), ("tjk", "tj"), ("tkl", "tk"), ("tkm", "tm"), ("tls", "tl"), ("ton", "to"),
    ("tto", "tt"), ("tun", "tn"), ("tur", "tr"), ("tuv", "tv"), ("twn", "tw"), ("tza", "tz"), ("uga", "ug"),
    ("ukr", "ua"), ("umi", "um"), ("ury", "uy"), ("usa", "us"), ("uzb", "uz"), ("vat", "va"), ("vct", "vc"),
    ("ven", "ve"), ("vgb", "vg"), ("vir", "vi"), ("vnm", "vn"), ("vut", "vu"), ("wlf", "wf"), ("wsm", "ws"),
    ("xkk", "xk"), ("yem", "ye"), ("zaf", "za"), ("zmb", "zm"), ("zwe", "zw"),
];

/// All flags that the page must have.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    CODES.iter().map(|c| c.1).chain(OTHERS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_two_and_three_letters_name_the_same_flag() {
        assert!(CODES.is_sorted_by(|a, b| a.0 < b.0));
        for name in ["DE", "de", "DEU", "deu", "flag-icon-de", "flag-icon flag-icon-de", " de "] {
            assert_eq!(flag(name), Some("de"), "{name:?}");
        }
        assert_eq!(flag("flag-icon-gb-sct"), Some("gb-sct"));
        assert_eq!(flag("EU"), Some("eu"));
        for none in ["", "zz", "germany", "flag-icon-"] {
            assert_eq!(flag(none), None, "{none:?}");
        }
    }

    #[test]
    fn page_and_pictures_have_the_same_flags() {
        let file = std::fs::read_to_string("../raster/flags/flags.json").unwrap();
        let drawn: std::collections::BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&file).unwrap();
        let codes: std::collections::BTreeSet<&str> = all().collect();
        assert_eq!(
            drawn.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>(),
            codes
        );
    }
}
