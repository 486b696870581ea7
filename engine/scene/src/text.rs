//! Text cut to a length that can be shown.

/// At most `chars_max` characters of `text`, with an ellipsis when some were left out.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("žluťoučký", 4), "žluť…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
