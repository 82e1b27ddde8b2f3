//! Draws packets ahead, on a separate thread.
//!
//! Reading a capture or a table, or drawing random packets, can take as long as the rest of a run. As long as no flow is
//! refilled, it does not depend on what the run does, so it can be done on another core, a few thousand packets ahead. The
//! run is the same to the last bit, since it receives the same packets in the same order.
//!
//! The workload is opened and stays on the drawing thread. It sends batches of packets, together with the properties of flows
//! that first appear in them. Empty batches are returned, so that there is no allocation per packet.

use std::{
    cell::Cell,
    panic::resume_unwind,
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread,
};

use dovetail_sched::{FlowId, Weight, cost::ProgramTable};
use dovetail_sim::workload::{Arrival, Notice, Workload, WorkloadError};

/// Packets per batch: together about 400 KiB, which move from one core's cache to the other's.
const BATCH: usize = 4096;

/// Most batches ready at a time.
const READY: usize = 4;

/// Calls `work` with the workload that `open` returns, with packets drawn ahead on another thread; on this one if they depend
/// on the run ([`Workload::is_open_loop`]). If `work` ends early, so does the thread.
///
/// # Errors
/// Those of `open`.
///
/// # Panics
/// If the workload does.
pub fn drawn_ahead<E: Send, R>(
    open: impl Fn() -> Result<Box<dyn Workload>, E> + Sync,
    work: impl FnOnce(&mut dyn Workload) -> R,
) -> Result<R, E> {
    thread::scope(|scope| {
        let (full, ready) = sync_channel(READY);
        let (back, empty) = channel();
        let open = &open;
        let drawing = scope.spawn(move || -> Result<(), E> {
            let workload = open()?;
            if workload.is_open_loop() {
                draw(workload, &full, &empty);
            }
            Ok(())
        });
        if let Ok(Message::Opened(opened)) = ready.recv() {
            return Ok(work(&mut Ahead::new(opened, ready, back)));
        }
        match drawing.join() {
            Ok(opened) => opened?,
            Err(panic) => resume_unwind(panic),
        }
        Ok(work(open()?.as_mut()))
    })
}

enum Message {
    Opened(Opened),
    Batch(Batch),
    End(Result<(), WorkloadError>, Vec<Notice>),
}

struct Opened {
    resources: Vec<String>,
    programs: ProgramTable,
    packets_hint: Option<u64>,
}

#[derive(Default)]
struct Batch {
    arrivals: Vec<Arrival>,
    // The flows that first appear in it, in order.
    flows: Vec<Known>,
}

struct Known {
    flow: FlowId,
    weight: Weight,
    resource_weights: Option<Vec<Weight>>,
    label: String,
    class: Option<String>,
}

impl Known {
    fn of(workload: &dyn Workload, flow: FlowId) -> Self {
        Self {
            flow,
            weight: workload.weight(flow),
            resource_weights: workload.resource_weights(flow).map(<[Weight]>::to_vec),
            label: workload.label(flow),
            class: workload.class(flow).map(str::to_owned),
        }
    }
}

/// Draws all packets, or until the run is over.
fn draw(mut workload: Box<dyn Workload>, full: &SyncSender<Message>, empty: &Receiver<Batch>) {
    let opened = Opened {
        resources: workload.resources().to_vec(),
        programs: workload.programs(),
        packets_hint: workload.packets_hint(),
    };
    if full.send(Message::Opened(opened)).is_err() {
        return;
    }
    let mut has_appeared: Vec<bool> = Vec::new();
    let mut ended = Ok(true);
    while matches!(ended, Ok(true)) {
        let mut batch = empty.try_recv().unwrap_or_default();
        batch.arrivals.clear();
        batch.flows.clear();
        while batch.arrivals.len() < BATCH {
            ended = workload.next().map(|next| {
                batch.arrivals.extend(next);
                next.is_some()
            });
            let (Ok(true), Some(arrival)) = (&ended, batch.arrivals.last()) else { break };
            let flow = arrival.flow;
            if flow.index() >= has_appeared.len() {
                has_appeared.resize(flow.index() + 1, false);
            }
            if !core::mem::replace(&mut has_appeared[flow.index()], true) {
                batch.flows.push(Known::of(&*workload, flow));
            }
        }
        if !batch.arrivals.is_empty() && full.send(Message::Batch(batch)).is_err() {
            return;
        }
    }
    // The run may end before; that is not an error.
    let _ = full.send(Message::End(ended.map(drop), workload.notices()));
}

