//! Figures that are not yet as close to the kernel's as they should be: the row, the figure, and the difference.
//!
//! A row that is close enough fails until it is removed from its list. What is left is chance: flows that share a queue are
//! in no order that a model could predict, and the test prints how much two sets of such runs of the kernel differ.

type NotYet = &'static [(&'static str, &'static str)];

/// Single events: within 5 %.
pub const EVENTS: NotYet = &[];

/// The sixteen rows: within 5 %, Jain's index within 0.04, drops of single flows within 10 % or three.
pub const ROWS: NotYet = &[];

/// The same through a token bucket: within 2 %.
pub const BUCKET: NotYet = &[];

/// The sixteen rows with receivers' buffers that grow as by default.
pub const ROWS_INSTALLED: NotYet = &[
    ("cubic 2 x 10 Mbit/s 40 ms 8", "Jain"), // 0.919 for 0.983
];

/// Other paths.
pub const PATHS: NotYet = &[
    ("cubic 4 x 2 Mbit/s 100 ms 8", "Jain"),   // 0.993 for 0.942
    ("reno 1 x 50 Mbit/s 10 ms 41", "drops"),  // 109.000 for 123.000
    ("reno 4 x 50 Mbit/s 100 ms 208", "Jain"), // 0.985 for 0.933
];

/// Short transfers together with long flows: means within 10 %, medians within 5 %.
pub const SHORT: NotYet = &[
    ("20 segments beside 1 cubic, buffer 33, every 500 ms", "median"), // 1.144, by chance ±0.368
];

/// Transfers of other sizes.
pub const SIZES: NotYet = &[
    ("5 segments beside 1 cubic, buffer 33, every 2000 ms", "median"), // 1.369, by chance ±1.098
    ("5 segments beside 1 cubic, buffer 8, every 2000 ms", "median"),  // 1.198, by chance ±0.756
    ("100 segments beside 1 cubic, buffer 8, every 2000 ms", "mean"),  // 1.275, by chance ±0.089
];

/// BBR: goodput within 2 %, drops of single flows as above; of several flows Jain's index and drops within what chance explains.
pub const BBR: NotYet = &[
    ("bbr 4 x 10 Mbit/s 40 ms 33", "Jain"), // 0.960 for 0.905
];
