//! Colours written as CSS text.

/// Red, green, blue, opacity.
pub(crate) type Rgba = [u8; 4];

/// Reads a colour: `#rgb`, `#rgba`, `#rrggbb`, `#rrggbbaa`, six or eight bare hexadecimal digits, `rgb()`,
/// `rgba()`, `hsl()`, `hsla()`, `transparent`, or one of the 148 names of CSS Color Level 4.
pub(crate) fn parse(text: &str) -> Option<Rgba> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix('#') {
        return hex(digits, &[3, 4, 6, 8]);
    }
    // Bare letters are more likely a word than a colour, so one digit is asked for.
    if text.bytes().any(|b| b.is_ascii_digit())
        && let Some(rgba) = hex(text, &[6, 8])
    {
        return Some(rgba);
    }
    if text.len() > 64 {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    if let Some((function, rest)) = lower.split_once('(') {
        let inner = rest.strip_suffix(')')?;
        let split = |c: char| c.is_whitespace() || matches!(c, ',' | '/');
        let parts: Vec<&str> = inner.split(split).filter(|p| !p.is_empty()).collect();
        return match function.trim() {
            "rgb" | "rgba" => rgb(&parts),
            "hsl" | "hsla" => hsl(&parts),
            _ => None,
        };
    }
    named(&lower)
}

/// `#rrggbb`, with the opacity only when it is not full.
pub(crate) fn to_hex([r, g, b, a]: Rgba) -> String {
    if a == u8::MAX {
        format!("#{r:02x}{g:02x}{b:02x}")
    } else {
        format!("#{r:02x}{g:02x}{b:02x}{a:02x}")
    }
}

fn hex(digits: &str, lengths: &[usize]) -> Option<Rgba> {
    if !lengths.contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let nibble = |shift: u32| ((value >> shift & 15) * 17) as u8;
    let [a, b, c, d] = value.to_be_bytes();
    Some(match digits.len() {
        3 => [nibble(8), nibble(4), nibble(0), 255],
        4 => [nibble(12), nibble(8), nibble(4), nibble(0)],
        6 => [b, c, d, 255],
        _ => [a, b, c, d],
    })
}

/// A number or a percentage of `whole`.
fn amount(text: &str, whole: f64) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0 * whole,
        None => text.parse().ok()?,
    };
    Some(value).filter(|v: &f64| v.is_finite())
}

fn byte(v: f64) -> u8 {
    (v.clamp(0.0, 255.0) + 0.5) as u8
}

fn opacity(parts: &[&str]) -> Option<u8> {
    parts.get(3).map_or(Some(255), |a| amount(a, 1.0).map(|v| byte(v * 255.0)))
}

fn rgb(parts: &[&str]) -> Option<Rgba> {
    let [r, g, b, rest @ ..] = parts else { return None };
    let channel = |t: &&str| amount(t, 255.0).map(byte);
    (rest.len() < 2).then_some([channel(r)?, channel(g)?, channel(b)?, opacity(parts)?])
}

fn hsl(parts: &[&str]) -> Option<Rgba> {
    let [h, s, l, rest @ ..] = parts else { return None };
    let h = amount(h.trim_end_matches("deg"), 360.0)?.rem_euclid(360.0);
    let share = |t: &str| Some((amount(t.strip_suffix('%')?, 1.0)? / 100.0).clamp(0.0, 1.0));
    let (s, l) = (share(s)?, share(l)?);
    // The closed form of CSS Color Level 4, section 7.1.
    let channel = |n: f64| {
        let k = (n + h / 30.0) % 12.0;
        byte((l - s * l.min(1.0 - l) * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0)) * 255.0)
    };
    (rest.len() < 2).then_some([channel(0.0), channel(8.0), channel(4.0), opacity(parts)?])
}

fn named(name: &str) -> Option<Rgba> {
    if name == "transparent" {
        return Some([0; 4]);
    }
    let at = NAMES.binary_search_by(|(n, _)| (*n).cmp(name)).ok()?;
    let [_, r, g, b] = NAMES[at].1.to_be_bytes();
    Some([r, g, b, 255])
}

/// Between `a` (0) and `b` (1).
pub(crate) fn mix(a: Rgba, b: Rgba, t: f64) -> Rgba {
    std::array::from_fn(|k| byte(f64::from(a[k]) + (f64::from(b[k]) - f64::from(a[k])) * t))
}

