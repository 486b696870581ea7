//! The look of an icon, as clients write it: its entries, and colours as filters and blend modes of CSS make them.

use serde_json::Value;

/// One of the things that a layer shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Entry {
    pub(crate) sign: Option<Sign>,
    pub(crate) color: Option<[f32; 4]>,
    pub(crate) back: Option<[f32; 4]>,
    pub(crate) border: Option<[f32; 4]>,
    /// Whether it is, or lies on, a picture, which only the page draws.
    pub(crate) has_image: bool,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sign {
    /// A character of the icon font.
    Glyph(char),
    Flag(String),
    Text(String),
}

/// What all entries of a layer share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    pub(crate) entries: Vec<Entry>,
    /// Whether it is cut to a disc.
    pub(crate) is_round: bool,
    pub(crate) blend: Option<String>,
    /// The radius of a badge at most, in pixels.
    pub(crate) radius_max: Option<f32>,
    /// Width in pixels, and its stroke.
    pub(crate) border: Option<(f32, String)>,
    pub(crate) style: Filters,
    pub(crate) back_style: Filters,
    pub(crate) front_style: Filters,
}

/// Filters of CSS with their numbers, in their order.
pub(crate) type Filters = Vec<(String, f32)>;

/// A colour as the server writes it: six or eight digits behind a `#`.
fn color(value: &Value) -> Option<[f32; 4]> {
    let digits = value.as_str()?.strip_prefix('#')?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    let rgba = match digits.len() {
        6 => number << 8 | 255,
        8 => number,
        _ => return None,
    };
    Some(rgba.to_be_bytes().map(|c| f32::from(c) / 255.0))
}

fn entry(value: &Value) -> Entry {
    let text = |name: &str| value[name].as_str().filter(|t| !t.is_empty()).map(str::to_owned);
    let glyph = text("glyph").and_then(|t| t.chars().next()).map(Sign::Glyph);
    let sign =
        glyph.or_else(|| text("flag").map(Sign::Flag)).or_else(|| text("text").map(Sign::Text));
    Entry {
        sign,
        color: color(&value["color"]),
        back: color(&value["bg"]),
        border: color(&value["border_color"]),
        has_image: ["image", "bg_image"].into_iter().any(|name| text(name).is_some()),
    }
}

impl Look {
    /// Reads what a scene says of a layer (`IconLayer::look`).
    pub(crate) fn read(look: &Value) -> Self {
        let filters = |name: &str| -> Filters {
            let all = look[name].as_object().into_iter().flatten();
            all.filter_map(|(k, v)| Some((k.clone(), v.as_f64()? as f32))).collect()
        };
        let border = look["border"].as_object().and_then(|border| {
            let width = border.get("width")?.as_f64()? as f32;
            let stroke = border.get("stroke")?.as_str()?;
            (width > 0.0 && stroke != "none").then(|| (width, stroke.to_owned()))
        });
        Self {
            entries: look["list"].as_array().into_iter().flatten().map(entry).collect(),
            is_round: look["shape"].as_str() != Some("none"),
            radius_max: look["max"].as_f64().map(|px| px as f32 / 2.0),
            blend: look["blend"].as_str().map(str::to_owned),
            border,
            style: filters("style"),
            back_style: filters("bg_style"),
            front_style: filters("fg_style"),
        }
    }

    /// Whether its signs have to be mixed with what is below or changed.
    pub(crate) fn is_painted(&self) -> bool {
        self.blend.is_some() || !self.style.is_empty() || !self.front_style.is_empty()
    }
}

const GREY: [f32; 3] = [0.2126, 0.7152, 0.0722];

