//! The cost of a program is measured before it is trusted.

use dovetail_box::{
    functions::{NetworkFunction, Processing},
    programs::{LENGTHS, Library, Measured, ProgramLimits, measure},
};
use dovetail_sched::{Nanos, cost::Cost};

use crate::writing::{FORWARD, handling, limited, program, wasm};

/// A clock that is read twice per packet and reports `took` for each, and reports zero for the calibration readings.
fn clock(took: u64) -> impl FnMut() -> Nanos {
    let (mut readings, mut now) = (0u64, 0);
    move || {
        readings += 1;
        let of_packets = readings > 2 * 101;
        if of_packets && readings % 2 == 0 {
            now += took;
        }
        Nanos(now)
    }
}

#[test]
fn every_length_is_measured_as_often_and_the_line_is_known() {
    let measured = measure(&mut program(&handling(FORWARD)), LENGTHS, &mut clock(750)).unwrap();
    assert_eq!(
        measured.to_string(),
        format!("0.000 ns per byte + 750 ns per packet, up to {} fuel per packet", measured.most_fuel())
    );
    let Measured { program: facts, samples } = measured;
    assert_eq!((facts.name.as_str(), facts.processing), ("tested", Processing::Header));
    assert_eq!(facts.cost, Some(Cost::new(0.0, 750.0).unwrap()));
    assert!((facts.expansion - 1.0).abs() < 1e-12);
    assert_eq!(samples.len(), 101 * LENGTHS.len());
    for &length in LENGTHS {
        let of_length = samples.iter().filter(|sample| sample.bytes as usize == length);
        assert_eq!(of_length.clone().count(), 101);
        assert!(
            of_length.into_iter().all(|sample| sample.bytes_out == Some(sample.bytes) && sample.took == Nanos(750))
        );
    }
    assert!(samples.windows(2).any(|pair| pair[0].bytes > pair[1].bytes), "lengths are in random order");
}

#[test]
fn what_the_clock_itself_takes_is_not_the_program_s() {
    let mut now = 0;
    let mut clock = || {
        now += 40;
        Nanos(now)
    };
    let measured = measure(&mut program(&handling(FORWARD)), LENGTHS, &mut clock).unwrap();
    assert!(measured.samples.iter().all(|sample| sample.took == Nanos::ZERO));
    // It still does not count as free.
    assert_eq!(measured.program.cost, Some(Cost::new(0.0, 1.0).unwrap()));
}

#[test]
fn fuel_is_that_of_each_frame() {
    let filling = "(memory.fill (i32.const 2000) (i32.const 7) (local.get $length)) (i64.const 0)";
    let measured = measure(&mut program(&handling(filling)), &[100, 300], &mut clock(9)).unwrap();
    let fuel = |bytes| {
        let mut of_length = measured.samples.iter().filter(|sample| sample.bytes == bytes).map(|sample| sample.fuel);
        let first = of_length.next().unwrap();
        assert!(of_length.all(|fuel| fuel == first));
        first
    };
    // A byte filled is a unit.
    assert_eq!(fuel(300) - fuel(100), 200);
    assert_eq!(measured.most_fuel(), fuel(300));
}

#[test]
fn growth_and_drops_are_in_the_facts() {
    let longer = FORWARD.replace("(local.get $length)", "(i32.add (local.get $length) (i32.const 100))");
    let measured = measure(&mut program(&handling(&longer)), &[100, 300], &mut clock(9)).unwrap();
    assert!((measured.program.expansion - 1.5).abs() < 1e-12);
    let dropping = "(i64.const 0x0200000000000000)";
    let measured = measure(&mut program(&handling(dropping)), &[100, 300], &mut clock(9)).unwrap();
    assert!((measured.program.expansion - 1.0).abs() < 1e-12);
    assert!(measured.samples.iter().all(|sample| sample.bytes_out.is_none()));
}

#[test]
fn lengths_that_no_frame_has_are_brought_to_those_that_one_has() {
    let limits = ProgramLimits { frame_bytes: 2000, ..ProgramLimits::default() };
    let mut program = limited(&handling(FORWARD), limits);
    let measured = measure(&mut program, &[0, 100_000], &mut clock(9)).unwrap();
    let mut lengths: Vec<u32> = measured.samples.iter().map(|sample| sample.bytes).collect();
    lengths.sort_unstable();
    lengths.dedup();
    assert_eq!(lengths, [42, 2000]);
    assert!(measure(&mut program, &[], &mut clock(9)).unwrap().program.cost.is_none());
}

#[test]
fn a_program_that_fails_while_it_is_measured_is_not_taken() {
    let mut library = Library::new(ProgramLimits::default()).unwrap();
    let mut refusal =
        |body: &str| library.insert("tested", &wasm(&handling(body)), Some(&mut clock(9))).unwrap_err().to_string();
    let long_ones = "(if (i32.gt_u (local.get $length) (i32.const 1000)) (then (loop $again (br $again))))";
    assert_eq!(
        refusal(&format!("{long_ones} (i64.const 0)")),
        "tested: its cost cannot be measured: on a well-formed frame of 1024 bytes it runs out of fuel"
    );
    assert!(
        refusal("unreachable")
            .contains("frame of 64 bytes it traps (wasm trap: wasm `unreachable` instruction executed)")
    );
    assert!(refusal("(i64.const -1)").contains("frame of 64 bytes it returns an invalid answer (0xffffffffffffffff)"));
    assert_eq!(library.names().count(), 0);
}

#[test]
fn an_instance_is_of_the_kind_that_was_measured() {
    let mut library = Library::new(ProgramLimits::default()).unwrap();
    library.insert("known", &wasm(&handling("(i64.const 0)")), Some(&mut clock(9))).unwrap();
    library.insert("unknown", &wasm(&handling("(i64.const 0)")), None).unwrap();
    let processing = |name| library.instantiate(name).unwrap().processing();
    assert_eq!([processing("known"), processing("unknown")], [Processing::Header, Processing::Payload]);
    assert!(library.measured("unknown").is_none());
}