/// The colour at `t` in 0..=1 on evenly spaced stops.
pub(crate) fn ramp(stops: &[Rgba], t: f64) -> Rgba {
    let Some(last) = stops.len().checked_sub(1) else { return [0; 4] };
    let at = t.clamp(0.0, 1.0) * last as f64;
    let i = (at as usize).min(last.saturating_sub(1));
    mix(stops[i], stops[(i + 1).min(last)], at - i as f64)
}

/// The names of CSS Color Level 4, ascending.
#[rustfmt::skip]
const NAMES: [(&str, u32); 148] = [
    ("aliceblue", 0xf0f8ff), ("antiquewhite", 0xfaebd7), ("aqua", 0x00ffff),
    ("aquamarine", 0x7fffd4), ("azure", 0xf0ffff), ("beige", 0xf5f5dc), ("bisque", 0xffe4c4),
    ("black", 0x000000), ("blanchedalmond", 0xffebcd), ("blue", 0x0000ff), ("blueviolet", 0x8a2be2),
    ("brown", 0xa52a2a), ("burlywood", 0xdeb887), ("cadetblue", 0x5f9ea0), ("chartreuse", 0x7fff00),
    ("chocolate", 0xd2691e), ("coral", 0xff7f50), ("cornflowerblue", 0x6495ed),
    ("cornsilk", 0xfff8dc), ("crimson", 0xdc143c), ("cyan", 0x00ffff), ("darkblue", 0x00008b),
    ("darkcyan", 0x008b8b), ("darkgoldenrod", 0xb8860b), ("darkgray", 0xa9a9a9),
    ("darkgreen", 0x006400), ("darkgrey", 0xa9a9a9), ("darkkhaki", 0xbdb76b),
    ("darkmagenta", 0x8b008b), ("darkolivegreen", 0x556b2f), ("darkorange", 0xff8c00),
    ("darkorchid", 0x9932cc), ("darkred", 0x8b0000), ("darksalmon", 0xe9967a),
    ("darkseagreen", 0x8fbc8f), ("darkslateblue", 0x483d8b), ("darkslategray", 0x2f4f4f),
    ("darkslategrey", 0x2f4f4f), ("darkturquoise", 0x00ced1), ("darkviolet", 0x9400d3),
    ("deeppink", 0xff1493), ("deepskyblue", 0x00bfff), ("dimgray", 0x696969), ("dimgrey", 0x696969),
    ("dodgerblue", 0x1e90ff), ("firebrick", 0xb22222), ("floralwhite", 0xfffaf0),
    ("forestgreen", 0x228b22), ("fuchsia", 0xff00ff), ("gainsboro", 0xdcdcdc),
    ("ghostwhite", 0xf8f8ff), ("gold", 0xffd700), ("goldenrod", 0xdaa520), ("gray", 0x808080),
    ("green", 0x008000), ("greenyellow", 0xadff2f), ("grey", 0x808080), ("honeydew", 0xf0fff0),
    ("hotpink", 0xff69b4), ("indianred", 0xcd5c5c), ("indigo", 0x4b0082), ("ivory", 0xfffff0),
    ("khaki", 0xf0e68c), ("lavender", 0xe6e6fa), ("lavenderblush", 0xfff0f5),
    ("lawngreen", 0x7cfc00), ("lemonchiffon", 0xfffacd), ("lightblue", 0xadd8e6),
    ("lightcoral", 0xf08080), ("lightcyan", 0xe0ffff), ("lightgoldenrodyellow", 0xfafad2),
    ("lightgray", 0xd3d3d3), ("lightgreen", 0x90ee90), ("lightgrey", 0xd3d3d3),
    ("lightpink", 0xffb6c1), ("lightsalmon", 0xffa07a), ("lightseagreen", 0x20b2aa),
    ("lightskyblue", 0x87cefa), ("lightslategray", 0x778899), ("lightslategrey", 0x778899),
    ("lightsteelblue", 0xb0c4de), ("lightyellow", 0xffffe0), ("lime", 0x00ff00),
    ("limegreen", 0x32cd32), ("linen", 0xfaf0e6), ("magenta", 0xff00ff), ("maroon", 0x800000),
    ("mediumaquamarine", 0x66cdaa), ("mediumblue", 0x0000cd), ("mediumorchid", 0xba55d3),
    ("mediumpurple", 0x9370db), ("mediumseagreen", 0x3cb371), ("mediumslateblue", 0x7b68ee),
    ("mediumspringgreen", 0x00fa9a), ("mediumturquoise", 0x48d1cc), ("mediumvioletred", 0xc71585),
    ("midnightblue", 0x191970), ("mintcream", 0xf5fffa), ("mistyrose", 0xffe4e1),
    ("moccasin", 0xffe4b5), ("navajowhite", 0xffdead), ("navy", 0x000080), ("oldlace", 0xfdf5e6),
    ("olive", 0x808000), ("olivedrab", 0x6b8e23), ("orange", 0xffa500), ("orangered", 0xff4500),
    ("orchid", 0xda70d6), ("palegoldenrod", 0xeee8aa), ("palegreen", 0x98fb98),
    ("paleturquoise", 0xafeeee), ("palevioletred", 0xdb7093), ("papayawhip", 0xffefd5),
    ("peachpuff", 0xffdab9), ("peru", 0xcd853f), ("pink", 0xffc0cb), ("plum", 0xdda0dd),
    ("powderblue", 0xb0e0e6), ("purple", 0x800080), ("rebeccapurple", 0x663399), ("red", 0xff0000),
    ("rosybrown", 0xbc8f8f), ("royalblue", 0x4169e1), ("saddlebrown", 0x8b4513),
    ("salmon", 0xfa8072), ("sandybrown", 0xf4a460), ("seagreen", 0x2e8b57), ("seashell", 0xfff5ee),
    ("sienna", 0xa0522d), ("silver", 0xc0c0c0), ("skyblue", 0x87ceeb), ("slateblue", 0x6a5acd),
    ("slategray", 0x708090), ("slategrey", 0x708090), ("snow", 0xfffafa), ("springgreen", 0x00ff7f),
    ("steelblue", 0x4682b4), ("tan", 0xd2b48c), ("teal", 0x008080), ("thistle", 0xd8bfd8),
    ("tomato", 0xff6347), ("turquoise", 0x40e0d0), ("violet", 0xee82ee), ("wheat", 0xf5deb3),
    ("white", 0xffffff), ("whitesmoke", 0xf5f5f5), ("yellow", 0xffff00), ("yellowgreen", 0x9acd32),
];

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_colour_is_read() {
        for (text, want) in [
            ("#f00", [255, 0, 0, 255]),
            ("#0f08", [0, 255, 0, 136]),
            ("#1F78B4", [31, 120, 180, 255]),
            (" #1f78b480 ", [31, 120, 180, 128]),
            ("1F78B4", [31, 120, 180, 255]),
            ("rgb(1, 2, 3)", [1, 2, 3, 255]),
            ("RGBA(100%,0%,50%,0.5)", [255, 0, 128, 128]),
            ("rgb(1 2 3 / 50%)", [1, 2, 3, 128]),
            ("rgb(300,-5,0)", [255, 0, 0, 255]),
            ("hsl(120, 100%, 50%)", [0, 255, 0, 255]),
            ("hsl(-120deg 100% 25%)", [0, 0, 128, 255]),
            ("hsla(0,0%,100%,0)", [255, 255, 255, 0]),
            ("Tomato", [255, 99, 71, 255]),
            ("rebeccapurple", [102, 51, 153, 255]),
            ("transparent", [0, 0, 0, 0]),
        ] {
            assert_eq!(parse(text), Some(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_colour_is_refused() {
        for text in [
            "",
            "#",
            "#12",
            "#12345",
            "#ggg",
            "decade",
            "facade",
            "12345",
            "bank",
            "rgb(1,2)",
            "rgb(1,2,3",
            "rgb(a,b,c)",
            "hsl(1,2,3)",
            "rgb(1,2,3,4,5)",
            "rgb(NaN,0,0)",
            "cmyk(1,2,3)",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"red".repeat(1000)), None);
    }

    #[test]
    fn the_names_are_sorted_so_that_each_is_found() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(NAMES.iter().all(|(n, _)| parse(n).is_some()));
    }

    #[test]
    fn ramps_pass_through_their_stops() {
        let stops = [[0, 0, 0, 255], [100, 200, 0, 255], [255, 255, 255, 255]];
        assert_eq!(ramp(&stops, 0.0), stops[0]);
        assert_eq!(ramp(&stops, 0.5), stops[1]);
        assert_eq!(ramp(&stops, 1.0), stops[2]);
        assert_eq!(ramp(&stops, 0.25), [50, 100, 0, 255]);
        assert_eq!(ramp(&stops, 9.0), stops[2]);
        assert_eq!(ramp(&stops[..1], 0.7), stops[0]);
        assert_eq!(ramp(&[], 0.7), [0; 4]);
    }

    #[test]
    fn text_and_colour_are_each_others_inverse() {
        for rgba in [[0, 0, 0, 255], [1, 2, 3, 4], [255, 254, 253, 0]] {
            assert_eq!(parse(&to_hex(rgba)), Some(rgba));
        }
    }
}
