//! A limit on the primal method's search.

/// The number of exchanges per resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) before_bland: usize,
    pub(super) at_most: usize,
}

impl Effort {
    pub(super) const USUAL: Self = Self { before_bland: 16, at_most: 32 };
}
