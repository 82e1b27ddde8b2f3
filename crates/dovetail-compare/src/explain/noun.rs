//! Names of what is explained.

/// What is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noun {
    /// Packets of a flow.
    Packet,
    /// Transfers of a traffic, each a flow of its own.
    Transfer,
    /// Requests of a user.
    Request,
}

impl Noun {
    pub(super) const fn one(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Transfer => "transfer",
            Self::Request => "request",
        }
    }

    pub(super) const fn many(self) -> &'static str {
        match self {
            Self::Packet => "packets",
            Self::Transfer => "transfers",
            Self::Request => "requests",
        }
    }

    /// Name of a flow.
    pub(super) const fn flow(self) -> &'static str {
        if matches!(self, Self::Request) { "user" } else { "flow" }
    }

    /// Plural of the flow's name.
    pub(super) const fn flows(self) -> &'static str {
        match self {
            Self::Packet => "flows",
            Self::Transfer => "transfers",
            Self::Request => "users",
        }
    }

    /// Whether a flow consists of several of them.
    pub(super) const fn have_flows(self) -> bool {
        !matches!(self, Self::Transfer)
    }

    /// Name of waiting for others of the same flow, in tables.
    pub(super) const fn same_flow(self) -> &'static str {
        if matches!(self, Self::Request) { "same user" } else { "same flow" }
    }

    /// The same in a sentence.
    pub(super) const fn behind_same_flow(self) -> &'static str {
        if matches!(self, Self::Request) { "behind its user's other requests" } else { "behind its own flow" }
    }

    /// Its own service, in a sentence.
    pub(super) const fn own(self) -> &'static str {
        if matches!(self, Self::Packet) { "is its own processing" } else { "its own packets are on the link" }
    }

    /// Name of those that were dropped or cancelled.
    pub(super) const fn dropped(self) -> &'static str {
        if matches!(self, Self::Request) { "cancelled" } else { "dropped" }
    }
}

/// Capitalises the first letter.
pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The first few names.
pub(super) fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const NAMED: usize = 8;
    let mut named: Vec<&str> = names.take(NAMED + 1).collect();
    if named.len() > NAMED {
        named[NAMED] = "…";
    }
    named.join(", ")
}
