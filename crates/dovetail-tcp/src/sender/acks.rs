//! Acknowledgements: what they deliver, and how the window responds.

use dovetail_sched::Nanos;

use super::state::{News, Phase, Sender, Timer};
use crate::{
    board::Sent,
    congestion::{Acked, Repair, Report},
    delivery::{Newest, Rate},
};

/// An acknowledgement, with numbers converted to places in this end's stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack<'a> {
    /// Everything before it is acknowledged; not beyond what was sent.
    pub(crate) una: u64,
    /// The advertised window in bytes, and the place of the segment in the peer's stream.
    pub(crate) window: u64,
    pub(crate) said_at: u64,
    /// Selective acknowledgements, in the order of the segment.
    pub(crate) blocks: &'a [(u64, u64)],
    /// Whether its segment carries data or a FIN.
    pub(crate) carries: bool,
    /// Whether it echoes a congestion mark.
    pub(crate) is_marked: bool,
    /// When the segment that it responds to was sent, according to its timestamp echo.
    pub(crate) echo: Option<Nanos>,
}

/// What is collected about segments while an acknowledgement is processed.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    // Of segments sent once: when the first and last ones acknowledged in order, or sacked, were sent.
    first_acked: Option<Nanos>,
    last_acked: Option<Nanos>,
    first_sacked: Option<Nanos>,
    last_sacked: Option<Nanos>,
    has_again: bool,
    original: bool,
    is_late: bool,
    // The highest place sacked before.
    furthest: u64,
    // The segment that was sent last.
    newest: Newest,
}

