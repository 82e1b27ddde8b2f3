//! An instance of a module, and calls of it.

use wasmtime::{
    Engine, Memory, Module, Store, StoreLimits, StoreLimitsBuilder, Trap, TypedFunc, WasmParams, WasmResults,
};

use super::{
    answer::{ABI, Answer},
    error::{Flaw, Why, printable},
    inspect::{TABLE_ELEMENTS, TABLES},
    limits::ProgramLimits,
};

/// Result of processing a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handled {
    /// Forward the frame, which is unchanged.
    Untouched,
    /// Forward the frame, which has changed.
    Forward,
    /// Drop the frame, which is unchanged.
    Drop,
}

/// A program with its own memory.
pub(super) struct Instance {
    store: Store<StoreLimits>,
    memory: Memory,
    process: TypedFunc<(i32, i32, i32), i64>,
    /// Address in its memory to which frames are written, with [`ProgramLimits::buffer_bytes`] of room.
    buffer: i32,
}

impl Instance {
    /// Creates an instance; each call during setup gets the fuel of one packet.
    pub(super) fn new(engine: &Engine, module: &Module, limits: &ProgramLimits) -> Result<Self, Flaw> {
        let bounds = StoreLimitsBuilder::new()
            .memory_size(limits.memory_bytes)
            .table_elements(TABLE_ELEMENTS)
            .instances(1)
            .memories(1)
            .tables(TABLES)
            .build();
        let mut store = Store::new(engine, bounds);
        store.limiter(|bounds| bounds);
        refuel(&mut store, limits);
        let instance = wasmtime::Instance::new(&mut store, module, &[])
            .map_err(setup("initialization (start function and data segments)"))?;
        let memory = instance.get_memory(&mut store, "memory").ok_or(Flaw::NoExport("a memory called 'memory'"))?;
        let abi: TypedFunc<(), i32> =
            find(&instance, &mut store, "dv_abi").ok_or(Flaw::NoExport("dv_abi: () -> i32"))?;
        let make_buffer: TypedFunc<i32, i32> =
            find(&instance, &mut store, "dv_buffer").ok_or(Flaw::NoExport("dv_buffer: (i32) -> i32"))?;
        let process =
            find(&instance, &mut store, "dv_process").ok_or(Flaw::NoExport("dv_process: (i32, i32, i32) -> i64"))?;
        refuel(&mut store, limits);
        let version = abi.call(&mut store, ()).map_err(setup("dv_abi"))?;
        if version != ABI {
            return Err(Flaw::Abi(version));
        }
        let bytes = limits.buffer_bytes();
        refuel(&mut store, limits);
        let buffer = make_buffer.call(&mut store, number(bytes)).map_err(setup("dv_buffer"))?;
        let (address, memory_bytes) = (buffer.cast_unsigned(), memory.data_size(&store));
        let end = usize::try_from(address).ok().and_then(|address| address.checked_add(bytes));
        if address == 0 || end.is_none_or(|end| end > memory_bytes) {
            return Err(Flaw::Buffer { bytes, address, memory: memory_bytes });
        }
        Ok(Self { store, memory, process, buffer })
    }

    /// Processes a frame, which must not be longer than [`ProgramLimits::frame_bytes`]. After a failure the frame is
    /// unchanged, and the instance must not be used again.
    pub(super) fn process(&mut self, frame: &mut Vec<u8>, limits: &ProgramLimits) -> Result<Handled, Why> {
        let at = self.buffer.cast_unsigned() as usize;
        let room = self.memory.data_mut(&mut self.store).get_mut(at..at + frame.len());
        room.ok_or(Why::Unknown)?.copy_from_slice(frame);
        refuel(&mut self.store, limits);
        let most = limits.longest_answer(frame.len());
        let arguments = (self.buffer, number(frame.len()), number(most));
        let answer = self.process.call(&mut self.store, arguments);
        let answer = answer.map_err(|error| why(&error).unwrap_or(Why::Unknown))?;
        let memory = self.memory.data(&self.store);
        match Answer::read(answer, memory.len(), most).ok_or(Why::Answer(answer))? {
            Answer::Untouched => Ok(Handled::Untouched),
            Answer::Drop => Ok(Handled::Drop),
            Answer::Forward(new) => {
                let new = memory.get(new).ok_or(Why::Answer(answer))?;
                frame.clear();
                frame.extend_from_slice(new);
                Ok(Handled::Forward)
            }
        }
    }

    /// Fuel that the last call took.
    pub(super) fn fuel_used(&self, limits: &ProgramLimits) -> u64 {
        limits.fuel_per_packet.saturating_sub(self.store.get_fuel().unwrap_or_default())
    }
}

/// An export of this type.
fn find<P: WasmParams, R: WasmResults>(
    instance: &wasmtime::Instance,
    store: &mut Store<StoreLimits>,
    name: &str,
) -> Option<TypedFunc<P, R>> {
    instance.get_typed_func(store, name).ok()
}

/// Sets the fuel to that of one packet, whatever is left of the last one's.
fn refuel(store: &mut Store<StoreLimits>, limits: &ProgramLimits) {
    // It fails only if the engine does not meter fuel, which it does; and a store without fuel would not run.
    let _ = store.set_fuel(limits.fuel_per_packet);
}

/// A length in the form that programs take; it fits, since answers have 24 bits for it.
fn number(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

/// Why the program failed, if the program caused the error.
fn why(error: &wasmtime::Error) -> Option<Why> {
    error.downcast_ref::<Trap>().copied().map(Why::Trap)
}

fn setup(what: &'static str) -> impl Fn(wasmtime::Error) -> Flaw {
    move |error| match why(&error) {
        Some(why) => Flaw::Setup { what, failure: why.failure(), why: why.to_string() },
        None => Flaw::NoInstance(printable(format_args!("{error:#}"))),
    }
}
