//! The result of offering a packet.

/// What happened to a packet offered to [`Scheduler::enqueue`](crate::Scheduler::enqueue), and to others because of it. Check
/// both fields: if there are limits in packets and in bytes, a packet can be refused after others were evicted.
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
    /// Why the packet was refused; `None` if it is queued.
    pub refused: Option<DropReason>,
    /// Whether packets were evicted: collect them with [`poll_evicted`](crate::Scheduler::poll_evicted).
    pub evicted: bool,
}

impl Admission {
    /// The packet is queued, and none was evicted.
    pub const QUEUED: Self = Self { refused: None, evicted: false };

    /// The packet is refused, and none was evicted.
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
    /// The demand is for another number of resources than the scheduler was built for.
    WrongDemand,
}
