//! How long a program in an endless loop runs until its fuel is spent, and what that costs others.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    config::Config,
    functions::{NetworkFunction, Reason, Verdict},
    live::{
        Spawned,
        lab::{Place, datagram},
    },
    programs::{Library, ProgramLimits},
};

use crate::{
    Args, churn,
    cores::{BOX_CORE, stay_on},
    numbered::{Traffic, Turn},
    subject::{Failed, lab},
    table::Table,
};

/// Packets per row.
const PACKETS: u32 = 200;

/// The flows that must not lose packets.
const OTHERS: Traffic = Traffic { flows: 7, per_s: 10e3, bytes: 200 };
/// Packets per second of the flow whose program does not terminate: more than the CPU can process.
const ENDLESS_PER_S: f64 = 5e3;
/// Its source port, the offset of the port in a frame, and the code of the program.
const ENDLESS_PORT: u16 = 9999;
const PORT_AT: usize = 34;
const STATION_AT: usize = 9;
const ENDLESS: &str =
    "(if (i32.eq (i32.load16_u offset=34 (local.get $frame)) (i32.const 0x0f27)) (then (loop (br 0))))";

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    beside_others(args, table)?;
    thread::scope(|scope| {
        let stops = scope.spawn(|| stopped(table).map_err(|wrong| wrong.to_string()));
        Ok(stops.join().map_err(|_| "the measurement ended")??)
    })
}

fn stopped(table: &mut Table) -> Result<(), Failed> {
    stay_on(BOX_CORE)?;
    // No program may be quarantined before it is measured.
    let limits = ProgramLimits { traps: PACKETS + 1, ..ProgramLimits::default() };
    let mut library = Library::new(limits)?;
    let loops = [
        ("an empty loop", "(loop (br 0))"),
        ("a loop that fills memory", "(loop (memory.fill (i32.const 4096) (i32.const 7) (i32.const 65536)) (br 0))"),
        ("a loop that divides", "(loop (drop (i64.div_s (i64.const 7) (i64.load (local.get $frame)))) (br 0))"),
    ];
    for (what, body) in loops {
        library.insert("endless", &churn::program(body)?, None)?;
        let mut program = library.instantiate("endless")?;
        let mut stopped = Vec::new();
        for _ in 0..PACKETS {
            let mut frame = vec![7; 600];
            let begun = Instant::now();
            let verdict = program.process(&mut frame);
            // Includes creating a new instance, as in a box.
            stopped.push(begun.elapsed().as_secs_f64() * 1e3);
            if verdict != Verdict::Drop(Reason::OutOfFuel) {
                return Err(format!("{what}: {verdict:?}").into());
            }
        }
        table.push("an endless program is stopped after", what, &stopped, "ms");
    }
    Ok(())
}

/// Losses of other flows beside one whose program does not terminate, in a box: every packet of that one is processed until
/// its fuel is spent, since no number of failures quarantines the program.
fn beside_others(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let (lab, folder) = (lab()?, tempfile::tempdir()?);
    // The frames used for measuring it pass.
    fs::write(folder.path().join("endless.wasm"), churn::program(ENDLESS)?)?;
    let text = format!(
        "policy = \"drfq\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"1Gbps\"\n\
         [programs]\nfolder = \"{}\"\ntraps = 1000000\n\
         [[class]]\nname = \"endless\"\nports = [{ENDLESS_PORT}]\nprogram = \"endless\"\n",
        folder.path().display()
    );
    let config = Config::parse(&(lab.spec().box_section() + &text))?;
    let mut frame = datagram::frame(Place::Inside, 0, 0, 60);
    frame[PORT_AT..PORT_AT + 2].copy_from_slice(&ENDLESS_PORT.to_be_bytes());
    // From another station, so that it is not counted as one of the others if the bridge forwards it.
    frame[STATION_AT] ^= 1;
    let time = Duration::from_secs_f64(args.seconds);
    let [mut sent, mut lost, mut odd, mut stopped, mut lapses] = [(); 5].map(|()| Vec::new());
    for _ in 0..args.rounds {
        let running = Spawned::start(config.clone(), |_| {})?;
        // The box starts receiving some milliseconds later.
        thread::sleep(Duration::from_millis(200));
        let outcome = thread::scope(|scope| {
            let sends = scope.spawn(|| {
                let source = lab.raw(Place::Inside).map_err(|wrong| wrong.to_string())?;
                let mut endless = 0;
                let turn = |elapsed: Duration| {
                    if elapsed.as_secs_f64() * ENDLESS_PER_S > f64::from(endless) {
                        endless += source.send(std::iter::once(&*frame))? as u32;
                    }
                    Ok(if elapsed < time { Turn::Send } else { Turn::End })
                };
                OTHERS.run(&lab, turn).map_err(|wrong| wrong.to_string())
            });
            sends.join().map_err(|_| "the source ended".to_owned())?
        })?;
        let control = running.control().clone();
        running.stop()?;
        let ([out, _], status) = (&outcome.ways, control.status());
        sent.push(out.sent as f64);
        lost.push(out.lost() as f64);
        odd.push((out.reordered + out.duplicated()) as f64);
        lapses.push(status.oddities.lapses as f64);
        let failed = status.classes.first().map_or(0, |(_, class)| class.programs.out_of_fuel);
        stopped.push(failed as f64);
    }
    let what = "beside an endless program, 10 kpps of other flows:";
    let rows = [
        ("sent", sent),
        ("lost", lost),
        ("twice or out of order", odd),
        ("times that the program was stopped", stopped),
        ("times that the bridge took over", lapses),
    ];
    rows.into_iter().for_each(|(row, measured)| table.push(format!("{what} {row}"), "drfq", &measured, ""));
    Ok(())
}
