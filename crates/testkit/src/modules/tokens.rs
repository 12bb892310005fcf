//! Rust source text as words and signs, without comments, literals and code that only tests compile.

/// The words and signs of `text`. `::` is one sign; every other sign is one character.
pub(super) fn tokens(text: &str) -> Vec<String> {
    without_tests(&all_tokens(text))
}

fn all_tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else if first == '"' {
            1 + text_length(&rest[1..])
        } else if let Some(length) = raw_text_length(rest) {
            length
        } else if first == '\'' {
            character_length(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of a block comment, which may contain others.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a string literal after its opening quote, including the closing one.
fn text_length(text: &str) -> usize {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of `r"…"`, `r#"…"#` and `br"…"`, if `text` starts with one.
fn raw_text_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let marks = body.len() - body.trim_start_matches('#').len();
    let inner = body[marks..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let opening = text.len() - inner.len();
    Some(inner.find(&end).map_or(text.len(), |at| opening + at + end.len()))
}

/// The length of a character literal, or of the quote alone that starts a lifetime.
fn character_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        // The escaped character may itself be a quote.
        (Some((_, '\\')), Some((at, escaped))) => {
            let behind = at + escaped.len_utf8();
            text[behind..].find('\'').map_or(text.len(), |quote| behind + quote + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// The tokens without items under `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if opens(&tokens[at..], &["#", "[", "cfg", "(", "test", ")"])
            || opens(&tokens[at..], &["#", "[", "cfg", "(", "all", "(", "test"])
        {
            at = end_of_item(tokens, at);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

fn opens(tokens: &[String], expected: &[&str]) -> bool {
    tokens.len() >= expected.len() && tokens.iter().zip(expected).all(|(token, expected)| token == expected)
}

/// The position after the item at `at`: after its attributes, and then after its block, or its semicolon or comma
/// outside brackets.
fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    while tokens.get(at).is_some_and(|token| token == "#") {
        at = end_of_group(tokens, at + 1);
    }
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "{" => return end_of_group(tokens, at),
            "(" | "[" => at = end_of_group(tokens, at),
            ";" | "," => return at + 1,
            "}" | ")" | "]" => return at,
            _ => at += 1,
        }
    }
    tokens.len()
}

/// The position after the bracket that closes the one at `at`.
fn end_of_group(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}
