//! Updates of the model from acknowledgements, and the pacing rate (draft-00, sections 4.1 and 4.2.1).

use dovetail_sched::Nanos;

use super::{
    in_flight::MIN_WINDOW,
    modes,
    policer::{News, Tally},
    state::{Bbr, Repair, Report},
};
use crate::{
    bandwidth::{Bandwidth, Gain},
    congestion::window::Window,
};

/// `RTpropFilterLen` (section 4.1.2).
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(10);
/// Pacing at this percentage of the bandwidth drains a standing queue (draft-02, `BBRPacingMarginPercent`).
const PACING_PERCENT: u64 = 99;
/// Assumed for the first round trip if none was measured (section 4.2.1).
const UNMEASURED: Nanos = Nanos::from_millis(1);

impl Bbr {
    /// The handshake is complete; `rtt` is how long it took, if known.
    pub(in super::super) fn opens(&mut self, rtt: Option<Nanos>, window: &Window, now: Nanos) {
        self.least = rtt.map(|rtt| (rtt, now));
        self.first_pace(rtt, window);
    }

    /// The pacing rate before anything is delivered (section 4.2.1).
    fn first_pace(&mut self, rtt: Option<Nanos>, window: &Window) {
        self.has_rtt = rtt.is_some();
        let nominal = Bandwidth::of(window.segments.into(), rtt.unwrap_or(UNMEASURED));
        self.pacing = paced(nominal, modes::HIGH);
    }

    /// The pacing rate.
    pub(in super::super) const fn pace(&self) -> Bandwidth {
        self.pacing
    }

    /// Processes an acknowledgement: updates the model, the mode, the pacing rate and the window. True while the round-trip
    /// time is probed, when deliveries say nothing about the bandwidth.
    pub(in super::super) fn steer(&mut self, report: &Report, window: &mut Window, now: Nanos) -> bool {
        self.learn_bandwidth(report, now);
        let bandwidth = self.bandwidth();
        if report.rate.is_some() {
            self.aggregation.learn(bandwidth, report.delivered, window.segments, self.round_begins, now);
        }
        let gain = self.pacing_gain();
        let least = self.least.map_or(Nanos::MAX, |(least, _)| least);
        let before = self.left_at_departure(report.before, report, now);
        self.modes.cycle(before, self.holds(gain.max(Gain::ONE)), report.lost > 0, least, now);
        if self.round_begins && report.rate.is_some_and(|rate| !rate.is_app_limited) {
            self.modes.check_full(self.bandwidths.largest());
        }
        let left = self.left_at_departure(report.in_flight, report, now);
        self.modes.check_drain(left, self.holds(Gain::ONE), now);
        let is_out_of_date = self.learn_round_trip(report, now);
        self.probe_round_trip(report, is_out_of_date, window, now);
        if let Some(rtt) = report.rtt.filter(|_| !self.has_rtt) {
            self.first_pace(Some(rtt), window);
        }
        self.set_pace();
        self.burst = self.burst_segments(report.segment_bytes);
        self.set_window(report, window);
        self.modes.is_probing_round_trip()
    }

    /// Updates the bandwidth and detects ends of round trips (section 4.1.1).
    fn learn_bandwidth(&mut self, report: &Report, now: Nanos) {
        self.round_begins = false;
        let Some(rate) = report.rate else { return };
        if rate.prior_delivered >= self.round_ends {
            self.round_ends = report.delivered_in_all;
            self.round_begins = true;
            self.conserves = false;
            self.bandwidths.next_round();
        }
        self.learn_policer(report, rate.is_app_limited, now);
        let bandwidth = Bandwidth::of(rate.segments, rate.interval);
        // An application-limited sample is only a lower bound.
        if !rate.is_app_limited || bandwidth >= self.bandwidths.largest() {
            self.bandwidths.sample(bandwidth);
        }
    }

    fn learn_policer(&mut self, report: &Report, is_app_limited: bool, now: Nanos) {
        let news = News {
            tally: Tally { delivered: report.delivered_in_all, lost: report.lost_in_all, at: now },
            has_lost: core::mem::take(&mut self.has_timed_out) || report.lost > 0,
            is_app_limited,
            round_begins: self.round_begins,
            is_probing: self.modes.is_probing_bandwidth(),
        };
        if self.policer.learn(&news, report.segment_bytes) {
            self.modes.probe_bandwidth(now);
        }
    }

    /// Updates the smallest round-trip time; returns whether the previous one has expired (section 4.1.2). An equal sample
    /// does not renew it (as in draft-02): if the same value keeps recurring, the queue may still never be empty.
    fn learn_round_trip(&mut self, report: &Report, now: Nanos) -> bool {
        let is_out_of_date = self.least.is_some_and(|(_, at)| now > at + MIN_RTT_WINDOW);
        if let Some(rtt) = report.rtt
            && (is_out_of_date || self.least.is_none_or(|(least, _)| rtt < least))
        {
            self.least = Some((rtt, now));
        }
        is_out_of_date
    }

    /// Section 4.3.5.
    fn probe_round_trip(&mut self, report: &Report, is_out_of_date: bool, window: &mut Window, now: Nanos) {
        if self.modes.begins_probing_round_trip(is_out_of_date) {
            self.keep(window.segments);
            self.modes.probe_round_trip();
        }
        if self.modes.is_probing_round_trip() {
            if self.modes.has_drained(report.in_flight, MIN_WINDOW, now) {
                self.round_ends = report.delivered_in_all;
            } else if self.modes.has_probed(self.round_begins, now) {
                self.end_round_trip_probe(window, now);
            }
        }
        if report.delivered > 0 {
            self.modes.has_restarted();
        }
    }

    fn end_round_trip_probe(&mut self, window: &mut Window, now: Nanos) {
        if let Some((_, at)) = &mut self.least {
            *at = now;
        }
        window.segments = window.segments.max(self.kept);
        self.modes.after_round_trip_probe(now);
    }

    /// Until the path is full, the pacing rate only rises (section 4.2.1).
    fn set_pace(&mut self) {
        let pace = paced(self.bandwidth(), self.pacing_gain());
        if self.modes.has_filled || pace > self.pacing {
            self.pacing = pace;
        }
    }

    /// A timeout: deliveries so far do not indicate whether the path is full.
    pub(in super::super) fn timed_out(&mut self) {
        (self.repair, self.has_timed_out) = (Repair::Timeout, true);
        self.modes.forget_fullness();
    }

    /// The losses turned out to be spurious.
    pub(in super::super) fn undone(&mut self) {
        self.policer.forget();
        self.modes.forget_fullness();
    }

    /// Sending resumes after an application-limited pause: at the bandwidth of the path, since the queue is empty (section
    /// 4.3.4.4).
    pub(in super::super) fn resumes(&mut self, window: &mut Window, now: Nanos) {
        self.modes.restarts();
        if self.modes.is_probing_bandwidth() {
            self.pacing = paced(self.bandwidth(), Gain::ONE);
        } else if self.modes.is_probing_round_trip() && self.modes.has_probed(false, now) {
            self.end_round_trip_probe(window, now);
        }
    }
}

fn paced(bandwidth: Bandwidth, gain: Gain) -> Bandwidth {
    bandwidth.times(gain).percent(PACING_PERCENT)
}
