//! From a configuration to a box that is ready to run.

use std::{fs::File, os::fd::AsFd, path::Path};

use dovetail_sched::{Limits, Nanos, Scheduler, Setup, cost::ProgramTable};
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_getaffinity, sched_setaffinity};

use super::{
    LiveError,
    classes::Classes,
    port::Port,
    switch::{
        Switch,
        ports::{self, check},
    },
};
use crate::{
    config::{Config, OnFailure, Queues},
    node::{Node, Pace},
};

/// The nice value of the highest priority.
const HIGHEST: i32 = -20;

/// Resources: CPU, link.
const RESOURCES: usize = 2;

/// Moves this thread into the namespace of the interfaces, if they have one of their own.
pub(super) fn enter_namespace(config: &Config) -> Result<(), LiveError> {
    let Some(namespace) = &config.interfaces[0].namespace else { return Ok(()) };
    let enter = || {
        let file = File::open(Path::new("/run/netns").join(namespace))?;
        Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
    };
    enter().map_err(|source| LiveError::Namespace { namespace: namespace.clone(), source })
}

/// Looks up both interfaces, and checks that they suit what is to happen on failure.
pub(super) fn find_ports(config: &Config) -> Result<[ports::Port; 2], LiveError> {
    let [inside, outside] = &config.interfaces;
    let found = [ports::Port::find(&inside.name)?, ports::Port::find(&outside.name)?];
    check(found.each_ref(), config.on_failure)?;
    Ok(found)
}

/// A switch with both ports. From here on the machine does not see the frames that the box takes, which are none yet.
pub(super) fn open_ports(config: &Config) -> Result<(Switch, [Port; 2]), LiveError> {
    let found = find_ports(config)?;
    let mut switch = Switch::open()?;
    found.iter().try_for_each(|port| switch.claim(port))?;
    let [inside, outside] = &found;
    let mut ports = [Port::open(inside, config.io, &mut switch)?, Port::open(outside, config.io, &mut switch)?];
    if config.link.pace == Pace::Device {
        ports[config.toward.index()].hold_little(config.link.rate)?;
    }
    Ok((switch, ports))
}

/// A scheduler of the configured policy that starts with what is known of programs.
pub(super) fn scheduler(config: &Config, programs: ProgramTable) -> Result<Box<dyn Scheduler>, LiveError> {
    let setup = Setup { programs, ..Setup::new(RESOURCES, limits(&config.queues)) };
    Ok(config.policy.build(&setup)?)
}

fn limits(queues: &Queues) -> Limits {
    Limits {
        flow_packets: Some(queues.packets_per_flow),
        packets: Some(queues.packets),
        flows: queues.flows,
        on_full: queues.on_full,
        ..Limits::UNLIMITED
    }
}

/// A node without packets.
pub(super) fn node(config: &Config, classes: &Classes) -> Result<Node, LiveError> {
    let scheduler = scheduler(config, classes.programs())?;
    Ok(Node::with_workers(scheduler, config.link, config.room, config.cpu.workers))
}

/// Binds this thread to its core, raises its priority, and requests timely wake-ups.
pub(super) fn settle_in(config: &Config) -> Result<(), LiveError> {
    bind_to_core(config)?;
    go_first();
    if super::waiting::wake_in_time().is_err() {
        tracing::warn!("timers cannot be made exact: packets may leave some 50 µs late");
    }
    Ok(())
}

/// Binds this thread to the configured core, if there is one.
pub(super) fn bind_to_core(config: &Config) -> Result<(), LiveError> {
    let Some(core) = config.cpu.core else { return Ok(()) };
    let mut cores = CpuSet::new();
    if usize::from(core) < CpuSet::MAX_CPU {
        cores.set(core.into());
    }
    sched_setaffinity(None, &cores).map_err(|wrong| LiveError::Core { core, source: wrong.into() })
}

/// Keeps this worker thread off the box's core, and raises its priority.
pub(super) fn settle_in_beside(core: Option<u16>) {
    let core = core.map(usize::from).filter(|&core| core < CpuSet::MAX_CPU);
    if let (Some(core), Ok(mut cores)) = (core, sched_getaffinity(None)) {
        cores.unset(core);
        // If there is no other core, they share it.
        if cores.count() > 0
            && let Err(wrong) = sched_setaffinity(None, &cores)
        {
            tracing::warn!("workers may run on the box's core: {wrong}");
        }
    }
    go_first();
}

fn go_first() {
    // Linux applies this to the calling thread only.
    if let Err(wrong) = setpriority_process(None, HIGHEST) {
        tracing::warn!("priority: {wrong}: on a busy machine packets wait for other programs");
    }
}

/// How long the box may be silent before the bridge takes over: longer than a busy machine usually keeps a thread waiting,
/// and half of the 50 ms for which traffic may be interrupted.
pub(super) const ALIVE_FOR: Nanos = Nanos::from_millis(25);
/// How long it may be silent where there is no bridge, before what it holds is stale: nothing else forwards meanwhile, and a
/// TCP that follows RFC 6298 (2.4) waits at least as long before it sends anew.
const ALIVE_FOR_ALONE: Nanos = Nanos::from_secs(1);

/// How long a box may be silent before it discards what it holds.
pub(super) const fn alive_for(on_failure: OnFailure) -> Nanos {
    match on_failure {
        OnFailure::Open => ALIVE_FOR,
        OnFailure::Closed => ALIVE_FOR_ALONE,
    }
}
