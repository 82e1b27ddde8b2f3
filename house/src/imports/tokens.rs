//! Finds paths in a macro's arguments if these are not a list of expressions.

use proc_macro2::{TokenStream, TokenTree};

use super::names::Segments;

/// Whatever looks like a path to an item: several segments, or a single name that begins like a type's. What follows a dot
/// is a field or a method.
pub(super) fn paths(tokens: TokenStream) -> Vec<Segments> {
    let mut found = Vec::new();
    let mut path = Path::default();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => path.name(ident.to_string(), &mut found),
            TokenTree::Punct(punct) => path.punct(punct.as_char(), &mut found),
            TokenTree::Group(group) => {
                path.end(&mut found);
                found.extend(paths(group.stream()));
            }
            TokenTree::Literal(_) => path.end(&mut found),
        }
    }
    path.end(&mut found);
    found
}

/// The path being collected.
#[derive(Default)]
struct Path {
    segments: Segments,
    /// Colons since the last name.
    colons: usize,
    /// The last token means that a name is not a path: a dot, a quote, or a dollar.
    hidden: bool,
}

impl Path {
    fn name(&mut self, name: String, found: &mut Vec<Segments>) {
        let continues = self.colons == 2 && !self.segments.is_empty();
        // A path to another crate, or one that continues after generic arguments.
        let elsewhere = self.colons == 2 && self.segments.is_empty();
        let hidden = self.hidden && name != "crate" || elsewhere;
        if !continues {
            self.end(found);
        }
        (self.colons, self.hidden) = (0, false);
        if !hidden {
            self.segments.push(name);
        }
    }

    fn punct(&mut self, sign: char, found: &mut Vec<Segments>) {
        if sign == ':' && self.colons < 2 {
            self.colons += 1;
        } else {
            self.end(found);
            self.hidden = ['.', '\'', '$'].contains(&sign);
        }
    }

    fn end(&mut self, found: &mut Vec<Segments>) {
        let segments = std::mem::take(&mut self.segments);
        (self.colons, self.hidden) = (0, false);
        let is_type = segments.first().is_some_and(|first| first.starts_with(char::is_uppercase));
        if segments.len() > 1 || is_type {
            found.push(segments);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tokens: &str) -> Vec<String> {
        let tokens = tokens.parse().expect("tokens");
        paths(tokens).into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_are_found_between_other_tokens() {
        assert_eq!(found("x in crate::a::b(super::C), self.d => E::F"), ["crate::a::b", "super::C", "E::F"]);
        assert_eq!(found("x: Rate, y: &'static a::B"), ["Rate", "a::B"]);
        assert_eq!(found("$crate::a::B + $x + self::c::<u8>::D"), ["crate::a::B", "self::c"]);
    }

    #[test]
    fn fields_variables_and_other_crates_are_no_paths() {
        assert_eq!(found("a.B.c, d, ::e::F, 1.0"), Vec::<String>::new());
    }
}