/// The workload as seen by the run.
struct Ahead {
    opened: Opened,
    ready: Receiver<Message>,
    back: Sender<Batch>,
    batch: Batch,
    taken: usize,
    // The batch's flow that was queried last.
    asked: Cell<usize>,
    has_ended: bool,
    notices: Vec<Notice>,
}

impl Ahead {
    fn new(opened: Opened, ready: Receiver<Message>, back: Sender<Batch>) -> Self {
        Self {
            opened,
            ready,
            back,
            batch: Batch::default(),
            taken: 0,
            asked: Cell::new(0),
            has_ended: false,
            notices: Vec::new(),
        }
    }

    /// Replaces the exhausted batch with the next; returns whether there is one.
    #[cold]
    fn fetch(&mut self) -> Result<bool, WorkloadError> {
        if self.has_ended {
            return Ok(false);
        }
        match self.ready.recv() {
            Ok(Message::Batch(batch)) => {
                let used = core::mem::replace(&mut self.batch, batch);
                // At the end of the stream it is not accepted.
                let _ = self.back.send(used);
                self.taken = 0;
                self.asked.set(0);
                Ok(true)
            }
            Ok(Message::End(ended, notices)) => {
                self.has_ended = true;
                self.notices = notices;
                ended.map(|()| false)
            }
            // The thread panicked, which the scope propagates.
            Ok(Message::Opened(_)) | Err(_) => {
                self.has_ended = true;
                Ok(false)
            }
        }
    }

    /// Properties of a flow of this batch. Flows are queried in order, each more than once.
    fn known(&self, flow: FlowId) -> Option<&Known> {
        let is_at = |at: usize| self.batch.flows.get(at).is_some_and(|known| known.flow == flow);
        let asked = self.asked.get();
        let at = [asked, asked + 1]
            .into_iter()
            .find(|&at| is_at(at))
            .or_else(|| self.batch.flows.iter().position(|known| known.flow == flow))?;
        self.asked.set(at);
        self.batch.flows.get(at)
    }
}

impl Workload for Ahead {
    fn resources(&self) -> &[String] {
        &self.opened.resources
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        if self.taken == self.batch.arrivals.len() && !self.fetch()? {
            return Ok(None);
        }
        self.taken += 1;
        Ok(self.batch.arrivals.get(self.taken - 1).copied())
    }

    #[inline]
    fn next_into(&mut self, arrival: &mut Arrival) -> Result<bool, WorkloadError> {
        if self.taken == self.batch.arrivals.len() && !self.fetch()? {
            return Ok(false);
        }
        *arrival = self.batch.arrivals[self.taken];
        self.taken += 1;
        Ok(true)
    }

    fn is_open_loop(&self) -> bool {
        true
    }

    fn weight(&self, flow: FlowId) -> Weight {
        self.known(flow).map_or(Weight::ONE, |known| known.weight)
    }

    fn resource_weights(&self, flow: FlowId) -> Option<&[Weight]> {
        self.known(flow)?.resource_weights.as_deref()
    }

    fn programs(&self) -> ProgramTable {
        self.opened.programs.clone()
    }

    /// The label of a flow that first appears in the current batch; the number of any other flow.
    fn label(&self, flow: FlowId) -> String {
        self.known(flow).map_or_else(|| flow.to_string(), |known| known.label.clone())
    }

    fn class(&self, flow: FlowId) -> Option<&str> {
        self.known(flow)?.class.as_deref()
    }

    fn packets_hint(&self) -> Option<u64> {
        self.opened.packets_hint
    }

    /// Empty before the end.
    fn notices(&self) -> Vec<Notice> {
        self.notices.clone()
    }
}
