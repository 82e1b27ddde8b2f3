//! The first example of docs/embed.md: the page shows the code between the marks below.

use std::error::Error;

// On the page from here.
use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};

// On the page below, without the indentation.
fn example(
    now: Nanos,
    mut free: impl FnMut(u64),
    mut start: impl FnMut(u64, u64),
    mut ask_again_at: impl FnMut(Option<Nanos>),
) -> Result<(), Box<dyn Error>> {
    // From here.
    let spec: PolicySpec = "atfq:batch=20".parse()?;
    let mut scheduler = spec.build(&Setup::new(2, Limits::per_flow(200)))?;

    // A packet arrives: say whose it is, how long it is and what it will cost on each resource.
    let packet = Packet {
        flow: FlowId(7),
        bytes: 1000,
        arrival: now,
        handle: 42, // your name for the packet's body
        demand: Demand::new(&[Nanos::from_micros(12), Nanos::from_micros(20)])?,
    };
    let admission = scheduler.enqueue(&packet, now);
    if admission.evicted {
        // Other packets were evicted, possibly even if this one was refused.
        while let Some(lost) = scheduler.poll_evicted() {
            free(lost.handle);
        }
    }
    if let Some(_reason) = admission.refused {
        free(packet.handle);
    }

    // The first resource could take a packet.
    match scheduler.dequeue(now) {
        Some(next) => start(next.packet.handle, next.ticket),
        None => ask_again_at(scheduler.poll_at()), // or after the next arrival or feedback
    }
    // Until here.
    Ok(())
}

#[test]
fn the_packet_is_started() {
    let mut started = Vec::new();
    let nothing_is_freed = |handle| panic!("packet {handle} was dropped");
    let nothing_waits = |at| panic!("nothing was started, until {at:?}");
    example(Nanos::ZERO, nothing_is_freed, |handle, _ticket| started.push(handle), nothing_waits).unwrap();
    assert_eq!(started, [42]);
}

#[test]
fn the_page_shows_this_code() {
    let source = include_str!("embedding_packets.rs");
    let between = |from, to| source.split(from).nth(1).and_then(|rest| rest.split(to).next()).expect("marks").trim();
    let imports = between("// On the page from here.\n", "// On the page below");
    let code = between("    // From here.\n", "    // Until here.\n").replace("\n    ", "\n");
    let page = include_str!("../../../../docs/embed.md");
    assert!(
        page.contains(&format!("```rust\n{imports}\n\n{code}\n```\n")),
        "docs/embed.md shows other code than crates/dovetail-cli/tests/all/embedding_packets.rs"
    );
}
