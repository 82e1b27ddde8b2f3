//! Compares simulated figures with the kernel's: a table, and the figures that differ too much.

/// Compares figures and collects those that differ too much from the kernel's.
pub struct Comparison {
    // Known differences: a row, and the figure's name.
    not_yet: &'static [(&'static str, &'static str)],
    wrong: Vec<String>,
}

impl Comparison {
    pub fn new(not_yet: &'static [(&'static str, &'static str)]) -> Self {
        Self { not_yet, wrong: Vec::new() }
    }

    /// A cell of the table: both figures and their ratio. `tolerance` is relative to the kernel's figure.
    pub fn ratio(&mut self, row: &str, name: &str, simulator: f64, kernel: f64, tolerance: f64) -> String {
        let ratio = simulator / kernel;
        let cell = format!("{name} {simulator:.2} / {kernel:.2} = {ratio:.3}");
        self.judge(row, name, (ratio - 1.0).abs() <= tolerance, cell)
    }

    /// A cell of the table: both figures. `tolerance` is the largest difference.
    pub fn distance(&mut self, row: &str, name: &str, simulator: f64, kernel: f64, tolerance: f64) -> String {
        let cell = format!("{name} {simulator:.3} / {kernel:.3}");
        self.judge(row, name, (simulator - kernel).abs() <= tolerance, cell)
    }

    fn judge(&mut self, row: &str, name: &str, is_right: bool, cell: String) -> String {
        let is_known = self.not_yet.contains(&(row, name));
        match (is_right, is_known) {
            (false, false) => self.wrong.push(format!("{row}: {cell}")),
            (true, true) => self.wrong.push(format!("{row}: {cell}: is right, no longer NOT_YET")),
            _ => {}
        }
        format!("{cell}{}", if is_right { "" } else { " *" })
    }

    /// Fails if any figure differs too much.
    pub fn end(self) {
        assert!(self.wrong.is_empty(), "{} figures:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}
