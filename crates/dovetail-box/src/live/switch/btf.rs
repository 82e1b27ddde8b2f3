//! Looks up the number of a kernel function in the kernel's BTF (its Documentation/bpf/btf.rst).
//!
//! ```text
//! header   magic │ version │ flags │ header's bytes │ types: offset, bytes │ names: offset, bytes
//! a type   name │ kind and number of members │ size or type │ what its kind has beside that
//! ```
//!
//! Types are numbered from 1 in the order in which they appear.

use std::{fs, io};

/// The kernel's BTF.
const FILE: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u32 = 0xeb9f;
const FUNCTION: u32 = 12;

/// The number of the kernel function of this name.
///
/// # Errors
/// The system's error; `NotFound` if the kernel has no BTF, or no such function.
pub fn function(name: &str) -> io::Result<u32> {
    find(&fs::read(FILE)?, name).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn find(btf: &[u8], name: &str) -> Option<u32> {
    if u32::from(u16::from_ne_bytes(*btf.first_chunk()?)) != MAGIC {
        return None;
    }
    let header = word(btf, 4)? as usize;
    let part = |at: usize| {
        let (offset, bytes) = (word(btf, at)? as usize, word(btf, at + 4)? as usize);
        let begin = header.checked_add(offset)?;
        btf.get(begin..begin.checked_add(bytes)?)
    };
    let (types, names) = (part(8)?, part(16)?);
    let is_it = |offset: u32| {
        let rest = names.get(offset as usize..).unwrap_or_default();
        rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
    };
    let (mut at, mut number) = (0, 0);
    while at < types.len() {
        number += 1;
        let info = word(types, at + 4)?;
        let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        if kind == FUNCTION && is_it(word(types, at)?) {
            return Some(number);
        }
        at += 12
            + match kind {
                // An integer, a variable, a declaration tag.
                1 | 14 | 17 => 4,
                // An array.
                3 => 12,
                // A structure, a union, a section, a 64-bit enumeration.
                4 | 5 | 15 | 19 => 12 * members,
                // An enumeration, a function's parameters.
                6 | 13 => 8 * members,
                // Pointers, names, functions, floats.
                0 | 2 | 7..=12 | 16 | 18 => 0,
                _ => return None,
            };
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF of these types, each with the offset of its name.
    fn btf(types: &[u32], names: &[u8]) -> Vec<u8> {
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut bytes = 0xeb9f_u16.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let (of_types, of_names) = (types.len() as u32, names.len() as u32);
        bytes.extend([24, 0, of_types, of_types, of_names].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(types);
        bytes.extend(names);
        bytes
    }

    #[test]
    fn functions_are_found_behind_types_of_every_length() {
        let names = b"\0int\0one\0one_more\0";
        let info = |kind: u32, members: u32| kind << 24 | members;
        let types = [
            [1, info(1, 0), 4].as_slice(),
            &[0],
            &[0, info(4, 2), 8, 1, 1, 0, 1, 1, 32],
            &[5, info(13, 1), 1, 1, 1],
            &[9, info(12, 0), 3],
            &[5, info(12, 0), 3],
        ]
        .concat();
        let bytes = btf(&types, names);
        assert_eq!(["one", "one_more", "int", "none"].map(|name| find(&bytes, name)), [Some(5), Some(4), None, None]);
        for end in 0..bytes.len() {
            let _ = find(&bytes[..end], "one");
        }
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0xff;
            let _ = find(&wrong, "one");
        }
    }
}
