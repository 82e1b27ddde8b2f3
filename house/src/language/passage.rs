//! Text that is read as one unit, and its position.

/// A text with its position. Text over several lines is one passage, since phrases are broken over lines too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The text, with its line breaks.
    pub text: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// Whether each line of the text is a line of the file; not so in a string with escapes.
    pub by_line: bool,
}

impl Passage {
    /// The file's line for a byte offset in the text.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        let before = if self.by_line { self.text[..offset].matches('\n').count() } else { 0 };
        self.line + before
    }
}

/// A page, or a file that is read unchanged.
pub fn of_page(text: &str) -> Vec<Passage> {
    vec![Passage { text: text.to_owned(), line: 1, by_line: true }]
}

/// The comments of a TOML file; consecutive lines form one passage.
pub fn of_comments(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some(comment) = comment(line) else { continue };
        match passages.last_mut() {
            Some(last) if last.line_at(last.text.len()) + 1 == number => {
                last.text.push('\n');
                last.text.push_str(comment);
            }
            _ => passages.push(Passage { text: comment.to_owned(), line: number, by_line: true }),
        }
    }
    passages
}

/// The text after the first `#` outside of quotes.
fn comment(line: &str) -> Option<&str> {
    let mut quote = None;
    for (at, letter) in line.char_indices() {
        match (letter, quote) {
            ('#', None) => return Some(&line[at + 1..]),
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            _ => {}
        }
    }
    None
}
