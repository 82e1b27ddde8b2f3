//! Programs for tests, written as text.

use dovetail_box::programs::{Library, Program, ProgramError, ProgramLimits};

/// Bytes of memory that [`handling`] gives a program.
pub(crate) const MEMORY: usize = 2 << 16;

/// A program whose `dv_process` has this body; its parameters are `$frame`, `$length` and `$most`, and frames are
/// written at 1024.
pub(crate) fn handling(body: &str) -> String {
    with("", body)
}

/// Same as for [`handling`], with further contents of the module.
pub(crate) fn with(more: &str, body: &str) -> String {
    format!(
        r#"(module
            (memory (export "memory") 2)
            (func (export "dv_abi") (result i32) (i32.const 1))
            (func (export "dv_buffer") (param i32) (result i32) (i32.const 1024))
            (func (export "dv_process") (param $frame i32) (param $length i32) (param $most i32) (result i64) {body})
            {more})"#
    )
}

/// An answer to forward `$length` bytes at `$frame`.
pub(crate) const FORWARD: &str = "(i64.or (i64.const 0x0100000000000000)
    (i64.or (i64.shl (i64.extend_i32_u (local.get $frame)) (i64.const 24)) (i64.extend_i32_u (local.get $length))))";

pub(crate) fn wasm(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A module as a program.
pub(crate) fn compile(module: &[u8], limits: ProgramLimits) -> Result<Program, ProgramError> {
    let mut library = Library::new(limits).unwrap();
    library.insert("tested", module, None)?;
    library.instantiate("tested")
}

pub(crate) fn limited(text: &str, limits: ProgramLimits) -> Program {
    compile(&wasm(text), limits).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn program(text: &str) -> Program {
    limited(text, ProgramLimits::default())
}
