//! The languages, and what exists in each of them.

/// A language. English is the fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    German,
    French,
    Spanish,
}

impl Language {
    pub(crate) const ALL: [Self; 4] = [Self::English, Self::German, Self::French, Self::Spanish];
}

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
