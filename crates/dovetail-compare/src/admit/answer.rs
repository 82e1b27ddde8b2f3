//! Decisions on all requested reservations, in order.

use std::collections::HashMap;

use dovetail_sched::{
    Nanos,
    cost::admission::{Admission, Admitted, Bound, Broken, FlowHandle, Refusal, Reservation, Whose},
};

use super::request::Request;

/// The decision on one reservation.
pub(super) struct Answer<'a> {
    pub(super) name: &'a str,
    pub(super) asked: &'a Reservation,
    pub(super) said: Result<Admitted, Refusal>,
    /// Its bound among all admitted flows at the end; if refused, among those admitted when it was requested.
    pub(super) composite: Option<Nanos>,
    pub(super) separate: Option<Nanos>,
}

/// All decisions, and the state of the node after them.
pub(super) struct Answers<'a> {
    pub(super) request: &'a Request,
    pub(super) admission: Admission,
    pub(super) list: Vec<Answer<'a>>,
    /// Best-effort flows that were refused, and why.
    pub(super) turned_away: Option<(u32, Refusal)>,
    /// For each listed best-effort queue, whether a further packet is accepted.
    pub(super) queues: Vec<(u32, Result<(), Refusal>)>,
    names: HashMap<FlowHandle, &'a str>,
}

impl<'a> Answers<'a> {
    pub(super) fn of(request: &'a Request, by: Bound) -> Self {
        let mut admission = Admission::going_by(request.node.clone(), by);
        let mut names = HashMap::new();
        let mut list = Vec::with_capacity(request.reservations.len());
        for (name, asked) in &request.reservations {
            let [composite, separate] =
                [Bound::Composite, Bound::Separate].map(|bound| admission.delay_if_admitted(asked, bound));
            let said = admission.admit(asked);
            if let Ok(admitted) = said {
                names.insert(admitted.flow, name.as_str());
            }
            list.push(Answer { name, asked, said, composite, separate });
        }
        for answer in &mut list {
            if let Ok(admitted) = answer.said {
                answer.composite = admission.delay(admitted.flow, Bound::Composite);
                answer.separate = admission.delay(admitted.flow, Bound::Separate);
            }
        }
        let refused = (0..request.flows).find_map(|before| Some((before, admission.admit_best_effort().err()?)));
        let turned_away = refused.map(|(before, why)| (request.flows - before, why));
        let queues = request.waiting.iter().map(|&waiting| (waiting, admission.admit_packet(waiting))).collect();
        Self { request, admission, list, turned_away, queues, names }
    }

    /// A flow's name in the file.
    pub(super) fn name(&self, flow: FlowHandle) -> &'a str {
        self.names.get(&flow).copied().unwrap_or_default()
    }

    /// The flow whose delay is too long; `None` for the requesting flow.
    pub(super) fn whose(&self, broken: &Broken) -> Option<&'a str> {
        match broken.whose {
            Whose::New => None,
            Whose::Admitted(flow) => Some(self.name(flow)),
        }
    }
}
