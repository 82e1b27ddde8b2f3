//! Keys and ids of heap entries.

use core::fmt;

use crate::FlowId;

/// A dense id: an index into tables.
pub trait DenseId: Copy {
    /// The id with this index.
    fn from_index(index: u32) -> Self;
    /// The index of this id.
    fn to_index(self) -> u32;
}

impl DenseId for FlowId {
    #[inline]
    fn from_index(index: u32) -> Self {
        Self(index)
    }
    #[inline]
    fn to_index(self) -> u32 {
        self.0
    }
}

/// A key that can be represented by a number of the same order.
pub trait HeapKey: Copy + fmt::Debug {
    /// `u64`, or `u128` for keys of up to 96 bits.
    type Number: Number;
    /// The number, below [`Number::NEAR`] and 2^96.
    fn to_number(self) -> Self::Number;
    /// The key that a number represents.
    fn from_number(number: Self::Number) -> Self;
}

/// The numbers that keys are compared as.
pub trait Number: Copy + Ord + fmt::Debug + Into<u128> + 'static {
    /// Marks an absent flow; larger than every key.
    const NONE: Self;
    /// Marks a flow whose key is stored elsewhere; larger than every key.
    const NEAR: Self;
    /// Converts back from the wider type.
    fn from_wide(wide: u128) -> Self;
}

impl Number for u64 {
    const NONE: Self = Self::MAX;
    const NEAR: Self = Self::MAX - 1;
    #[inline]
    fn from_wide(wide: u128) -> Self {
        wide as Self
    }
}

impl Number for u128 {
    const NONE: Self = Self::MAX;
    const NEAR: Self = Self::MAX - 1;
    #[inline]
    fn from_wide(wide: u128) -> Self {
        wide
    }
}

/// Non-negative numbers only.
impl HeapKey for f64 {
    type Number = u64;
    #[inline]
    fn to_number(self) -> u64 {
        debug_assert!(self >= 0.0, "a heap's key is a non-negative number, not {self}");
        // Adding 0 turns -0.0 into 0.0, whose bits are in order.
        (self + 0.0).to_bits()
    }
    #[inline]
    fn from_number(number: u64) -> Self {
        Self::from_bits(number)
    }
}

/// The two largest values count as the one below them.
impl HeapKey for u64 {
    type Number = u64;
    #[inline]
    fn to_number(self) -> u64 {
        self.min(Self::MAX - 2)
    }
    #[inline]
    fn from_number(number: u64) -> Self {
        number
    }
}

/// A key and its id, in the order of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry<T> {
    pub(super) key: T,
    pub(super) id: u32,
}

impl<T: Number> Entry<T> {
    pub(super) const VACANT: Self = Self { key: T::NONE, id: u32::MAX };

    #[inline]
    pub(super) fn new(key: T, id: u32) -> Self {
        debug_assert!(key < T::NEAR);
        Self { key, id }
    }
}
