//! Experiments that are stopped in the middle end, whichever they are.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use dovetail_compare::{Meter, Progress, Silent, Task};
use dovetail_experiments::{ReproduceOptions, reproduce};

/// Experiments without simulation: they compute for moments, or measure this machine if the build supports that.
const WITHOUT_RUNS: [&str; 4] = ["cbcs-fig2", "msfrs-fig5", "msfrs-table2", "msfrs-table3"];

/// Requests a stop as soon as an experiment has begun.
#[derive(Clone, Default)]
struct AtOnce {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
}

impl Progress for AtOnce {
    fn begin(&self, _: Task<'_>) -> Box<dyn Meter> {
        Box::new(self.clone())
    }
}

impl Meter for AtOnce {
    fn inc(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    fn rename(&self, _: &str) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn stop(&self) -> Option<&AtomicBool> {
        Some(&self.stop)
    }
}

/// The names in the list that is printed by default.
fn names() -> Vec<String> {
    let mut out = Vec::new();
    reproduce(&ReproduceOptions::default(), &Silent, &mut out).expect("a list");
    let text = String::from_utf8(out).expect("text");
    let rows = text.lines().skip(1).take_while(|line| !line.is_empty());
    rows.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

#[test]
fn an_experiment_that_is_told_to_stop_is_an_error_and_no_run_of_it_comes_to_its_end() {
    let names = names();
    assert!(names.len() > 30, "{names:?}");
    let ran: Mutex<Vec<String>> = Mutex::default();
    for name in &names {
        if WITHOUT_RUNS.contains(&name.as_str()) {
            continue;
        }
        let progress = AtOnce::default();
        let options = ReproduceOptions { names: vec![name.clone()], json: true, ..ReproduceOptions::default() };
        let ended = reproduce(&options, &progress, &mut Vec::new());
        if ended.is_ok() || progress.done.load(Ordering::Relaxed) > 0 {
            ran.lock().unwrap().push(name.clone());
        }
    }
    assert_eq!(ran.into_inner().unwrap(), [""; 0], "these went on");
}
