//! How programs fail: fuel, memory, stack, traps, and quarantine. Nothing here depends on timing; that a test ends at all
//! shows that a program was stopped.

use dovetail_box::{
    functions::{NetworkFunction, Reason, Verdict},
    programs::{Counts, Library, Program, ProgramLimits, Quarantined},
};

use crate::writing::{FORWARD, handling, limited, program, wasm, with};

/// The outcome of one packet, which is unchanged if it was dropped.
fn verdict(program: &mut Program, first: u8) -> Verdict {
    let mut frame = vec![9; 60];
    frame[0] = first;
    let came = frame.clone();
    let verdict = program.process(&mut frame);
    assert!(verdict == Verdict::Forward || frame == came, "{verdict:?} changed the frame");
    verdict
}

#[test]
fn an_endless_loop_ends_and_is_counted() {
    let mut program =
        program(&handling("(loop $again (i64.store (local.get $frame) (i64.const 0)) (br $again)) unreachable"));
    for packets in 1..=3 {
        assert_eq!(verdict(&mut program, 0), Verdict::Drop(Reason::OutOfFuel));
        assert_eq!(program.counts(), Counts { out_of_fuel: packets, ..Counts::default() });
    }
}

#[test]
fn endless_loops_of_calls_into_the_host_end() {
    let limits = ProgramLimits { traps: u32::MAX, ..ProgramLimits::default() };
    for body in [
        "(loop $again (drop (memory.grow (i32.const 0))) (br $again)) unreachable",
        "(loop $again (drop (memory.grow (i32.const 1))) (br $again)) unreachable",
        "(loop $again (drop (table.grow (ref.null func) (i32.const 1))) (br $again)) unreachable",
        "(loop $again (memory.fill (i32.const 0) (i32.const 7) (i32.const 131072)) (br $again)) unreachable",
        "(loop $again (memory.copy (i32.const 0) (i32.const 7) (i32.const 131000)) (br $again)) unreachable",
    ] {
        let mut program = limited(&with("(table 1 funcref)", body), limits);
        assert_eq!(verdict(&mut program, 0), Verdict::Drop(Reason::OutOfFuel), "{body}");
    }
}

/// An instruction that writes 100,000 bytes costs more than one unit of fuel.
#[test]
fn instructions_that_write_much_take_much_fuel() {
    let verdict_of = |bytes: u32, fuel_per_packet| {
        let body = format!("(memory.fill (i32.const 2000) (i32.const 7) (local.get $length)) {FORWARD}")
            .replace("(local.get $length))", &format!("(i32.add (i32.const {bytes}) (local.get $length)))"));
        verdict(&mut limited(&handling(&body), ProgramLimits { fuel_per_packet, ..ProgramLimits::default() }), 0)
    };
    assert_eq!(verdict_of(1000, 50_000), Verdict::Drop(Reason::BadAnswer));
    assert_eq!(verdict_of(100_000, 50_000), Verdict::Drop(Reason::OutOfFuel));
}

#[test]
fn fuel_is_a_packet_s_and_not_saved_for_the_next() {
    // 1,000 iterations per packet.
    let text = handling(
        "(local $round i32)
         (loop $again (br_if $again (i32.lt_u
           (local.tee $round (i32.add (local.get $round) (i32.const 1))) (i32.const 1000)))) (i64.const 0)",
    );
    let limits = |fuel_per_packet| ProgramLimits { fuel_per_packet, ..ProgramLimits::default() };
    let mut enough = limited(&text, limits(10_000));
    for _ in 0..100 {
        assert_eq!(verdict(&mut enough, 0), Verdict::Untouched);
    }
    assert_eq!(verdict(&mut limited(&text, limits(1000)), 0), Verdict::Drop(Reason::OutOfFuel));
}

#[test]
fn memory_grows_to_its_limit_and_no_further() {
    // Grows its memory until it cannot, and writes the number of pages into the frame.
    let text = handling(&format!(
        "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
         (i32.store (local.get $frame) (memory.size)) {FORWARD}"
    ));
    for (memory_bytes, pages) in [(1 << 20, 16u32), (5 << 16, 5), ((6 << 16) - 1, 5)] {
        let mut program = limited(&text, ProgramLimits { memory_bytes, ..ProgramLimits::default() });
        for _ in 0..2 {
            let mut frame = vec![0; 60];
            assert_eq!(program.process(&mut frame), Verdict::Forward);
            assert_eq!(frame[..4], pages.to_le_bytes());
        }
    }
}

#[test]
fn tables_stay_within_their_limit() {
    let mut program = program(&with(
        "(table 1 funcref)",
        "(if (i32.ne (table.grow (ref.null func) (i32.const 100000)) (i32.const -1)) (then unreachable)) (i64.const 0)",
    ));
    assert_eq!(verdict(&mut program, 0), Verdict::Untouched);
}

