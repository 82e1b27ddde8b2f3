//! Answers of programs, and their effect on the frame.

use dovetail_box::{
    functions::{NetworkFunction, Processing, Reason, Verdict},
    programs::{Counts, MIN_FRAME_BYTES, ProgramLimits},
};
use proptest::prelude::*;

use crate::writing::{FORWARD, MEMORY, handling, limited, program, with};

/// Writes over the frame before it answers.
fn scribbling(answer: &str) -> String {
    handling(&format!("(i64.store (local.get $frame) (i64.const -1)) {answer}"))
}

#[test]
fn each_verdict_does_what_it_says() {
    let came: Vec<u8> = (0..100).collect();
    let verdict_on = |answer: &str| {
        let mut program = program(&scribbling(answer));
        let mut frame = came.clone();
        (program.process(&mut frame), frame, program.counts())
    };
    let handled = Counts { handled: 1, ..Counts::default() };
    assert_eq!(verdict_on("(i64.const 0)"), (Verdict::Untouched, came.clone(), handled));
    let written = [&[0xff; 8][..], &came[8..]].concat();
    assert_eq!(verdict_on(FORWARD), (Verdict::Forward, written, handled));
    let refused = Counts { refused: 1, ..handled };
    assert_eq!(verdict_on("(i64.const 0x0200000000000000)"), (Verdict::Drop(Reason::Refused), came.clone(), refused));
    let bad = Counts { bad_answers: 1, ..Counts::default() };
    for answer in ["(i64.const 0x0300000000000000)", "(i64.const -1)"] {
        assert_eq!(verdict_on(answer), (Verdict::Drop(Reason::BadAnswer), came.clone(), bad), "{answer}");
    }
}

#[test]
fn a_frame_may_be_answered_from_elsewhere_longer_and_shorter() {
    let limits = ProgramLimits { growth_bytes: 20, ..ProgramLimits::default() };
    // The first two bytes of the frame give the length of the answer, which is at 70,000.
    let text = handling(
        "(memory.fill (i32.const 70000) (i32.const 7) (i32.const 2000))
         (i64.or (i64.const 0x0100000000000000) (i64.or (i64.const 0x11170000000)
           (i64.extend_i32_u (i32.load16_u (local.get $frame)))))",
    );
    let answered = |length: u16| {
        let mut program = limited(&text, limits);
        let mut frame = [&length.to_le_bytes()[..], &[0; 98]].concat();
        (program.process(&mut frame), frame)
    };
    for length in [MIN_FRAME_BYTES as u16, 60, 100, 120] {
        assert_eq!(answered(length), (Verdict::Forward, vec![7; length.into()]), "{length} bytes");
    }
    for length in [0, MIN_FRAME_BYTES as u16 - 1, 121, 2000] {
        assert_eq!(answered(length).0, Verdict::Drop(Reason::BadAnswer), "{length} bytes");
    }
}

#[test]
fn a_program_is_told_how_long_its_answer_may_be() {
    let limits = ProgramLimits { growth_bytes: 20, ..ProgramLimits::default() };
    let mut program =
        limited(&handling(&format!("(i32.store (local.get $frame) (local.get $most)) {FORWARD}")), limits);
    for length in [14usize, 1514, limits.frame_bytes] {
        let mut frame = vec![0; length];
        assert_eq!(program.process(&mut frame), Verdict::Forward);
        assert_eq!(frame[..4], (length as u32 + 20).to_le_bytes());
    }
}

#[test]
fn frames_that_no_program_can_take_are_not_given_to_it() {
    let mut program = program(&handling("unreachable"));
    let longest = program.limits().frame_bytes;
    assert_eq!(program.process(&mut vec![0; MIN_FRAME_BYTES - 1]), Verdict::Drop(Reason::Malformed));
    assert_eq!(program.process(&mut vec![0; longest + 1]), Verdict::Drop(Reason::TooLong));
    assert_eq!(program.counts(), Counts::default());
}

#[test]
fn a_program_remembers_until_it_traps() {
    // Counts packets in a global and in its memory, and traps on those whose first byte is 1.
    let text = with(
        "(global $packets (mut i32) (i32.const 0))",
        &format!(
            "(if (i32.eq (i32.load8_u (local.get $frame)) (i32.const 1)) (then unreachable))
             (global.set $packets (i32.add (global.get $packets) (i32.const 1)))
             (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (i32.const 1)))
             (i32.store8 (local.get $frame) (global.get $packets))
             (i32.store8 offset=1 (local.get $frame) (i32.load (i32.const 16))) {FORWARD}"
        ),
    );
    let mut program = program(&text);
    let mut counted = |first: u8| {
        let mut frame = vec![0; 60];
        frame[0] = first;
        (program.process(&mut frame) == Verdict::Forward).then(|| [frame[0], frame[1]])
    };
    let came = [0, 0, 0, 1, 0, 0].map(&mut counted);
    assert_eq!(came, [Some([1, 1]), Some([2, 2]), Some([3, 3]), None, Some([1, 1]), Some([2, 2])]);
}

#[test]
fn a_program_is_a_network_function() {
    let mut functions: Vec<Box<dyn NetworkFunction>> = vec![Box::new(program(&handling("(i64.const 0)")))];
    assert_eq!((functions[0].name(), functions[0].processing()), ("tested", Processing::Payload));
    assert_eq!(functions[0].process(&mut vec![0; 60]), Verdict::Untouched);
}

proptest! {
    /// The frame's first eight bytes are what the program answers.
    #[test]
    fn any_number_has_a_meaning(
        verdict in prop_oneof![4 => 0u64..4, 1 => 0u64..256],
        address in prop_oneof![0u64..2 * MEMORY as u64, any::<u32>().prop_map(u64::from)],
        length in prop_oneof![0u64..400, 0u64..1 << 24],
        rest in prop::collection::vec(any::<u8>(), 6..200),
    ) {
        thread_local!(static REFLECTING: std::cell::RefCell<Option<dovetail_box::programs::Program>> = const {
            std::cell::RefCell::new(None)
        });
        let answer = verdict << 56 | address << 24 | length;
        let came = [&answer.to_le_bytes()[..], &rest].concat();
        let mut frame = came.clone();
        let verdict_on = REFLECTING.with_borrow_mut(|reflecting| {
            let forgiving = ProgramLimits { traps: u32::MAX, ..ProgramLimits::default() };
            let make = || limited(&handling("(i64.load (local.get $frame))"), forgiving);
            reflecting.get_or_insert_with(make).process(&mut frame)
        });
        let most = came.len() as u64 + 256;
        let expected = match verdict {
            0 => Verdict::Untouched,
            1 if (14..=most).contains(&length) && address + length <= MEMORY as u64 => Verdict::Forward,
            2 => Verdict::Drop(Reason::Refused),
            _ => Verdict::Drop(Reason::BadAnswer),
        };
        prop_assert_eq!(verdict_on, expected);
        if expected == Verdict::Forward {
            prop_assert_eq!(frame.len() as u64, length);
        } else {
            prop_assert_eq!(frame, came);
        }
    }
}
