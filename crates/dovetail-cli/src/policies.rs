//! `dovetail policies`: what there is.

use dovetail_sched::{cost::KNOBS, registry::REGISTRY};
use serde::Serialize;

use crate::{
    args::PoliciesArgs,
    failure::Failure,
    output::{print, print_json},
    table::Table,
};

#[derive(Serialize)]
struct PolicyJson {
    policy: &'static str,
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
}

pub(crate) fn run(args: &PoliciesArgs) -> Result<(), Failure> {
    if args.json {
        return print_json(&all());
    }
    let mut table = Table::new(&["policy", "cost a packet", "what it does", "source"], 4);
    for entry in REGISTRY {
        table.push([entry.name, entry.cost, entry.summary, entry.source].map(str::to_owned));
    }
    let mut knobs = Table::new(&["knob", "default", "meaning"], 3);
    for entry in REGISTRY {
        for knob in entry.knobs {
            knobs.push([format!("{}:{}=", entry.name, knob.key), knob.default.to_owned(), knob.meaning.to_owned()]);
        }
    }
    for knob in KNOBS {
        knobs.push([format!("any policy:{}=", knob.key), knob.default.to_owned(), knob.meaning.to_owned()]);
    }
    print(&format!(
        "{}\n\n{}\n\nn is the number of backlogged flows, m that of resources. Write a policy as name or \
         name:key=value,key=value.",
        table.to_terminal(),
        knobs.to_terminal()
    ))
}

fn all() -> Vec<PolicyJson> {
    REGISTRY
        .iter()
        .map(|entry| PolicyJson {
            policy: entry.name,
            summary: entry.summary,
            cost: entry.cost,
            source: entry.source,
            knobs: entry
                .knobs
                .iter()
                .chain(KNOBS.iter().filter(|knob| entry.knobs.iter().all(|own| own.key != knob.key)))
                .map(|knob| KnobJson { key: knob.key, default: knob.default, meaning: knob.meaning })
                .collect(),
        })
        .collect()
}
