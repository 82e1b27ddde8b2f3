//! The compiler's settings.
//!
//! A program's accesses outside its memory become signals, which the compiler's runtime handles: with the first engine
//! the process has handlers for SIGSEGV, SIGBUS, SIGILL and SIGFPE, which pass on what is not theirs. Each instance
//! reserves 4 GiB of addresses, not of memory, so that no access needs a check.

use wasmtime::{Config, Engine, OperatorCost, Strategy, WasmBacktraceDetails, wasmparser::WasmFeatures};

/// The stack that a program may use of its caller's.
const STACK_BYTES: usize = 256 << 10;

/// What calls into the host cost in fuel: growing a memory or a table, whether or not it succeeds. They take a
/// hundred times what others take.
const HOST_CALL: u8 = 255;

/// A compiler for programs.
pub(super) fn engine() -> Result<Engine, wasmtime::Error> {
    let allowed = WasmFeatures::WASM2 | WasmFeatures::EXTENDED_CONST;
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .wasm_features(WasmFeatures::all() & !allowed, false)
        .consume_fuel(true)
        .operator_cost(costs())
        .max_wasm_stack(STACK_BYTES)
        // Traces of traps take time, and are shown nowhere.
        .wasm_backtrace_max_frames(None)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .generate_address_map(false);
    Engine::new(&config)
}

/// One unit for most instructions, and for each byte that one copies or fills.
fn costs() -> OperatorCost {
    let mut costs = OperatorCost::new();
    costs.MemoryGrow = HOST_CALL;
    costs.TableGrow = HOST_CALL;
    costs
}
