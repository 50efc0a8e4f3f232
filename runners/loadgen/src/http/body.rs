//! Where a body ends: by length, by chunks (RFC 9112 section 7.1), or with the connection.

use super::{MAX_HEAD_BYTES, ParseError};

/// Longest chunk-size line with its extensions, in bytes.
const MAX_SIZE_LINE_BYTES: usize = 1024;

/// What is still to come of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// This many bytes.
    Length(u64),
    /// Chunks.
    Chunked(Chunk),
    /// Everything until the server closes.
    UntilClose,
}

/// The place inside a chunked body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// In the size line; digits so far, and bytes of the line so far.
    Size { value: u64, digits: u32, line_bytes: usize, extension: bool },
    /// In the data.
    Data { left: u64 },
    /// After the data: its CR LF.
    DataEnd { seen_cr: bool },
    /// In the trailer; whether the current line is empty so far, and bytes so far.
    Trailer { empty_line: bool, bytes: usize },
}

impl Chunk {
    /// The start of a chunked body.
    pub const START: Chunk = Chunk::Size { value: 0, digits: 0, line_bytes: 0, extension: false };
}

impl Body {
    /// Takes bytes of the body and hands its content to `content`. Returns how many bytes were taken and whether the
    /// body is complete.
    pub fn take(&mut self, data: &[u8], mut content: impl FnMut(&[u8])) -> Result<(usize, bool), ParseError> {
        match self {
            Body::Length(left) => {
                let taken = data.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                content(&data[..taken]);
                *left -= taken as u64;
                Ok((taken, *left == 0))
            }
            Body::UntilClose => {
                content(data);
                Ok((data.len(), false))
            }
            Body::Chunked(chunk) => chunk.take(data, content),
        }
    }
}

impl Chunk {
    fn take(&mut self, data: &[u8], mut content: impl FnMut(&[u8])) -> Result<(usize, bool), ParseError> {
        let mut at = 0;
        while at < data.len() {
            let byte = data[at];
            match self {
                Chunk::Data { left } => {
                    let taken = (data.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                    content(&data[at..at + taken]);
                    at += taken;
                    *left -= taken as u64;
                    if *left == 0 {
                        *self = Chunk::DataEnd { seen_cr: false };
                    }
                    continue;
                }
                Chunk::Size { value, digits, line_bytes, extension } => {
                    *line_bytes += 1;
                    if *line_bytes > MAX_SIZE_LINE_BYTES {
                        return Err(ParseError::BadChunk);
                    }
                    let digit = (byte as char).to_digit(16);
                    match (byte, digit) {
                        (b'\n', _) if *digits == 0 => return Err(ParseError::BadChunk),
                        (b'\n', _) if *value == 0 => *self = Chunk::Trailer { empty_line: true, bytes: 0 },
                        (b'\n', _) => *self = Chunk::Data { left: *value },
                        (_, Some(digit)) if !*extension => {
                            *value = value
                                .checked_mul(16)
                                .and_then(|shifted| shifted.checked_add(u64::from(digit)))
                                .ok_or(ParseError::BadChunk)?;
                            *digits += 1;
                        }
                        (b';' | b' ' | b'\t' | b'\r', _) if *digits > 0 => *extension = true,
                        _ if *extension => {}
                        _ => return Err(ParseError::BadChunk),
                    }
                }
                Chunk::DataEnd { seen_cr } => match byte {
                    b'\r' if !*seen_cr => *seen_cr = true,
                    b'\n' => *self = Chunk::START,
                    _ => return Err(ParseError::BadChunk),
                },
                Chunk::Trailer { empty_line, bytes } => {
                    *bytes += 1;
                    match byte {
                        b'\n' if *empty_line => return Ok((at + 1, true)),
                        b'\n' => *empty_line = true,
                        b'\r' => {}
                        _ => *empty_line = false,
                    }
                    if *bytes > MAX_HEAD_BYTES {
                        return Err(ParseError::HeadTooLarge);
                    }
                }
            }
            at += 1;
        }
        Ok((at, false))
    }
}
