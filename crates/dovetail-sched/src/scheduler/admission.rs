//! What becomes of a packet that is offered.

/// What became of a packet that was offered to [`Scheduler::enqueue`](crate::Scheduler::enqueue), and of others because of
/// it. Both are to be examined: where limits in packets and in bytes meet, a packet can be refused after others had to
/// go.
///
/// ```
/// # use dovetail_sched::{Demand, DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
/// # let limits = Limits { packets: Some(1), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
/// # let mut scheduler = "fifo".parse::<PolicySpec>()?.build(&Setup::new(1, limits))?;
/// # let packet = Packet {
/// #     flow: FlowId(0), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand: Demand::new(&[Nanos(1)])?
/// # };
/// # let (now, mut lost) = (Nanos::ZERO, 0);
/// # let _ = scheduler.enqueue(&packet, now);
/// let admission = scheduler.enqueue(&packet, now);
/// if admission.evicted {
///     while let Some(_packet) = scheduler.poll_evicted() {
///         lost += 1;
///     }
/// }
/// if let Some(_reason) = admission.refused {
///     lost += 1;
/// }
/// # assert_eq!((lost, admission.evicted), (1, true));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[must_use = "a refused packet is the caller's to drop and count, and evicted ones are to be collected"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Why it was not taken; `None` where it is queued.
    pub refused: Option<DropReason>,
    /// Whether there are packets that lost their places: collect them with
    /// [`poll_evicted`](crate::Scheduler::poll_evicted).
    pub evicted: bool,
}

impl Admission {
    /// It is queued, and nothing was dropped for it.
    pub const QUEUED: Self = Self { refused: None, evicted: false };

    /// It is refused, and nothing was dropped for it.
    pub const fn refused(reason: DropReason) -> Self {
        Self { refused: Some(reason), evicted: false }
    }

    /// Whether the packet is queued.
    #[must_use]
    pub const fn is_queued(self) -> bool {
        self.refused.is_none()
    }
}

/// Why a packet was refused or evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// Its flow's queue is full.
    FlowFull,
    /// The scheduler's buffer is full.
    BufferFull,
    /// The flow's id is not below [`Limits::flows`](crate::Limits::flows).
    TooManyFlows,
    /// The packet's demand is not over the number of resources that the scheduler was built for.
    WrongDemand,
}
