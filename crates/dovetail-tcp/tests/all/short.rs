//! Short transfers beside long flows, as through Linux 6.12.

use dovetail_sched::Nanos;
use dovetail_tcp::{Congestion, Config};

use crate::path::{Flow, Path, UNLIMITED, run};

#[test]
fn short() {
    let kernel = [
        (Congestion::Reno, 1, 33, [340.0, 335.0]),
        (Congestion::Reno, 4, 33, [457.0, 379.0]),
        (Congestion::Cubic, 1, 33, [372.0, 347.0]),
        (Congestion::Cubic, 4, 33, [522.0, 417.0]),
        (Congestion::Reno, 1, 8, [244.0, 193.0]),
        (Congestion::Reno, 4, 8, [410.0, 211.0]),
        (Congestion::Cubic, 1, 8, [252.0, 201.0]),
        (Congestion::Cubic, 4, 8, [509.0, 348.0]),
    ];
    for (congestion, long, buffer_packets, kernel) in kernel {
        for gap_ms in [500, 1000] {
        let mut took = Vec::new();
        let (mut means, mut medians) = (0.0, 0.0);
        for nudge in 0..5u64 {
            let path = Path {
                bits_per_s: 10_000_000,
                delay: Nanos::from_millis(20) + Nanos::from_micros(1300 * nudge / 5),
                buffer_packets,
                mark_above: 1000,
                bucket_bytes: if std::env::var_os("BUCKET").is_some() { 1550 } else { 0 },
            };
            let mut config = Config::linux();
            config.congestion = congestion;
            let mut flows: Vec<_> = (0..long)
                .map(|at| Flow { begins: Nanos::from_micros(at as u64 * 1300), bytes: UNLIMITED, config })
                .collect();
            let n = 40;
            for at in 0..n {
                flows.push(Flow { begins: Nanos::from_secs(5) + Nanos::from_millis(gap_ms * at), bytes: 20 * 1460, config });
            }
            let got = run(&path, &flows, Nanos::from_secs(5 + n * gap_ms / 1000 + 10));
            let mut one: Vec<f64> = got[long..].iter().zip(&flows[long..]).map(|(got, flow)| got.ended.map_or(f64::INFINITY, |at| (at - flow.begins).as_secs_f64() * 1e3)).collect();
            one.sort_by(f64::total_cmp);
            means += one.iter().sum::<f64>() / one.len() as f64 / 5.0;
            medians += one[one.len() / 2] / 5.0;
            took.extend(one);
        }
        println!("{congestion:?} {long} {buffer_packets} gap {gap_ms}: mean {means:.0} of {:.0} ({:.2}), median {medians:.0} of {:.0} ({:.2})", kernel[0], means / kernel[0], kernel[1], medians / kernel[1]);
        }
    }
}
