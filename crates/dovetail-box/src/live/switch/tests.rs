//! Runs the two programs in the kernel, without an interface.

use super::*;

/// A switch, or `None` where it cannot be set up.
fn switch() -> Option<Switch> {
    match Switch::open() {
        Ok(switch) => Some(switch),
        Err(SwitchError::NotPermitted { .. }) => {
            dovetail_skip::skipped("BPF programs need root");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

const HOUR: Nanos = Nanos::from_secs(3600);

const WHOLE: u32 = u32::MAX;
const NEXT: u32 = u32::MAX;
const DROP: u32 = 2;

/// What filter and ingress return for one frame, with nothing else running on the processor in between.
fn one_frame(switch: &Switch) -> (u32, u32) {
    (bpf::run(switch.filter()).unwrap(), bpf::run(switch.ingress.as_fd()).unwrap())
}

/// Pins this thread to one processor.
fn stay() {
    let mut here = rustix::thread::CpuSet::new();
    here.set(rustix::thread::sched_getcpu());
    rustix::thread::sched_setaffinity(None, &here).unwrap();
}

#[test]
fn whose_a_frame_is_is_decided_once() {
    let Some(switch) = switch() else { return };
    stay();
    assert_eq!(one_frame(&switch), (0, NEXT), "a new switch leaves all to the bridge");
    switch.take_over(now(), HOUR);
    assert_eq!(one_frame(&switch), (WHOLE, DROP));
    assert_eq!(bpf::run(switch.ingress.as_fd()).unwrap(), NEXT, "a decision holds for one frame");
    // The deadline passes between the two programs.
    assert_eq!(bpf::run(switch.filter()).unwrap(), WHOLE);
    switch.hand_over();
    assert_eq!(bpf::run(switch.ingress.as_fd()).unwrap(), DROP);
    assert_eq!(one_frame(&switch), (0, NEXT));
    // And is renewed between them.
    assert_eq!(bpf::run(switch.filter()).unwrap(), 0);
    switch.take_over(now(), Nanos::MAX);
    assert_eq!(bpf::run(switch.ingress.as_fd()).unwrap(), NEXT);
    assert_eq!(one_frame(&switch), (WHOLE, DROP));
    switch.take_over(Nanos::ZERO, Nanos(1));
    assert_eq!(one_frame(&switch), (0, NEXT));
}

#[test]
fn a_lapse_is_when_the_deadline_is_reached() {
    let Some(switch) = switch() else { return };
    assert!(switch.has_lapsed(Nanos::ZERO), "a new switch has");
    assert!(!switch.renew(Nanos(100), Nanos(400)) && switch.has_lapsed(Nanos(100)), "a lapse is not undone unnoticed");
    switch.take_over(Nanos(100), Nanos(400));
    assert!(!switch.has_lapsed(Nanos(499)) && switch.has_lapsed(Nanos(500)));
    assert!(switch.renew(Nanos(499), Nanos(400)));
    assert!(!switch.has_lapsed(Nanos(898)) && !switch.renew(Nanos(899), Nanos(400)));
    assert!(switch.has_lapsed(Nanos(899)));
    switch.hand_over();
    assert!(switch.has_lapsed(Nanos(499)));
}

#[test]
fn what_there_is_not_cannot_be_silenced() {
    let Some(mut switch) = switch() else { return };
    let error = switch.silence(&[0x7fff_fff0]).unwrap_err();
    assert!(matches!(error, SwitchError::NoInterface { index: 0x7fff_fff0 }), "{error}");
    assert!(switch.links.is_empty());
}

#[test]
fn a_program_that_is_refused_says_why() {
    let Some(_) = switch() else { return };
    // It ends without a return value.
    let exit = bpf::Instruction { code: 0x95, registers: 0, offset: 0, immediate: 0 };
    let refused = bpf::load("wrong", Kind::Classifier, &[exit]).map_err(refused("wrong")).unwrap_err().to_string();
    assert!(refused.starts_with("the kernel refused the program 'wrong' (Permission denied"), "{refused}");
    assert!(refused.contains("\n  ") && refused.contains("R0 !read_ok"), "{refused}");
}
