//! What goes up the link: requests' bodies and what clients send through tunnels.
//!
//! An uplink that is full holds up everything: requests, acknowledgements of what comes down, probes. Where its rate is known
//! the gateway sends a little less than that, so that the queue is here and not there, and shares it by class and user as it
//! does the downlink: a scheduler of its own, whose turns are leave to send. The first 20 kB of each upload go before the rest of
//! others. Acknowledgements are not scheduled but counted: a segment of 66 bytes for two full ones.
//!
//! Where the rate is not known nothing is held back. What a probe waits may then be the uplink's queue, and where the rate is not
//! what it is said to be it may as well: the downlink's scheduler is told while much is sent.

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

use crate::{place::Place, who::Who};

/// An acknowledgement's frame.
const ACK_BYTES: f64 = 66.0;
/// What is shorter is no upload: a request's header, a keystroke, acknowledgements within TLS.
const LEAST: usize = 256;

/// The uplink.
#[derive(Debug)]
pub(crate) struct Uplink {
    // Where its rate is known.
    dispatcher: Option<Dispatcher<Who>>,
    // The downlink's, to be told.
    told: Dispatcher<Who>,
    began: Instant,
    used: RefCell<UplinkUse>,
}

impl Uplink {
    /// `rate`: bytes of payload a second, if known. Classes as the downlink's.
    pub(crate) fn new(rate: Option<f64>, classes: &[Weight], downlink: &Dispatcher<Who>) -> Result<Self, PolicyError> {
        let dispatcher =
            |rate: f64| Dispatcher::new(&UPLOADS.parse::<RequestSpec>()?, &RequestSetup::for_uplink(rate), classes);
        Ok(Self {
            dispatcher: rate.map(dispatcher).transpose()?,
            told: downlink.clone(),
            began: Instant::now(),
            used: RefCell::new(UplinkUse::new(ACK_BYTES)),
        })
    }

    /// Where uploads wait.
    pub(crate) const fn dispatcher(&self) -> Option<&Dispatcher<Who>> {
        self.dispatcher.as_ref()
    }

    /// A way up for this many bytes, or for an upload of unknown length.
    ///
    /// `uploaded` counts what goes.
    pub(crate) fn lane(
        self: &Rc<Self>,
        (who, class): (&Who, ClassId),
        uploaded: &Rc<Cell<u64>>,
        bytes: Option<usize>,
    ) -> Lane {
        let is_upload = bytes.is_none_or(|bytes| bytes >= LEAST);
        Lane { uplink: Rc::clone(self), who: who.clone(), class, uploaded: Rc::clone(uploaded), is_upload, place: None }
    }

    /// This many bytes came down, and are acknowledged.
    pub(crate) fn acknowledges(&self, bytes: usize) {
        if let Some(dispatcher) = &self.dispatcher
            && let Some(acked) = self.used.borrow_mut().acknowledges(bytes as u64)
        {
            dispatcher.stray(None, acked);
        }
    }

    /// Bytes were sent.
    fn sent(&self, bytes: usize) {
        let news = self.used.borrow_mut().sent(bytes as u64, self.now());
        self.tell(news);
    }

    /// Whether a spell is over, and another begins. To be called once a second.
    pub(crate) fn look(&self) {
        let news = self.used.borrow_mut().look(self.now());
        self.tell(news);
    }

    fn tell(&self, news: Option<bool>) {
        if let Some(is_busy) = news {
            self.told.uplink(is_busy);
        }
    }

    fn now(&self) -> Nanos {
        self.began.elapsed().into()
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
        let Some(dispatcher) = self.uplink.dispatcher().filter(|_| self.is_upload) else { return Poll::Ready(bytes) };
        let place = self.place.get_or_insert_with(|| dispatcher.arrive(&self.who, self.class, None, "upload".into()));
        ready!(place.poll_released(cx));
        place.poll_allowed(cx).map(|(most, _)| usize::try_from(most).unwrap_or(usize::MAX).min(bytes))
    }

    /// So many were.
    pub(crate) fn sent(&self, bytes: usize) {
        self.uploaded.set(self.uploaded.get() + bytes as u64);
        match (&self.place, self.uplink.dispatcher()) {
            (Some(place), _) => place.received(bytes as u64),
            (None, Some(dispatcher)) => dispatcher.stray(Some(self.class), bytes as u64),
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
