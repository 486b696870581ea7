//! Notices about the pictures of a dataset that pages do not load.

use graphlume_types::Notice;
use serde_json::Value;

use crate::pictures::{PictureHost, foreign_picture};

/// Where in `metadata` a page looks for pictures, and what each is.
const PICTURES: [(&str, &str, &str); 3] = [
    ("/logo/url", "metadata.logo.url", "the logo"),
    ("/bg/image/url", "metadata.bg.image.url", "the background picture"),
    ("/page/favicon", "metadata.page.favicon", "the icon"),
];

/// What is said of pictures of sites that `hosts` does not name. It is told in the answer and not kept: the page finds out
/// what is loaded when it shows the graph, for the operator may have named other sites by then.
pub(super) fn notices(hosts: &[PictureHost], metadata: &Value) -> Vec<Notice> {
    let said = PICTURES.iter().filter_map(|(pointer, field, what)| {
        let address = metadata.pointer(pointer)?.as_str()?;
        let site = foreign_picture(hosts, address)?;
        let text = format!(
            "{field} is a picture of {site}, from where pages of this server load none, so {what} is not shown; send it \
             as a data: address, or have the operator name the site with --picture-host"
        );
        Some(Notice::new("picture-blocked", text))
    });
    said.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_picture_that_pages_do_not_load_is_said_with_its_field_and_site() {
        let metadata = json!({
            "logo": {"url": "https://cdn.example/logo.png?key=secret"},
            "bg": {"image": {"url": "//other.example/bg.png"}, "color": "white"},
            "page": {"favicon": "data:image/png;base64,AA=="},
        });
        let texts = |hosts: &[&str]| -> Vec<String> {
            let hosts: Vec<PictureHost> = hosts.iter().map(|h| h.parse().unwrap()).collect();
            notices(&hosts, &metadata).into_iter().map(|n| n.text).collect()
        };
        let said = texts(&[]);
        assert_eq!(said.len(), 2);
        assert!(
            said[0].starts_with("metadata.logo.url is a picture of https://cdn.example, "),
            "{}",
            said[0]
        );
        assert!(said[0].contains("--picture-host") && !said[0].contains("secret"), "{}", said[0]);
        assert!(said[1].starts_with("metadata.bg.image.url is a picture of https://other.example"));
        assert_eq!(texts(&["cdn.example"]), said[1..]);
        assert!(texts(&["https:"]).is_empty());
        for other in [
            json!(null),
            json!({"logo": "x", "bg": {"image": 7}, "page": []}),
            json!({"logo": {"url": ""}}),
        ] {
            assert!(notices(&[], &other).is_empty(), "{other}");
        }
    }
}
