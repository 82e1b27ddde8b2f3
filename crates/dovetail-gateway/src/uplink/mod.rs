//! Schedules uplink traffic: request bodies and what clients send through tunnels.
//!
//! A full uplink delays everything: requests, acknowledgements of downloads, probes. If its rate is known, the gateway sends
//! slightly less than that, so that the queue builds up here rather than there, and shares it by class and user like the
//! downlink: with a scheduler of its own, whose turns are permission to send. The first 20 kB of each upload go ahead of the
//! rest of others. Acknowledgements are not scheduled but counted: a segment of 66 bytes for two full ones.
//!
//! If the uplink carries less than configured, that is learnt ([`learning`]). If the rate is unknown, nothing is held back.
//! Probes may then measure the uplink's queue, as they may until a slower rate is learnt: the downlink's scheduler is told while
//! much is being sent.

mod learning;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    task::{Context, Poll, ready},
    time::Instant,
};

use dovetail_sched::{
    Nanos, PolicyError, Weight,
    request::{ClassId, RequestSetup, RequestSpec, UPLOADS, UplinkUse},
};
use dovetail_tower::Dispatcher;
use tokio::time::{MissedTickBehavior, interval};

pub(crate) use self::learning::{Learning, Metering};
use crate::{config, place::Place, who::Who};

/// An acknowledgement's frame.
const ACK_BYTES: f64 = 66.0;
/// Anything shorter is not an upload: a request's header, a keystroke, acknowledgements within TLS.
const MIN_BYTES: usize = 256;

/// The uplink.
#[derive(Debug)]
pub(crate) struct Uplink {
    // `Some` if its rate is known.
    paced: Option<Paced>,
    // The downlink's, which is told while the uplink is busy.
    told: Dispatcher<Who>,
    began: Instant,
    used: RefCell<UplinkUse>,
    sent_bytes: Cell<u64>,
}

/// Paced uploads.
#[derive(Debug)]
struct Paced {
    dispatcher: Dispatcher<Who>,
    learning: Rc<Learning>,
}

impl Uplink {
    /// `given` is the uplink's configuration, if its rate is known. Classes are the downlink's, whose rate is `bytes_per_s`.
    pub(crate) fn new(
        given: Option<&config::Uplink>,
        classes: &[Weight],
        (downlink, bytes_per_s): (&Dispatcher<Who>, f64),
    ) -> Result<Self, PolicyError> {
        let paced = |given: &config::Uplink| {
            let rate = given.goodput_bytes_per_s();
            let (policy, setup) = (UPLOADS.parse::<RequestSpec>()?, RequestSetup::for_uplink(rate));
            let dispatcher = Dispatcher::new(&policy, &setup, classes)?;
            Ok::<_, PolicyError>(Paced { dispatcher, learning: Rc::new(Learning::new(rate, given.learn)) })
        };
        Ok(Self {
            paced: given.map(paced).transpose()?,
            told: downlink.clone(),
            began: Instant::now(),
            used: RefCell::new(UplinkUse::new(ACK_BYTES, bytes_per_s)),
            sent_bytes: Cell::new(0),
        })
    }

    /// The scheduler of uploads, if the rate is known.
    pub(crate) fn dispatcher(&self) -> Option<&Dispatcher<Who>> {
        self.paced.as_ref().map(|paced| &paced.dispatcher)
    }

    /// What is learnt of the rate, if it is known.
    pub(crate) fn learning(&self) -> Option<&Rc<Learning>> {
        self.paced.as_ref().map(|paced| &paced.learning)
    }

    /// The capacity for uploads in bytes per second, as given or as learnt, if it is known.
    pub(crate) fn capacity(&self) -> Option<f64> {
        self.learning().map(|learning| learning.capacity())
    }

    /// Applies a changed configuration.
    pub(crate) fn reload(&self, given: &config::Uplink) {
        if let Some(Paced { dispatcher, learning }) = &self.paced {
            let rate = given.goodput_bytes_per_s();
            learning.reload(rate, given.learn);
            dispatcher.set_rate(RequestSetup::for_uplink(rate).rate);
        }
    }

    /// Changes the downlink's rate.
    pub(crate) fn set_downlink(&self, bytes_per_s: f64) {
        self.used.borrow_mut().set_downlink(bytes_per_s);
    }

