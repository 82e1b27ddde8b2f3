//! `dovetail policies`: lists the policies.

use std::io::Write;

use dovetail_compare::{
    Error,
    output::{print, print_json},
    table::Table,
};
use dovetail_sched::{
    cost::KNOBS,
    registry::{Knob, REGISTRY},
    request,
};
use serde::Serialize;

use crate::args::PoliciesArgs;

#[derive(Serialize)]
struct PolicyJson {
    policy: &'static str,
    /// What it orders: packets or requests.
    orders: &'static str,
    summary: &'static str,
    cost: &'static str,
    source: &'static str,
    knobs: Vec<KnobJson>,
}

#[derive(Serialize)]
struct KnobJson {
    key: &'static str,
    default: &'static str,
    meaning: &'static str,
    /// Whether it can be changed at run time.
    retunable: bool,
}

/// A policy's entry, whichever registry it is from.
struct Listed {
    name: &'static str,
    summary: &'static str,
    cost: &'static str,
    source: &'static str,
    knobs: &'static [Knob],
}

/// All policies of a kind, with the parameters that they share.
struct Kind {
    orders: &'static str,
    cost_of: &'static str,
    policies: Vec<Listed>,
    common: &'static [Knob],
}

pub(crate) fn run(args: &PoliciesArgs, out: &mut dyn Write) -> Result<(), Error> {
    let [packets, requests] = kinds();
    if args.json {
        return print_json(out, &packets.to_json().chain(requests.to_json()).collect::<Vec<_>>());
    }
    print(
        out,
        &format!(
            "{}\n\nn is the number of backlogged flows, m that of resources. Write a policy as name or \
         name:key=value,key=value. A knob that is retunable can be changed while the scheduler runs.\n\n\
         Policies that order requests, at the users' end of a narrow downlink:\n\n\
         {}\n\nn is the number of classes.",
            packets.to_terminal(),
            requests.to_terminal()
        ),
    )
}

fn kinds() -> [Kind; 2] {
    let of_packets = REGISTRY.iter().map(|entry| Listed {
        name: entry.name,
        summary: entry.summary,
        cost: entry.cost,
        source: entry.source,
        knobs: entry.knobs,
    });
    let of_requests = request::REGISTRY.iter().map(|entry| Listed {
        name: entry.name,
        summary: entry.summary,
        cost: entry.cost,
        source: entry.source,
        knobs: entry.knobs,
    });
    [
        Kind { orders: "packets", cost_of: "cost per packet", policies: of_packets.collect(), common: KNOBS },
        Kind { orders: "requests", cost_of: "cost per event", policies: of_requests.collect(), common: &[] },
    ]
}

impl Kind {
    fn to_terminal(&self) -> String {
        let mut table = Table::new(&["policy", self.cost_of, "what it does", "source"], 4);
        let mut knobs = Table::new(&["knob", "default", "retunable", "meaning"], 4);
        let mut push = |policy: &str, knob: &Knob| {
            let retunable = if knob.retunable { "yes" } else { "no" };
            knobs.push([&format!("{policy}:{}=", knob.key), knob.default, retunable, knob.meaning].map(str::to_owned));
        };
        for policy in &self.policies {
            table.push([policy.name, policy.cost, policy.summary, policy.source].map(str::to_owned));
            policy.knobs.iter().for_each(|knob| push(policy.name, knob));
        }
        self.common.iter().for_each(|knob| push("any policy", knob));
        format!("{}\n\n{}", table.to_terminal(), knobs.to_terminal())
    }

    fn to_json(&self) -> impl Iterator<Item = PolicyJson> + '_ {
        self.policies.iter().map(|policy| {
            let common = self.common.iter().filter(|knob| policy.knobs.iter().all(|own| own.key != knob.key));
            let to_json =
                |&Knob { key, default, meaning, retunable }: &Knob| KnobJson { key, default, meaning, retunable };
            PolicyJson {
                policy: policy.name,
                orders: self.orders,
                summary: policy.summary,
                cost: policy.cost,
                source: policy.source,
                knobs: policy.knobs.iter().chain(common).map(to_json).collect(),
            }
        })
    }
}