#[test]
fn every_way_to_trap_is_a_trap() {
    let recursion = with(
        "(func $deeper (param i32) (result i32) (i32.add (i32.const 1) (call $deeper (local.get 0))))",
        "(drop (call $deeper (i32.const 0))) (i64.const 0)",
    );
    for text in [
        recursion,
        handling("unreachable"),
        handling("(i64.div_u (i64.const 1) (i64.load8_u offset=1 (i32.const 0)))"),
        handling("(i64.load (i32.const 131065))"),
        handling("(i64.load offset=0xffffffff (i32.const -1))"),
        handling("(memory.fill (i32.const 131000) (i32.const 0) (i32.const 1000)) (i64.const 0)"),
        handling("(i64.trunc_f64_s (f64.const nan))"),
        with("(table 1 funcref)", "(call_indirect (i32.const 0)) (i64.const 0)"),
        with("(table 1 funcref)", "(call_indirect (i32.const 7)) (i64.const 0)"),
    ] {
        let mut program = limited(&text, ProgramLimits { fuel_per_packet: 100_000_000, ..ProgramLimits::default() });
        assert_eq!(verdict(&mut program, 0), Verdict::Drop(Reason::Trapped), "{text}");
        assert_eq!(program.counts(), Counts { trapped: 1, ..Counts::default() });
    }
}

/// Traps on packets that begin with 1.
fn touchy(limits: ProgramLimits) -> Program {
    let body = "(if (i32.eq (i32.load8_u (local.get $frame)) (i32.const 1)) (then unreachable))";
    limited(&handling(&format!("{body} {FORWARD}")), limits)
}

#[test]
fn a_program_that_fails_too_often_is_in_quarantine() {
    for (quarantined, expected) in
        [(Quarantined::Drop, Verdict::Drop(Reason::Quarantined)), (Quarantined::Forward, Verdict::Untouched)]
    {
        let mut program = touchy(ProgramLimits { traps: 3, quarantined, ..ProgramLimits::default() });
        for _ in 0..2 {
            assert_eq!(verdict(&mut program, 1), Verdict::Drop(Reason::Trapped));
            assert!(!program.is_quarantined());
            assert_eq!(verdict(&mut program, 0), Verdict::Forward);
        }
        assert_eq!(verdict(&mut program, 1), Verdict::Drop(Reason::Trapped));
        assert!(program.is_quarantined());
        for first in [0, 1, 0, 1] {
            assert_eq!(verdict(&mut program, first), expected);
        }
        assert_eq!(program.counts(), Counts { handled: 2, trapped: 3, quarantined: 4, ..Counts::default() });
    }
}

#[test]
fn failures_of_all_kinds_count_together() {
    let mut program = limited(
        &handling(
            "(if (i32.eq (i32.load8_u (local.get $frame)) (i32.const 1)) (then unreachable))
             (if (i32.eq (i32.load8_u (local.get $frame)) (i32.const 2)) (then (loop $again (br $again))))
             (i64.const -1)",
        ),
        ProgramLimits { traps: 3, ..ProgramLimits::default() },
    );
    let reasons = [1, 2, 0, 0].map(|first| verdict(&mut program, first));
    let expected = [Reason::Trapped, Reason::OutOfFuel, Reason::BadAnswer, Reason::Quarantined];
    assert_eq!(reasons, expected.map(Verdict::Drop));
}

#[test]
fn a_failure_is_forgotten_after_enough_packets() {
    let run = |packets_to_forget_a_trap, good_between: u32| {
        let limits = ProgramLimits { traps: 3, packets_to_forget_a_trap, ..ProgramLimits::default() };
        let mut program = touchy(limits);
        for _ in 0..20 {
            verdict(&mut program, 1);
            for _ in 0..good_between {
                verdict(&mut program, 0);
            }
        }
        program.is_quarantined()
    };
    assert!(!run(10, 10), "each is forgotten before the next");
    assert!(run(10, 9), "they come sooner than they are forgotten");
    assert!(run(0, 1000), "none is forgotten");
}

#[test]
fn the_first_failure_of_a_version_is_told_once_with_its_reason() {
    for (body, told) in [
        ("(i64.div_u (i64.const 1) (i64.const 0))", "traps (wasm trap: integer divide by zero)"),
        ("(loop $again (br $again)) unreachable", "runs out of fuel"),
        ("(i64.const 0x0300000000000007)", "returns an invalid answer (0x0300000000000007)"),
    ] {
        let mut library = Library::new(ProgramLimits::default()).unwrap();
        library.insert("tested", &wasm(&handling(body)), None).unwrap();
        let mut instances = [library.instantiate("tested").unwrap(), library.instantiate("tested").unwrap()];
        assert_eq!(instances[0].first_failure(), None, "nothing has failed");
        for instance in &mut instances {
            verdict(instance, 0);
        }
        let [first, second] = &mut instances;
        assert_eq!(first.first_failure().as_deref(), Some(told));
        verdict(first, 0);
        assert_eq!([first.first_failure(), second.first_failure()], [None, None], "{body}");
        // Another version of it tells its own.
        library.insert("tested", &wasm(&with("(func)", body)), None).unwrap();
        let mut next = library.instantiate("tested").unwrap();
        verdict(&mut next, 0);
        assert_eq!(next.first_failure().as_deref(), Some(told));
    }
}
