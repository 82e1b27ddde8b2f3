//! How each language writes numbers and dates, and what it is called in headers.

use http::{HeaderMap, HeaderValue, header};
use jiff::civil::DateTime;

use super::{InEach, Language};

/// How a language writes what is not text.
struct Notation {
    tag: &'static str,
    colon: &'static str,
    point: &'static str,
    /// The format of dates (strftime).
    date: &'static str,
    /// Days of the week from Monday on, abbreviated.
    days: [&'static str; 7],
}

static NOTATIONS: InEach<Notation> = InEach {
    english: Notation {
        tag: "en",
        colon: ":",
        point: ".",
        date: "%-d %b %Y, %H:%M",
        days: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    },
    german: Notation {
        tag: "de",
        colon: ":",
        point: ",",
        date: "%d.%m.%Y um %H:%M Uhr",
        days: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
    },
    french: Notation {
        tag: "fr",
        colon: "\u{a0}:",
        point: ",",
        date: "%d/%m/%Y à %H:%M",
        days: ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"],
    },
    spanish: Notation {
        tag: "es",
        colon: ":",
        point: ",",
        date: "%d/%m/%Y a las %H:%M",
        days: ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"],
    },
};

impl Language {
    const fn notation(self) -> &'static Notation {
        NOTATIONS.of(self)
    }

    /// Its tag (RFC 5646).
    pub(crate) const fn tag(self) -> &'static str {
        self.notation().tag
    }

    /// A colon with the space that the language has before it.
    pub(crate) const fn colon(self) -> &'static str {
        self.notation().colon
    }

    /// A number with the language's decimal separator.
    pub(crate) fn number(self, number: &str) -> String {
        number.replace('.', self.notation().point)
    }

    /// A local date and time.
    pub(crate) fn date(self, at: DateTime) -> String {
        at.strftime(self.notation().date).to_string()
    }

    /// The days of the week from Monday on, abbreviated.
    pub(crate) const fn days(self) -> &'static [&'static str; 7] {
        &self.notation().days
    }

    /// Says in a response's header that it is in this language, and was chosen by `Accept-Language`.
    pub(crate) fn declare(self, headers: &mut HeaderMap) {
        headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(self.tag()));
        headers.insert(header::VARY, HeaderValue::from_static("accept-language"));
    }
}
