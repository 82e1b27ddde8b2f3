//! Hours as written, with the names of days in another language.

use super::{read::day, week::Hours};

impl Hours {
    /// The hours as written, with these abbreviations of the days from Monday on.
    pub(crate) fn with_days(&self, names: &[&str; 7]) -> String {
        let written = self.to_string();
        let is_letter = |letter: char| letter.is_ascii_alphabetic();
        let (mut rest, mut said) = (&*written, String::new());
        while let Some(from) = rest.find(is_letter) {
            let (before, word) = rest.split_at(from);
            let (word, after) = word.split_at(word.find(|letter| !is_letter(letter)).unwrap_or(word.len()));
            said.push_str(before);
            // Nothing but days is written in letters.
            said.push_str(day(word).map_or(word, |day| names[day]));
            rest = after;
        }
        said + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_in_another_language() {
        let names = ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"];
        for (written, said) in
            [(&["22:00-06:00"][..], "22:00-06:00"), (&["mon-Fri 08:00-18:00", "Sat,SUN"], "Mo-Fr 08:00-18:00, Sa,So")]
        {
            assert_eq!(Hours::parse(written).expect("hours").with_days(&names), said);
        }
    }
}
