//! Computes when hours next begin or end.
//!
//! Between two changes of a zone's offset local time runs evenly, so the next boundary is as far off as in local time, unless
//! the offset changes before. In that case, the local time after the change decides, and so on from there.

use jiff::{SignedDuration, Timestamp, ZonedDateTime};

use super::week::{Hours, WEEK, minute_of_week};

/// More changes of a zone's offset within a week are not plausible: real zones have a few per year.
const MAX_OFFSETS: usize = 64;

impl Hours {
    /// When the hours that apply at this instant end, or those that do not apply begin. `None` if that never happens.
    ///
    /// O(spans), for each change of the zone's offset in between.
    #[must_use]
    pub fn next_change(&self, at: &ZonedDateTime) -> Option<ZonedDateTime> {
        let zone = at.time_zone();
        let is_in = self.contains(at.datetime());
        let mut from = at.timestamp();
        for _ in 0..MAX_OFFSETS {
            let boundary = self.boundary(&from.to_zoned_datetime(zone.clone()), is_in)?;
            let offset_changes = zone.following(from).next().map(|change| change.timestamp());
            match offset_changes.filter(|&change| change <= boundary) {
                None => return Some(boundary.to_zoned_datetime(zone.clone())),
                Some(change) => {
                    let changed = change.to_zoned_datetime(zone.clone());
                    if self.contains(changed.datetime()) != is_in {
                        return Some(changed);
                    }
                    from = change;
                }
            }
        }
        None
    }

    /// When local time next differs from `is_in`, if it runs evenly.
    fn boundary(&self, at: &ZonedDateTime, is_in: bool) -> Option<Timestamp> {
        let now = minute_of_week(at.datetime());
        let ends = self.spans.iter().flat_map(|&(from, to)| [from, to % WEEK]);
        let others = ends.filter(|&minute| self.contains_minute(minute) != is_in);
        let minutes = others.map(|minute| if minute > now { minute - now } else { minute + WEEK - now }).min()?;
        let into_minute = SignedDuration::new(i64::from(at.second()), at.subsec_nanosecond());
        at.timestamp().checked_add(SignedDuration::from_mins(i64::from(minutes)) - into_minute).ok()
    }
}