impl Sender {
    /// Processes an acknowledgement.
    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>, now: Nanos) {
        let is_overtaken = ack.una < self.una;
        let mut news = News { is_other: ack.carries || is_overtaken, is_marked: ack.is_marked, ..News::default() };
        self.only_new = false;
        if !is_overtaken {
            self.unanswered_probes = 0;
            self.take_window(ack, &mut news);
        }
        let was_empty = self.board.is_empty();
        let delivered_before = self.delivery.delivered;
        let losses_before = self.board.losses;
        let before = self.board.in_flight();
        let blocks = self.without_duplicate(ack, &mut news);
        let mut seen = Seen { furthest: self.board.furthest_sacked, ..Seen::default() };
        self.take_blocks(blocks, &mut seen, &mut news, now);
        self.take_una(ack, &mut seen, &mut news, now);
        news.original = seen.original;
        let since = self.reduction.again_since;
        news.answers_first_transmission =
            ack.echo.zip(since).is_some_and(|(echo, since)| echo < since) && news.advanced;
        let rtt = self.measure(&seen, ack, now, &mut news);
        if was_empty {
            self.nothing_in_flight(&news, now);
            return;
        }
        let rate = self.delivery.sample(seen.newest, self.rtt.least());
        if self.has_sack {
            self.rack.widen(rate.map(|rate| rate.prior_delivered), self.delivery.delivered);
        }
        self.answer_probe(ack.una, &news);
        if !news.advanced || news.sacked || news.duplicate || news.is_marked || self.phase != Phase::Open {
            self.alert(&mut news, now);
        }
        if news.rearms && !self.arm_tail_probe(true, now) {
            self.arm_timeout(now);
        }
        let delivered = (self.delivery.delivered - delivered_before) as u32;
        let lost = (self.board.losses - losses_before) as u32;
        let acked = Acked { segments: delivered, rtt, una: self.una, nxt: self.nxt };
        if self.control.steers() {
            self.steer(rate, &acked, lost, before, now);
        } else if self.is_reducing() {
            if self.has_sack {
                self.fall(delivered, lost, &news);
            }
        } else if (news.advanced || (self.rack.has_reordering && news.sacked)) && self.is_window_limiting() {
            self.control.grow(&acked, &mut self.window, now);
        }
    }

    /// Lets a model of the path process an acknowledgement and set the window; `before` is what was in flight before it.
    fn steer(&mut self, rate: Option<Rate>, acked: &Acked, lost: u32, before: u32, now: Nanos) {
        let report = Report {
            rate,
            rtt: acked.rtt,
            delivered: acked.segments,
            lost,
            delivered_in_all: self.delivery.delivered,
            lost_in_all: self.board.losses,
            before,
            in_flight: self.board.in_flight(),
            repair: match self.phase {
                Phase::Open | Phase::Disorder | Phase::Reduced => Repair::Nothing,
                Phase::Recovery => Repair::Losses,
                Phase::TimedOut => Repair::Timeout,
            },
            next_leaves_at: self.next_leaves_at(),
            segment_bytes: self.segment,
        };
        if self.control.steer(&report, &mut self.window, now) {
            self.delivery.mark_app_limited(report.in_flight);
        }
    }

    /// Updates the peer's window (RFC 9293, section 3.10.7.4).
    fn take_window(&mut self, ack: &Ack<'_>, news: &mut News) {
        let edge = ack.una + ack.window;
        let is_newer = ack.una > self.una || ack.said_at > self.edge_said_at;
        if is_newer || (ack.said_at == self.edge_said_at && edge > self.edge) {
            news.is_other |= edge != self.edge && ack.una == self.una;
            (self.edge, self.edge_said_at) = (edge, ack.said_at);
            self.longest_offer = self.longest_offer.max(ack.window);
        }
    }

    /// Removes a report of a duplicate (RFC 2883) from the blocks.
    fn without_duplicate<'b>(&mut self, ack: &Ack<'b>, news: &mut News) -> &'b [(u64, u64)] {
        let Some((&(start, end), others)) = ack.blocks.split_first() else { return ack.blocks };
        let is_inside = others.first().is_some_and(|&(from, to)| from <= start && end <= to);
        if end > ack.una && !is_inside {
            return ack.blocks;
        }
        if self.has_sack {
            news.duplicate = true;
            let segments = (end - start).div_ceil(u64::from(self.segment)) as u32;
            if self.probe.is_some_and(|probe| probe.again && start < probe.high && probe.high <= end) {
                news.duplicate_of_probe = true;
            } else {
                self.rack.on_spurious();
            }
            if self.reduction.began_at.is_some_and(|began| end > began) {
                self.reduction.again = self.reduction.again.map(|again| again.saturating_sub(segments));
            }
        }
        others
    }

    fn take_blocks(&mut self, blocks: &[(u64, u64)], seen: &mut Seen, news: &mut News, now: Nanos) {
        if blocks.is_empty() || !self.has_sack {
            return;
        }
        let (furthest, high, least) = (seen.furthest, self.high, self.rtt.least());
        let Self { board, rack, delivery, .. } = self;
        board.sack(blocks, |sent: &Sent| {
            news.sacked = true;
            if !sent.again {
                seen.is_late |= sent.start < furthest;
                seen.original |= sent.end() <= high;
                seen.first_sacked.get_or_insert(sent.at);
                seen.last_sacked = Some(sent.at);
            }
            rack.deliver(sent, least, now);
            delivery.deliver(sent.snapshot, sent.at, &mut seen.newest, now);
        });
    }

    fn take_una(&mut self, ack: &Ack<'_>, seen: &mut Seen, news: &mut News, now: Nanos) {
        if ack.una <= self.una {
            return;
        }
        self.una = ack.una;
        let (furthest, high, least) = (seen.furthest, self.high, self.rtt.least());
        let Self { board, rack, delivery, has_sack, .. } = self;
        // Duplicates have counted the segments acknowledged here, except the one that filled the hole.
        let all = board.until(ack.una);
        let mut counted = if *has_sack { 0 } else { board.sacked().min(all.saturating_sub(1)) };
        if !*has_sack {
            board.duplicates_acknowledged(all);
        }
        board.acknowledge(ack.una, |sent| {
            if sent.again {
                seen.has_again = true;
            } else if !sent.sacked {
                seen.is_late |= sent.start < furthest;
                seen.original |= sent.end() <= high;
                seen.first_acked.get_or_insert(sent.at);
                seen.last_acked = Some(sent.at);
            }
            if !sent.sacked {
                rack.deliver(sent, least, now);
                if counted > 0 {
                    counted -= 1;
                } else {
                    delivery.deliver(sent.snapshot, sent.at, &mut seen.newest, now);
                }
            }
        });
        if self.has_sack && seen.is_late {
            self.rack.has_reordering = true;
        }
        self.timeouts = 0;
        (news.advanced, news.rearms) = (true, true);
    }

    /// Without blocks: a duplicate acknowledgement means that one more segment has left the network.
    fn one_more_left(&mut self) {
        self.board.duplicate();
        self.delivery.delivered += 1;
    }

    /// Takes round-trip samples and updates the timeout; returns the sample of the newest segment.
    fn measure(&mut self, seen: &Seen, ack: &Ack<'_>, now: Nanos, news: &mut News) -> Option<Nanos> {
        let in_order = seen.first_acked.filter(|_| !seen.has_again);
        let first = in_order.or(seen.first_sacked);
        let last = seen.last_acked.filter(|_| !seen.has_again).or(seen.last_sacked);
        let echo = ack.echo.filter(|_| news.advanced).map(|echo| now - echo);
        let took = first.map(|at| now - at).or(echo)?;
        let newest = last.map_or(took, |at| now - at);
        self.rtt.bound(newest, now);
        self.rtt.sample(took, self.una, self.nxt);
        // The front was sent before what was sacked: restart its timeout with the new value.
        news.rearms |= seen.first_sacked.is_some() && self.board.front().is_some_and(|front| took > now - front.at);
        let acked = Acked { segments: 0, rtt: Some(newest), una: self.una, nxt: self.nxt };
        self.control.measured(&acked, &mut self.window, now);
        last.map(|_| newest)
    }

    /// An acknowledgement while nothing is in flight: it may have opened the window.
    fn nothing_in_flight(&mut self, news: &News, now: Nanos) {
        if news.duplicate {
            self.undo_by_duplicates();
        }
        if self.nxt < self.edge || !self.has_unsent() {
            self.probe_doublings = 0;
            if matches!(self.timer, Some((Timer::WindowProbe, _))) {
                self.timer = None;
            }
        } else {
            self.arm_window_probe(now);
        }
    }

    /// Handles the response to a tail loss probe (RFC 8985, section 7.4).
    fn answer_probe(&mut self, una: u64, news: &News) {
        let Some(probe) = self.probe.filter(|probe| una >= probe.high) else { return };
        let is_plain = !news.advanced && !news.is_other && !news.sacked;
        if !probe.again || news.duplicate_of_probe || (una == probe.high && is_plain) {
            self.probe = None;
        } else if una > probe.high {
            // The probe repaired a loss: reduce the window for it.
            self.enter_reduced();
            self.probe = None;
            self.end_fall();
            self.keep_open();
        }
    }

    /// Processes an acknowledgement outside the fast path (RFC 5681, section 3.2; RFC 6675, section 5).
    fn alert(&mut self, news: &mut News, now: Nanos) {
        if news.is_marked {
            self.reduction.threshold = 0;
        }
        let is_duplicate = !news.advanced && !news.is_other && !news.duplicate;
        if self.phase == Phase::Open {
            self.reduction.again_since = None;
        } else if self.una >= self.high {
            match self.phase {
                Phase::Reduced if self.una > self.high => {
                    self.end_fall();
                    self.phase = Phase::Open;
                }
                Phase::Recovery => {
                    if !self.has_sack {
                        self.board.forget_duplicates();
                    }
                    // The window falls to the threshold unless the reduction is undone.
                    self.end_fall();
                    self.undo_when_recovered(news);
                    if self.phase != Phase::Open {
                        return;
                    }
                }
                _ => {}
            }
        }
        match self.phase {
            Phase::Recovery => {
                if news.advanced {
                    if self.undo_in_part(news) {
                        return;
                    }
                } else if !self.has_sack && is_duplicate {
                    self.one_more_left();
                }
                if self.undo_by_duplicates() {
                    self.keep_open();
                }
                self.find_losses(news, now);
                if self.phase == Phase::Recovery {
                    return;
                }
            }
            Phase::TimedOut => {
                self.after_timeout(is_duplicate, news);
                self.find_losses(news, now);
                if self.phase != Phase::Open && !news.lost_again {
                    return;
                }
            }
            Phase::Open | Phase::Disorder | Phase::Reduced => {
                if !self.has_sack {
                    if news.advanced {
                        self.board.forget_duplicates();
                    }
                    if is_duplicate {
                        self.one_more_left();
                    }
                }
                if self.phase <= Phase::Disorder {
                    self.undo_by_duplicates();
                }
                self.find_losses(news, now);
            }
        }
        if self.board.lost() > 0 {
            self.enter_recovery(news.is_marked);
        } else {
            self.may_open(news);
        }
    }

    /// No losses: a mark reduces the window; otherwise the phase returns to open once everything is in order.
    fn may_open(&mut self, news: &News) {
        if !self.board.has_again() {
            self.reduction.again_since = None;
        }
        if news.is_marked {
            self.enter_reduced();
        }
        if self.phase != Phase::Reduced {
            self.keep_open();
        }
    }

    /// Processes an acknowledgement after a timeout: does it cover a segment sent only once (RFC 5682, section 3)?
    fn after_timeout(&mut self, is_duplicate: bool, news: &News) {
        let is_recovered = self.una >= self.high;
        if news.advanced && self.undo_timeout(false, news) {
            return;
        }
        if self.examines {
            if news.original && self.undo_timeout(true, news) {
                return;
            }
            if self.nxt > self.high {
                // New data arrived, but data sent before it did not.
                if news.sacked || is_duplicate {
                    self.examines = false;
                }
            } else if news.advanced && !is_recovered {
                self.high = self.nxt;
                if self.nxt < self.written && self.nxt < self.edge {
                    self.only_new = true;
                    return;
                }
                self.examines = false;
            }
        }
        if is_recovered {
            self.undo_when_recovered(news);
        } else if !self.has_sack {
            if self.nxt > self.high && is_duplicate {
                self.one_more_left();
            } else if news.advanced {
                self.board.forget_duplicates();
            }
        }
    }
}
