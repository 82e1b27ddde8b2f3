//! The terminology of this repository: phrases that readers of the field would not know or would misunderstand, with
//! replacements. `banned.txt` lists them; this module finds them in public texts.

mod passage;
mod rust;

use regex::{Regex, RegexBuilder};

pub use self::{
    passage::{Passage, of_comments, of_page},
    rust::of_rust,
};

/// A banned phrase.
#[derive(Debug)]
pub struct Banned {
    pattern: Regex,
    instead: String,
}

/// An occurrence of a banned phrase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The line in the file, from 1.
    pub line: usize,
    /// The phrase, as written there.
    pub phrase: String,
    /// The replacement.
    pub instead: String,
}

/// Parses the list: per line a regular expression and, after a tab, the replacement. Empty lines and those that begin with
/// `#` are ignored. A space matches any white space, including a line break with the next line's comment sign.
///
/// # Errors
/// Which line is wrong, and how.
pub fn banned(list: &str) -> Result<Vec<Banned>, String> {
    let numbered = list.lines().zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    numbered.map(|(line, number)| ban(line).map_err(|error| format!("line {number}: {error}"))).collect()
}

fn ban(line: &str) -> Result<Banned, String> {
    let (phrase, instead) = line.split_once('\t').ok_or("there is no tab, and so nothing to say instead")?;
    if phrase.is_empty() || instead.trim().is_empty() {
        return Err("a phrase and what to say instead are needed".to_owned());
    }
    let bounded = format!(r"\b(?:{})\b", phrase.replace(' ', r"[\s#]+"));
    let pattern = RegexBuilder::new(&bounded).case_insensitive(true).build().map_err(|error| error.to_string())?;
    Ok(Banned { pattern, instead: instead.trim().to_owned() })
}

/// Every banned phrase in these passages, in order of position.
pub fn findings(passages: &[Passage], banned: &[Banned]) -> Vec<Finding> {
    let mut found = Vec::new();
    for passage in passages {
        for banned in banned {
            let written = banned.pattern.find_iter(&passage.text);
            found.extend(written.map(|written| Finding {
                line: passage.line_at(written.start()),
                phrase: written.as_str().split_whitespace().collect::<Vec<_>>().join(" "),
                instead: banned.instead.clone(),
            }));
        }
    }
    found.sort();
    found
}
