//! The compiler's settings.
//!
//! A program's accesses outside its memory become signals, which the compiler's runtime handles: creating the first engine
//! installs process-wide handlers for SIGSEGV, SIGBUS, SIGILL and SIGFPE, which pass other signals on. Each instance
//! reserves 4 GiB of address space, not of memory, so that no access needs a check.

use wasmtime::{Config, Engine, OperatorCost, Strategy, WasmBacktraceDetails, wasmparser::WasmFeatures};

/// Maximum size of a program's part of its caller's stack.
const STACK_BYTES: usize = 256 << 10;

/// Fuel for a call into the host: growing a memory or a table, whether or not it succeeds. It takes a hundred times as long
/// as other instructions.
const HOST_CALL: u8 = 255;

/// Creates the compiler for programs.
pub(super) fn engine() -> Result<Engine, wasmtime::Error> {
    let allowed = WasmFeatures::WASM2 | WasmFeatures::EXTENDED_CONST;
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .wasm_features(WasmFeatures::all() & !allowed, false)
        .consume_fuel(true)
        .operator_cost(costs())
        .max_wasm_stack(STACK_BYTES)
        // Backtraces of traps take time, and are not shown.
        .wasm_backtrace_max_frames(None)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .generate_address_map(false);
    Engine::new(&config)
}

/// One unit for most instructions, and for each byte copied or filled.
fn costs() -> OperatorCost {
    let mut costs = OperatorCost::new();
    costs.MemoryGrow = HOST_CALL;
    costs.TableGrow = HOST_CALL;
    costs
}
