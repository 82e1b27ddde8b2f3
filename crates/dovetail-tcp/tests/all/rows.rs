//! Goodput beside that of Linux 6.12 over the same bottleneck.

use dovetail_sched::Nanos;
use dovetail_tcp::{Congestion, Config};

use crate::path::{Flow, Path, UNLIMITED, run};

#[test]
fn rows() {
    let kernel = [
        (Congestion::Reno, 33, [[9.40, 9.77], [9.58, 9.72], [9.61, 9.72], [9.58, 9.74]]),
        (Congestion::Cubic, 33, [[9.53, 9.73], [9.59, 9.73], [9.59, 9.74], [9.59, 9.73]]),
        (Congestion::Reno, 8, [[7.70, 8.38], [8.16, 8.57], [8.62, 8.81], [9.02, 9.31]]),
        (Congestion::Cubic, 8, [[8.09, 9.44], [9.03, 9.57], [9.37, 9.67], [9.47, 9.70]]),
    ];
    for (congestion, buffer_packets, rows) in kernel {
        for (flows, kernel) in [1usize, 2, 4, 8].into_iter().zip(rows) {
            let path = Path { bits_per_s: 10_000_000, delay: Nanos::from_millis(20), buffer_packets, mark_above: 1000, bucket_bytes: if std::env::var_os("BUCKET").is_some() { 1550 } else { 0 } };
            let mut sums = [0.0; 2];
            let mut jains = 0.0;
            let mut dropped = 0;
            let mut counts = Vec::new();
            for stagger in 0..5 {
                let mut config = Config::linux();
                config.congestion = congestion;
                let flows: Vec<_> = (0..flows)
                    .map(|at| Flow { begins: Nanos::from_micros(at as u64 * (stagger * 7_300 + 1_300)), bytes: UNLIMITED, config })
                    .collect();
                let got = run(&path, &flows, Nanos::from_secs(20));
                let sum = |from: usize, to: usize| -> f64 {
                    got.iter().map(|flow| (from..to).map(|at| flow.tenths.get(at).copied().unwrap_or(0) as f64 * 8.0).sum::<f64>()).sum::<f64>() / (to - from) as f64 * 10.0 / 1e6
                };
                sums[0] += sum(0, 50) / 5.0;
                sums[1] += sum(50, 200) / 5.0;
                let each: Vec<f64> = got.iter().map(|flow| flow.tenths[50..].iter().sum::<u64>() as f64).collect();
                jains += each.iter().sum::<f64>().powi(2) / each.len() as f64 / each.iter().map(|x| x * x).sum::<f64>() / 5.0;
                dropped += got.iter().map(|flow| flow.dropped).sum::<u64>();
                counts.push(got[0].counts);
            }
            println!("{congestion:?} {buffer_packets} {flows}: {:.2} {:.2} of {:.2} {:.2}: {:.3} {:.3} jain {jains:.3} drops {} {:?}", sums[0], sums[1], kernel[0], kernel[1], sums[0]/kernel[0], sums[1]/kernel[1], dropped as f64 / 5.0, counts[0].unwrap());
        }
    }
}