    /// Learns the capacity while there are uploads.
    pub(crate) async fn learn(self: Rc<Self>) {
        let Some(Paced { dispatcher, learning }) = &self.paced else { return };
        loop {
            learning.begun().await;
            let mut ticks = interval(learning::EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while learning.is_used() {
                ticks.tick().await;
                if let Some(rate) = learning.look(self.told.far_delay(), self.now()) {
                    dispatcher.set_rate(RequestSetup::for_uplink(rate).rate);
                }
                self.tell();
            }
        }
    }

    /// A lane for this many bytes, or for an upload of unknown length.
    ///
    /// `uploaded` counts what is sent.
    pub(crate) fn lane(
        self: &Rc<Self>,
        (who, class): (&Who, ClassId),
        uploaded: &Rc<Cell<u64>>,
        bytes: Option<usize>,
    ) -> Lane {
        let is_upload = bytes.is_none_or(|bytes| bytes >= MIN_BYTES);
        Lane { uplink: Rc::clone(self), who: who.clone(), class, uploaded: Rc::clone(uploaded), is_upload, place: None }
    }

    /// Counts the acknowledgements of this many bytes received.
    pub(crate) fn acknowledges(&self, bytes: usize) {
        if let Some(Paced { dispatcher, learning }) = &self.paced
            && let Some(acked) = self.used.borrow_mut().acknowledges(bytes as u64)
        {
            dispatcher.stray(None, acked);
            learning.counts(acked);
        }
    }

    /// Whether clients send so much that the far queue's delay may be the uplink's.
    pub(crate) fn is_busy(&self) -> bool {
        self.used.borrow().is_busy()
    }

    /// Bytes that clients have sent, since the start.
    pub(crate) const fn sent_bytes(&self) -> u64 {
        self.sent_bytes.get()
    }

    /// Counts bytes that were sent.
    fn sent(&self, bytes: usize) {
        self.sent_bytes.set(self.sent_bytes.get() + bytes as u64);
        self.used.borrow_mut().sent(bytes as u64, self.now());
        self.tell();
    }

    /// Checks whether a measuring interval has ended and the next begins. To be called once a second.
    pub(crate) fn look(&self) {
        self.used.borrow_mut().look(self.now());
        self.tell();
    }

    /// Tells the downlink's scheduler whether the uplink may be what probes wait for, if that has changed.
    fn tell(&self) {
        let is_cleared = self.learning().is_some_and(|learning| learning.is_cleared(self.now()));
        let news = self.used.borrow_mut().news(is_cleared);
        if let Some(is_busy) = news {
            self.told.uplink(is_busy);
        }
    }

    fn now(&self) -> Nanos {
        self.began.elapsed().into()
    }
}

/// Permission to send, per upload. Dropping it ends the upload.
#[derive(Debug)]
pub(crate) struct Lane {
    uplink: Rc<Uplink>,
    who: Who,
    class: ClassId,
    uploaded: Rc<Cell<u64>>,
    // If false, its bytes are counted but not held back.
    is_upload: bool,
    place: Option<Place>,
}

impl Lane {
    /// How many of these bytes may be sent now, at least one; the task is woken when some may.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<usize> {
        let Some(dispatcher) = self.uplink.dispatcher().filter(|_| self.is_upload) else { return Poll::Ready(bytes) };
        let place = self.place.get_or_insert_with(|| dispatcher.arrive(&self.who, self.class, None, "upload".into()));
        ready!(place.poll_released(cx));
        place.poll_allowed(cx).map(|(most, _)| usize::try_from(most).unwrap_or(usize::MAX).min(bytes))
    }

    /// Reports that this many were sent.
    pub(crate) fn sent(&self, bytes: usize) {
        self.uploaded.set(self.uploaded.get() + bytes as u64);
        match (&self.place, self.uplink.dispatcher()) {
            (Some(place), _) => place.received(bytes as u64),
            (None, Some(dispatcher)) => dispatcher.stray(Some(self.class), bytes as u64),
            (None, None) => {}
        }
        self.uplink.sent(bytes);
    }

    /// Ends the upload; another may follow.
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
