//! What is explained, in words.

/// What is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noun {
    Packet,
    Transfer,
}

impl Noun {
    pub(super) const fn one(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Transfer => "transfer",
        }
    }

    /// What a resource does to it.
    pub(super) const fn service(self) -> &'static str {
        match self {
            Self::Packet => "processing",
            Self::Transfer => "time on the link",
        }
    }

    /// Those of its kind that are not it.
    pub(super) const fn others(self) -> &'static str {
        match self {
            Self::Packet => "other flows",
            Self::Transfer => "other transfers",
        }
    }

    pub(super) const fn many(self) -> &'static str {
        match self {
            Self::Packet => "packets",
            Self::Transfer => "transfers",
        }
    }
}

/// With its first letter a capital.
pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
