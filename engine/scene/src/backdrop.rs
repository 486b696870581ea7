//! The background of a picture: colours that clients bind to a dataset, as the page reads them
//! (`shell/web/src/state/theme.ts`).

use serde_json::Value;

use crate::css;

/// Luminance above which text and palette are those of a light page.
const LIGHT_FROM: f64 = 0.3;

/// Reads a colour as clients write it in addresses and bindings: CSS, with or without `#`, or `%23` instead of it.
#[must_use]
pub fn color(text: &str) -> Option<[u8; 3]> {
    let clean = text.trim().replacen("%23", "#", 1);
    let found = if clean.starts_with('#') {
        css::parse(&clean)
    } else {
        css::parse(&format!("#{clean}")).or_else(|| css::parse(&clean))
    };
    found.map(|[r, g, b, _]| [r, g, b])
}

/// The background that the metadata of a dataset asks for: its colour, or the first one of its gradient.
#[must_use]
pub fn of_metadata(metadata: &Value) -> Option<[u8; 3]> {
    let bg = metadata.get("bg")?;
    let own = bg.get("color").and_then(Value::as_str).and_then(color);
    own.or_else(|| {
        let stops = bg.get("gradient")?.get("stops")?.as_array()?;
        let text = |stop: &Value| {
            stop.as_array().map_or(stop.as_str().map(str::to_owned), |pair| {
                pair.first()?.as_str().map(str::to_owned)
            })
        };
        stops.iter().find_map(|stop| color(&text(stop)?))
    })
}

/// Whether text and palette on a background are those of a light page, by its relative luminance (WCAG 2).
#[must_use]
pub fn is_light(rgb: [u8; 3]) -> bool {
    let linear = |c: u8| {
        let c = f64::from(c) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    let [r, g, b] = rgb.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b > LIGHT_FROM
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn colours_are_read_as_clients_write_them() {
        for text in ["#fff", "fff", "%23ffffff", "white", " rgb(255, 255, 255) "] {
            assert_eq!(color(text), Some([255; 3]), "{text}");
        }
        assert_eq!(color("no colour"), None);
        assert!(
            is_light([255; 3]) && is_light([0x9e, 0xa5, 0xb2]) && !is_light([0x13, 0x16, 0x1e])
        );
    }

    #[test]
    fn a_dataset_binds_a_colour_or_a_gradient() {
        assert_eq!(of_metadata(&json!({"bg": {"color": "navy"}})), Some([0, 0, 128]));
        let gradient = json!({"bg": {"gradient": {"stops": [["#102030", "0%"], ["red", "100%"]]}}});
        assert_eq!(of_metadata(&gradient), Some([16, 32, 48]));
        assert_eq!(of_metadata(&json!({"bg": {"color": "nothing"}})), None);
        assert_eq!(of_metadata(&json!({})), None);
    }
}
