//! JPEG encoding of raw pictures.
//!
//! Applies to packets whose UDP payload is as long as a square 4:2:0 picture: w·w bytes of brightness, then twice
//! (w/2)·(w/2) of colour, w even, so w·w·3/2 in total. The payload is replaced by a baseline JPEG file, if that is
//! shorter: of a small picture or of noise, which would become longer, the packet passes unchanged. The time is spent in
//! cosine transforms and Huffman codes, as in the MPEG encoders of the literature on active networks; this is the part of
//! them that encodes a single frame. The encoder allocates its working rows for each picture.

use jpeg_encoder::{ChromaSubsamplingMethod, Encoder, ImageBuffer, JpegColorType, SamplingFactor};

use super::{
    NetworkFunction, Processing, Verdict,
    frame::{Ip, UDP, write_length},
    protocol,
    transport::{pseudo_header, write_udp},
};

/// Its name on the command line.
pub const NAME: &str = "jpeg";

/// JPEG quality, of 100: good, and a quarter of the size or less.
const QUALITY: u8 = 75;

/// Maximum size of an IP packet.
const MAX_PACKET_BYTES: usize = u16::MAX as usize;

/// Width and height in pixels of the square picture of this many bytes, if there is one: even, from 2 to 208.
#[must_use]
pub fn side(bytes: usize) -> Option<usize> {
    let pixels = (bytes < MAX_PACKET_BYTES).then_some(bytes)? / 3 * 2;
    let side = pixels.isqrt();
    (side >= 2 && side.is_multiple_of(2) && side * side / 2 * 3 == bytes && side <= 208).then_some(side)
}

/// The JPEG function.
#[derive(Debug, Default)]
pub struct Jpeg {
    file: Vec<u8>,
}

impl Jpeg {
    /// An encoder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// A raw picture in the form that the encoder reads: row by row, colour at full width.
struct Picture<'a> {
    planes: &'a [u8],
    side: usize,
}

impl ImageBuffer for Picture<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        self.side as u16
    }

    fn height(&self) -> u16 {
        self.side as u16
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let (side, half, y) = (self.side, self.side / 2, usize::from(y));
        let colour = side * side + (y / 2) * half;
        buffers[0].extend_from_slice(&self.planes[y * side..][..side]);
        for (buffer, at) in buffers[1..].iter_mut().zip([colour, colour + half * half]) {
            buffer.extend(self.planes[at..][..half].iter().flat_map(|&value| [value, value]));
        }
    }
}

impl NetworkFunction for Jpeg {
    fn name(&self) -> &str {
        NAME
    }

    fn processing(&self) -> Processing {
        Processing::Payload
    }

    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let mut ip = match Ip::find(frame) {
            Ok(ip) => ip,
            Err(verdict) => return verdict,
        };
        let at = ip.body + UDP;
        let planes = frame.get(at..ip.end).unwrap_or_default();
        let Some(side) = side(planes.len()) else { return Verdict::Untouched };
        if ip.protocol(frame) != protocol::UDP || ip.is_fragment(frame) {
            return Verdict::Untouched;
        }
        self.file.clear();
        let mut encoder = Encoder::new(&mut self.file, QUALITY);
        encoder.set_sampling_factor(SamplingFactor::F_2_2);
        encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Nearest);
        if encoder.encode_image(Picture { planes, side }).is_err() {
            return Verdict::Untouched;
        }
        if self.file.len() >= planes.len() {
            return Verdict::Forward;
        }
        frame.truncate(at);
        frame.extend_from_slice(&self.file);
        ip.end = frame.len();
        write_length(frame, &ip);
        let pseudo = pseudo_header(frame, &ip, protocol::UDP, 0);
        write_udp(frame.get_mut(..ip.end).unwrap_or_default(), ip.body, pseudo);
        Verdict::Forward
    }
}

#[cfg(test)]
mod tests;
