//! Reads Markdown pages, as far as the rules need it.

/// The texts between `open` and `close` in a page, without code blocks.
fn between(page: &str, open: &str, close: char) -> Vec<String> {
    let mut in_code = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let rest = line.split(open).skip(1);
            found.extend(rest.filter_map(|rest| rest.split_once(close)).map(|(inside, _)| inside.to_owned()));
        }
    }
    found
}

/// The targets of a page's links, as written.
pub fn links(page: &str) -> Vec<String> {
    between(page, "](", ')')
}
