//! The public parts of a Rust source: documentation, messages, names.

use std::collections::BTreeMap;

use proc_macro2::{Literal, TokenStream, TokenTree};
use syn::Lit;

use super::Passage;

/// The string literals, doc comments and identifiers of a source, including those in macros.
///
/// The lines of a doc comment form one passage. An identifier is a passage of its words separated by spaces, at its first
/// occurrence in the file.
///
/// # Errors
/// When the text is not valid Rust.
pub fn of_rust(text: &str) -> Result<Vec<Passage>, String> {
    let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| error.to_string())?;
    let mut source = Source::default();
    source.read(tokens);
    let named =
        source.identifiers.into_iter().map(|(name, line)| Passage { text: spaced(&name), line, by_line: false });
    Ok(source.passages.into_iter().chain(named).collect())
}

#[derive(Default)]
struct Source {
    passages: Vec<Passage>,
    /// Each with the line of its first occurrence.
    identifiers: BTreeMap<String, usize>,
    /// The last passage is a doc comment, followed by nothing but attributes.
    in_doc: bool,
}

impl Source {
    fn read(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                hash if is_sign(&hash, '#') => {
                    tokens.next_if(|next| is_sign(next, '!'));
                    let doc = tokens.peek().and_then(doc_comment);
                    if let Some(doc) = doc {
                        tokens.next();
                        self.doc(&doc);
                    }
                }
                TokenTree::Group(group) => self.read(group.stream()),
                TokenTree::Ident(ident) => {
                    self.in_doc = false;
                    let line = ident.span().start().line;
                    self.identifiers.entry(ident.to_string()).or_insert(line);
                }
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    if let Some(text) = string(&literal) {
                        // A string written over several lines without escapes has the file's lines.
                        let by_line = literal.span().end().line - line == text.matches('\n').count();
                        self.in_doc = false;
                        self.passages.push(Passage { text, line, by_line });
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    fn doc(&mut self, comment: &Literal) {
        let Some(text) = string(comment) else { return };
        let line = comment.span().start().line;
        match self.passages.last_mut() {
            Some(last) if self.in_doc && last.line_at(last.text.len()) + 1 == line => {
                last.text.push('\n');
                last.text.push_str(&text);
            }
            _ => self.passages.push(Passage { text, line, by_line: true }),
        }
        self.in_doc = true;
    }
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// The text of `[doc = "…"]`, the form of a doc comment in the token stream.
fn doc_comment(attribute: &TokenTree) -> Option<Literal> {
    let TokenTree::Group(group) = attribute else { return None };
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    match &tokens[..] {
        [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(text)] if name == "doc" => Some(text.clone()),
        _ => None,
    }
}

fn string(literal: &Literal) -> Option<String> {
    match Lit::new(literal.clone()) {
        Lit::Str(text) => Some(text.value()),
        Lit::ByteStr(text) => String::from_utf8(text.value()).ok(),
        _ => None,
    }
}

/// An identifier's words: `WaitingTime`, `waiting_time` and `WAITING_TIME` are "waiting time".
fn spaced(identifier: &str) -> String {
    let mut words = String::new();
    let mut last = ' ';
    for letter in identifier.trim_start_matches("r#").chars() {
        if letter.is_uppercase() && (last.is_lowercase() || last.is_numeric()) {
            words.push(' ');
        }
        words.push(if letter == '_' { ' ' } else { letter });
        last = letter;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_an_identifier() {
        for (identifier, words) in [
            ("waiting_time", "waiting time"),
            ("WaitingTime", "Waiting Time"),
            ("WAITING_TIME", "WAITING TIME"),
            ("r#type", "type"),
        ] {
            assert_eq!(spaced(identifier), words);
        }
    }
}
