//! Writing PNG files (W3C Recommendation, third edition, 2025): eight bits a channel, no interlacing, rows as they come.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// Kinds of colour: red, green and blue, without and with opacity.
const RGB: u8 = 2;
const RGBA: u8 = 6;
/// The filter that takes the difference to the byte above.
const UP: u8 = 2;
/// Other filters that are tried: the difference to what Paeth predicts, and to the byte on the left.
const OTHERS: [u8; 2] = [4, 1];
/// A row whose differences to that above are less than one for so many bytes needs no other filter.
const NEARLY: u64 = 8;

/// Pixels above which a picture is packed in less time and a little less well: a deep search among tens of megabytes of
/// shades takes most of the picture's time.
const LARGE: u64 = 8_000_000;

/// A file in the making.
pub(crate) struct Writer {
    file: Vec<u8>,
    packed: ZlibEncoder<Vec<u8>>,
    channels: usize,
    width: usize,
    above: Vec<u8>,
    others: &'static [u8],
}

impl Writer {
    /// The beginning of a file of so many pixels.
    pub(crate) fn new(width: u32, height: u32, has_opacity: bool) -> io::Result<Self> {
        let mut head = Vec::with_capacity(13);
        head.extend_from_slice(&width.to_be_bytes());
        head.extend_from_slice(&height.to_be_bytes());
        head.extend_from_slice(&[8, if has_opacity { RGBA } else { RGB }, 0, 0, 0]);
        let mut file = SIGNATURE.to_vec();
        chunk(&mut file, *b"IHDR", &head);
        let (channels, width) = (if has_opacity { 4 } else { 3 }, width as usize);
        // Of a large picture that on the left is hardly ever the best.
        let is_large = width as u64 * u64::from(height) > LARGE;
        let (level, others) = if is_large { (2, &OTHERS[..1]) } else { (6, &OTHERS[..]) };
        let packed = ZlibEncoder::new(Vec::new(), Compression::new(level));
        Ok(Self { file, packed, channels, width, above: vec![0; channels * width], others })
    }

    /// The next rows, four bytes a pixel.
    pub(crate) fn rows(&mut self, pixels: &[u8]) -> io::Result<()> {
        let bytes = self.channels;
        for row in pixels.chunks_exact(4 * self.width) {
            let row = if bytes == 4 {
                row.to_vec()
            } else {
                let mut kept = vec![0; 3 * self.width];
                for (to, [r, g, b, _]) in
                    kept.as_chunks_mut::<3>().0.iter_mut().zip(row.as_chunks::<4>().0)
                {
                    *to = [*r, *g, *b];
                }
                kept
            };
            let (filter, best) = self.best(&row, bytes);
            self.packed.write_all(&[filter])?;
            self.packed.write_all(&best)?;
            self.above = row;
        }
        Ok(())
    }

    /// The filter whose differences are smallest, which usually compresses best, and these.
    fn best(&self, row: &[u8], bytes: usize) -> (u8, Vec<u8>) {
        // A row has less than 2^24 bytes.
        let size = |bytes: &[u8]| {
            let mut sum = 0_u32;
            for byte in bytes {
                sum += u32::from((*byte as i8).unsigned_abs());
            }
            u64::from(sum)
        };
        let mut up = vec![0; row.len()];
        for ((to, byte), above) in up.iter_mut().zip(row).zip(&self.above) {
            *to = byte.wrapping_sub(*above);
        }
        let of_up = size(&up);
        // A row of background is nearly that above.
        if of_up * NEARLY <= row.len() as u64 {
            return (UP, up);
        }
        let sized = self.others.iter().map(|filter| {
            let row = filtered(*filter, row, &self.above, bytes);
            (size(&row), *filter, row)
        });
        let (_, filter, best) = sized.fold((of_up, UP, up), |a, b| if b.0 < a.0 { b } else { a });
        (filter, best)
    }

    /// The whole file.
    pub(crate) fn finish(mut self) -> io::Result<Vec<u8>> {
        chunk(&mut self.file, *b"IDAT", &self.packed.finish()?);
        chunk(&mut self.file, *b"IEND", &[]);
        Ok(self.file)
    }
}

/// A row as differences to what its filter predicts; before the first pixel all bytes are zero.
fn filtered(filter: u8, row: &[u8], above: &[u8], bytes: usize) -> Vec<u8> {
    let mut out = vec![0; row.len()];
    let first = bytes.min(row.len());
    for (to, (byte, up)) in out.iter_mut().zip(row.iter().zip(above)).take(first) {
        *to = byte.wrapping_sub(if filter == 1 { 0 } else { *up });
    }
    let rest = out.iter_mut().zip(row).skip(first);
    let before = row.iter().zip(above.iter().skip(first).zip(above));
    for ((to, byte), (left, (up, corner))) in rest.zip(before) {
        *to = byte.wrapping_sub(if filter == 1 { *left } else { paeth(*left, *up, *corner) });
    }
    out
}

/// Of the bytes on the left, above and at the corner the one that is nearest to left + above - corner; without a jump, so that
/// many are found at once.
#[inline(always)]
fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, up, corner].map(i16::from);
    let (far_left, far_up) = ((b - c).abs(), (a - c).abs());
    let far_corner = (a + b - 2 * c).abs();
    let of_two = if far_up <= far_corner { up } else { corner };
    if (far_left <= far_up) & (far_left <= far_corner) { left } else { of_two }
}

/// Length, name, content and checksum.
fn chunk(file: &mut Vec<u8>, name: [u8; 4], content: &[u8]) {
    file.extend_from_slice(&(content.len() as u32).to_be_bytes());
    file.extend_from_slice(&name);
    file.extend_from_slice(content);
    let mut sum = flate2::Crc::new();
    sum.update(&name);
    sum.update(content);
    file.extend_from_slice(&sum.sum().to_be_bytes());
}
