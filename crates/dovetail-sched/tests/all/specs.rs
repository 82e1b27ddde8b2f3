//! Policy strings and setups: which are equal, and how those are refused that make no scheduler.

use dovetail_sched::PolicySpec;

fn refusal(text: &str) -> String {
    text.parse::<PolicySpec>().expect_err(text).to_string()
}

#[test]
fn the_order_of_knobs_does_not_matter() {
    let spec = |text: &str| text.parse::<PolicySpec>().unwrap();
    assert_eq!(spec("atfq:batch=10,effort=200"), spec("atfq:effort=200,batch=10"));
    for other in ["atfq:batch=10", "atfq:batch=10,effort=201", "atfq:batch=10,effort=200,estimator=ses", "atfq"] {
        assert_ne!(spec("atfq:batch=10,effort=200"), spec(other));
        assert_ne!(spec(other), spec("atfq:batch=10,effort=200"));
    }
    assert_ne!(spec("drr"), spec("drr:quantum=1514"));
    assert_eq!(spec("drr").in_full(), spec("drr:quantum=1514").in_full());
}

#[test]
fn a_size_is_compared_with_its_range_as_written() {
    for text in ["drr:quantum=0.5", "drr:quantum=0.9B", "drr:quantum=1.1GB", "drr:quantum=0", "drr:quantum=x"] {
        let said = refusal(text);
        assert!(said.ends_with("is not a size from 1B to 1GB, such as 1500B or 20kB"), "{text}: {said}");
    }
    for text in ["drr:quantum=1", "drr:quantum=1.5", "drr:quantum=0.001kB", "drr:quantum=1GB"] {
        assert!(text.parse::<PolicySpec>().is_ok(), "{text}");
    }
}