/// A colour behind filters, by the matrices of CSS (W3C Filter Effects 1), each with its opacity.
pub(crate) fn filtered(color: [f32; 4], filters: &[(String, f32)]) -> [f32; 4] {
    filters.iter().fold(color, |[r, g, b, a], (name, by)| {
        let rgb = [r, g, b];
        let grey: f32 = (0..3).map(|c| GREY[c] * rgb[c]).sum();
        let toward = |share: f32| rgb.map(|c| grey + (c - grey) * share);
        let [r, g, b] = match name.as_str() {
            "grayscale" => toward(1.0 - by.clamp(0.0, 1.0)),
            "saturate" => toward(by.max(0.0)),
            "brightness" => rgb.map(|c| c * by.max(0.0)),
            "contrast" => rgb.map(|c| (c - 0.5) * by.max(0.0) + 0.5),
            "hueRotate" => turned(rgb, by.to_radians()),
            _ => rgb,
        }
        .map(|c| c.clamp(0.0, 1.0));
        let a = if name == "opacity" { a * by.clamp(0.0, 1.0) } else { a };
        [r, g, b, a]
    })
}

/// A colour with its hue turned (`feColorMatrix` of the type `hueRotate`).
fn turned([r, g, b]: [f32; 3], angle: f32) -> [f32; 3] {
    let (s, c) = angle.sin_cos();
    [
        (0.213 + c * 0.787 - s * 0.213) * r
            + (0.715 - c * 0.715 - s * 0.715) * g
            + (0.072 - c * 0.072 + s * 0.928) * b,
        (0.213 - c * 0.213 + s * 0.143) * r
            + (0.715 + c * 0.285 + s * 0.140) * g
            + (0.072 - c * 0.072 - s * 0.283) * b,
        (0.213 - c * 0.213 - s * 0.787) * r
            + (0.715 - c * 0.715 + s * 0.715) * g
            + (0.072 + c * 0.928 + s * 0.072) * b,
    ]
}

/// A colour on an opaque one by a blend mode (W3C Compositing and Blending 1).
pub(crate) fn blended(below: [f32; 3], [r, g, b, a]: [f32; 4], mode: &str) -> [f32; 3] {
    let over = [r, g, b];
    let each = |f: &dyn Fn(f32, f32) -> f32| [0, 1, 2].map(|c| f(below[c], over[c]));
    let mixed = match mode {
        "multiply" => each(&|b, s| b * s),
        "screen" => each(&|b, s| b + s - b * s),
        "overlay" => {
            each(&|b, s| if b <= 0.5 { 2.0 * b * s } else { 1.0 - 2.0 * (1.0 - b) * (1.0 - s) })
        }
        "darken" => each(&f32::min),
        "lighten" => each(&f32::max),
        "difference" => each(&|b, s| (b - s).abs()),
        "exclusion" => each(&|b, s| b + s - 2.0 * b * s),
        "color-dodge" => each(&|b, s| match (b, s) {
            (b, _) if b <= 0.0 => 0.0,
            (_, s) if s >= 1.0 => 1.0,
            (b, s) => (b / (1.0 - s)).min(1.0),
        }),
        "color-burn" => each(&|b, s| match (b, s) {
            (b, _) if b >= 1.0 => 1.0,
            (_, s) if s <= 0.0 => 0.0,
            (b, s) => 1.0 - ((1.0 - b) / s).min(1.0),
        }),
        "hue" => lit(saturated(over, spread(below)), light(below)),
        "saturation" => lit(saturated(below, spread(over)), light(below)),
        "color" => lit(over, light(below)),
        "luminosity" => lit(below, light(over)),
        _ => over,
    };
    [0, 1, 2].map(|c| (below[c] + (mixed[c] - below[c]) * a).clamp(0.0, 1.0))
}

fn light([r, g, b]: [f32; 3]) -> f32 {
    0.3 * r + 0.59 * g + 0.11 * b
}

fn ends(c: [f32; 3]) -> [f32; 2] {
    [c[0].min(c[1]).min(c[2]), c[0].max(c[1]).max(c[2])]
}

fn spread(c: [f32; 3]) -> f32 {
    let [low, high] = ends(c);
    high - low
}

