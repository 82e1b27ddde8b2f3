//! The same in each language.

use super::Language;

/// One for each language: a missing one does not compile.
#[derive(Debug)]
pub(crate) struct InEach<T> {
    pub(crate) english: T,
    pub(crate) german: T,
    pub(crate) french: T,
    pub(crate) spanish: T,
}

impl<T> InEach<T> {
    /// The one of this language.
    pub(crate) const fn of(&self, language: Language) -> &T {
        match language {
            Language::English => &self.english,
            Language::German => &self.german,
            Language::French => &self.french,
            Language::Spanish => &self.spanish,
        }
    }
}
