//! Random and corrupted modules: they are rejected or run, and neither crashes the test.

use dovetail_box::{
    functions::NetworkFunction,
    programs::{Library, ProgramLimits},
};
use proptest::prelude::*;

use crate::writing::{FORWARD, handling, wasm, with};

/// Runs whatever can be run. The limits are small, so that a loop does not take long.
fn survive(module: &[u8]) {
    let limits = ProgramLimits { fuel_per_packet: 10_000, traps: 4, ..ProgramLimits::default() };
    let mut library = Library::new(limits).unwrap();
    if library.insert("random", module, None).is_err() {
        return;
    }
    let Ok(mut program) = library.instantiate("random") else { return };
    for length in [14, 60, 1514, limits.frame_bytes] {
        let mut frame = vec![0xa5; length];
        program.process(&mut frame);
        assert!(frame.len() <= length + limits.growth_bytes);
    }
}

/// Modules with some of everything.
fn modules() -> [Vec<u8>; 3] {
    let rich = with(
        "(table 4 funcref) (elem (i32.const 0) $f $g)
         (func $f (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
         (func $g (param i32) (result i32) (local i64 f64)
           (block $out (loop $again (br_if $out (i32.eqz (local.get 0)))
             (local.set 0 (i32.sub (local.get 0) (i32.const 1))) (br $again))) (memory.size))
         (global $n (mut i64) (i64.const 7)) (data (i32.const 64) \"some data\") (data \"passive\")
         (func $init (global.set $n (i64.const 9))) (start $init)",
        &format!(
            "(drop (call_indirect (param i32) (result i32) (local.get $length) (i32.const 1)))
             (i32.store8 (local.get $frame) (i32.load8_u offset=64 (i32.const 0)))
             (memory.fill (local.get $frame) (i32.const 1) (i32.const 6))
             (v128.store (local.get $frame) (i8x16.splat (i32.const 3))) {FORWARD}"
        ),
    );
    [&rich, &handling(FORWARD), include_str!("../../../../programs/wat/seal.wat")].map(wasm)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), has_header in any::<bool>()) {
        let header: &[u8] = if has_header { b"\0asm\x01\0\0\0" } else { b"" };
        survive(&[header, &bytes].concat());
    }

    #[test]
    fn damaged_modules(
        which in 0usize..3,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut module = modules()[which].clone();
        for (at, byte) in damage {
            let at = at.index(module.len());
            module[at] = byte;
        }
        if let Some(cut) = cut {
            module.truncate(cut.index(module.len()));
        }
        survive(&module);
    }

    /// Inserting or removing a byte shifts everything after it.
    #[test]
    fn shifted_modules(which in 0usize..3, at in any::<prop::sample::Index>(), insert in prop::option::of(any::<u8>())) {
        let mut module = modules()[which].clone();
        let at = at.index(module.len());
        match insert {
            Some(byte) => module.insert(at, byte),
            None => drop(module.remove(at)),
        }
        survive(&module);
    }
}
