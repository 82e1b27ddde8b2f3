//! What goes up the link: requests' bodies and what clients send through tunnels.
//!
//! An uplink that is full holds up everything: requests, acknowledgements of what comes down, probes. Where its rate is known
//! the gateway sends a little less than that, so that the queue is here and not there, and shares it by class and user as it
//! does the downlink: a desk of its own, whose turns are leave to send. The first 20 kB of each upload go before the rest of
//! others. Acknowledgements are not scheduled but counted: a segment of 66 bytes for two full ones.
//!
//! Where the rate is not known nothing is held back. What a probe waits may then be the uplink's queue, and where the rate is not
//! what it is said to be it may as well: the downlink's scheduler is told while much is sent.

use std::{
    cell::Cell,
    rc::Rc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use dovetail_sched::{
    PolicyError, Weight,
    request::{ClassId, RequestSetup, RequestSpec},
};
use dovetail_tower::Desk;

use crate::{exchange::Place, record::Record, who::Who};

/// How uploads are ordered: their rate is not learnt, as there is nothing to probe apart.
const POLICY: &str = "grants:order=first,first=20kB,learn=off";
/// An acknowledgement's frame, and what it is of: two full segments.
const ACK_BYTES: f64 = 66.0;
const ACKED_BYTES: f64 = 2.0 * 1_448.0;
/// What is shorter is no upload: a request's header, a keystroke, acknowledgements within TLS.
const LEAST: usize = 256;
/// So many bytes in so long a time may fill an uplink, and be on their way for as long again.
const MUCH_BYTES: u64 = 16_384;
const SPELL: Duration = Duration::from_secs(2);

/// The uplink.
#[derive(Debug)]
pub(crate) struct Uplink {
    // Where its rate is known.
    desk: Option<Desk<Who>>,
    // The downlink's, to be told.
    told: Desk<Who>,
    is_busy: Cell<bool>,
    since: Cell<Instant>,
    sent_bytes: Cell<u64>,
    // Of an acknowledgement, what was not counted yet.
    acked: Cell<f64>,
}

impl Uplink {
    /// `rate`: bytes of payload a second, if known. Classes as the downlink's.
    pub(crate) fn new(rate: Option<f64>, classes: &[Weight], downlink: &Desk<Who>) -> Result<Self, PolicyError> {
        let desk = |rate: f64| Desk::new(&POLICY.parse::<RequestSpec>()?, &RequestSetup::for_uplink(rate), classes);
        Ok(Self {
            desk: rate.map(desk).transpose()?,
            told: downlink.clone(),
            is_busy: Cell::new(false),
            since: Cell::new(Instant::now()),
            sent_bytes: Cell::new(0),
            acked: Cell::new(0.0),
        })
    }

    /// Where uploads wait.
    pub(crate) const fn desk(&self) -> Option<&Desk<Who>> {
        self.desk.as_ref()
    }

    /// A way up for so many bytes, or for an upload of unknown length.
    pub(crate) fn lane(self: &Rc<Self>, record: &Record, bytes: Option<usize>) -> Lane {
        let is_upload = bytes.is_none_or(|bytes| bytes >= LEAST);
        let Record { who, class, uploaded, .. } = record;
        Lane {
            uplink: Rc::clone(self),
            who: who.clone(),
            class: *class,
            uploaded: Rc::clone(uploaded),
            is_upload,
            place: None,
        }
    }

    /// So many bytes came down, and are acknowledged.
    pub(crate) fn acknowledges(&self, bytes: usize) {
        let Some(desk) = &self.desk else { return };
        let acked = self.acked.get() + bytes as f64 * ACK_BYTES / ACKED_BYTES;
        // A few at once, as each look at the desk costs something.
        if acked >= 8.0 * ACK_BYTES {
            desk.stray(None, acked as u64);
            self.acked.set(acked.fract());
        } else {
            self.acked.set(acked);
        }
    }

    /// Bytes were sent.
    fn sent(&self, bytes: usize) {
        self.look();
        self.sent_bytes.set(self.sent_bytes.get() + bytes as u64);
        if self.sent_bytes.get() >= MUCH_BYTES && !self.is_busy.replace(true) {
            self.told.uplink(true);
        }
    }

    /// Whether a spell is over, and another begins. To be called once a second.
    pub(crate) fn look(&self) {
        if self.since.get().elapsed() < SPELL {
            return;
        }
        self.since.set(Instant::now());
        let sent_bytes = self.sent_bytes.take();
        if sent_bytes < MUCH_BYTES && self.is_busy.replace(false) {
            self.told.uplink(false);
        }
    }
}

/// A way up. Dropped, its upload is over.
#[derive(Debug)]
pub(crate) struct Lane {
    uplink: Rc<Uplink>,
    who: Who,
    class: ClassId,
    uploaded: Rc<Cell<u64>>,
    // What is none is counted and not held back.
    is_upload: bool,
    place: Option<Place>,
}

impl Lane {
    /// How many of these bytes may be sent now, not none; the task is woken when some may.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<usize> {
        let Some(desk) = self.uplink.desk().filter(|_| self.is_upload) else { return Poll::Ready(bytes) };
        let place = self.place.get_or_insert_with(|| desk.arrive(&self.who, self.class, None, "upload".into()));
        ready!(place.poll_released(cx));
        place.poll_allowed(cx).map(|(most, _)| usize::try_from(most).unwrap_or(usize::MAX).min(bytes))
    }

    /// So many were.
    pub(crate) fn sent(&self, bytes: usize) {
        self.uploaded.set(self.uploaded.get() + bytes as u64);
        match (&self.place, self.uplink.desk()) {
            (Some(place), _) => place.received(bytes as u64),
            (None, Some(desk)) => desk.stray(Some(self.class), bytes as u64),
            (None, None) => {}
        }
        self.uplink.sent(bytes);
    }

    /// There is no more for now.
    pub(crate) fn close(&mut self) {
        if let Some(place) = self.place.take() {
            place.end();
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.close();
    }
}