/// A colour with another saturation.
fn saturated(c: [f32; 3], to: f32) -> [f32; 3] {
    let [low, high] = ends(c);
    if high > low { c.map(|x| (x - low) * to / (high - low)) } else { [0.0; 3] }
}

/// A colour with another luminosity, brought back to what can be shown.
fn lit(c: [f32; 3], to: f32) -> [f32; 3] {
    let by = to - light(c);
    let c = c.map(|x| x + by);
    let (l, [low, high]) = (light(c), ends(c));
    let c = if low < 0.0 { c.map(|x| l + (x - l) * l / (l - low)) } else { c };
    if high > 1.0 { c.map(|x| l + (x - l) * (1.0 - l) / (high - l)) } else { c }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn near(a: &[f32], b: &[f32]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 5e-3)
    }

    #[test]
    fn layers_are_read_as_scenes_write_them() {
        let look = Look::read(&json!({
            "title": "kind", "shape": "none", "blend": "multiply", "border": {"width": 2, "stroke": "dashed"},
            "style": {"grayscale": 1}, "list": [
                {"glyph": "\u{f000}", "color": "#ff0000"}, {"flag": "de", "bg": "#00ff0080"},
                {"text": "ab"}, {"image": "https://a/b.png"}, {"bg": "#zz"}],
        }));
        let signs: Vec<_> = look.entries.iter().map(|e| e.sign.clone()).collect();
        assert_eq!(
            signs[..3],
            [
                Some(Sign::Glyph('\u{f000}')),
                Some(Sign::Flag("de".to_owned())),
                Some(Sign::Text("ab".to_owned()))
            ]
        );
        assert!(look.entries[3].has_image && look.entries[4] == Entry::default());
        assert_eq!(look.entries[0].color, Some([1.0, 0.0, 0.0, 1.0]));
        assert!(near(&look.entries[1].back.unwrap_or_default(), &[0.0, 1.0, 0.0, 0.502]));
        assert!(!look.is_round && look.is_painted());
        assert_eq!(look.border, Some((2.0, "dashed".to_owned())));
        assert!(!Look::read(&json!({})).is_painted());
    }

    #[test]
    fn filters_and_blend_modes_are_those_of_css() {
        let of = |name: &str, by: f32| filtered([1.0, 0.0, 0.0, 1.0], &[(name.to_owned(), by)]);
        assert!(near(&of("grayscale", 1.0), &[0.2126, 0.2126, 0.2126, 1.0]));
        assert!(near(&of("brightness", 0.5), &[0.5, 0.0, 0.0, 1.0]));
        assert!(near(&of("contrast", 0.0), &[0.5, 0.5, 0.5, 1.0]));
        assert!(near(&of("opacity", 0.25), &[1.0, 0.0, 0.0, 0.25]));
        assert!(near(&of("hueRotate", 360.0), &[1.0, 0.0, 0.0, 1.0]));
        assert!(
            near(&of("hueRotate", 120.0), &[0.0, 0.446, 0.0, 1.0]),
            "{:?}",
            of("hueRotate", 120.0)
        );
        let below = [0.5, 0.25, 1.0];
        let mix = |mode| blended(below, [1.0, 0.5, 0.0, 1.0], mode);
        assert!(near(&mix("multiply"), &[0.5, 0.125, 0.0]));
        assert!(near(&mix("screen"), &[1.0, 0.625, 1.0]));
        assert!(near(&mix("difference"), &[0.5, 0.25, 1.0]));
        let grey = light(mix("luminosity")) - light([1.0, 0.5, 0.0]);
        assert!(grey.abs() < 5e-3);
        for mode in ["color", "hue", "saturation"] {
            assert!((light(mix(mode)) - light(below)).abs() < 5e-3, "{mode}");
        }
        assert_eq!(blended(below, [1.0, 1.0, 1.0, 0.0], "screen"), below);
    }
}
