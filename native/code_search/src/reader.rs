//! A file as the searcher reads it.

use crate::stop::Stop;
use std::fs::File;
use std::io::{self, Read};

/// The size of the first read.
pub(crate) const HEAD: usize = 64 << 10;

/// Reads a file up to the size that it had when it was opened, and fails once the search has to
/// end.
///
/// Most files of a project are small, and each costs more in system calls than in searching. The
/// searcher asks for three bytes first (a byte order mark), then for the rest, then for the end.
/// Here one read fills `head`, which answers the first two, and the known size answers the third.
pub(crate) struct Reader<'a> {
    file: File,
    left: u64,
    stop: &'a Stop,
    head: &'a mut [u8],
    filled: usize,
    served: usize,
    started: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(file: File, size: u64, stop: &'a Stop, head: &'a mut [u8]) -> Self {
        // A size of zero is what generated files (procfs and the like) claim: read those to their
        // end.
        let left = if size == 0 { u64::MAX } else { size };
        Reader {
            file,
            left,
            stop,
            head,
            filled: 0,
            served: 0,
            started: false,
        }
    }

    fn read_file(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        if self.stop.reached() {
            return Err(io::Error::other("stopped"));
        }
        let read = self.file.read(buf)?;
        self.left = if read == 0 {
            0
        } else {
            self.left.saturating_sub(read as u64)
        };
        Ok(read)
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.started {
            self.started = true;
            // The worker looked at the clock just before it opened the file.
            self.filled = self.file.read(self.head)?;
            self.left = if self.filled == 0 {
                0
            } else {
                self.left.saturating_sub(self.filled as u64)
            };
        }
        let ready = &self.head[self.served..self.filled];
        if ready.is_empty() {
            return self.read_file(buf);
        }
        let count = ready.len().min(buf.len());
        buf[..count].copy_from_slice(&ready[..count]);
        self.served += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::stop::CancelToken;
    use std::io::{Seek, Write};
    use std::time::{Duration, Instant};

    fn file(bytes: &[u8], name: &str) -> File {
        let path = std::env::temp_dir().join(format!("reader-{}-{name}", std::process::id()));
        let mut file = File::options()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(path).unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    fn stop() -> Stop {
        Stop {
            token: CancelToken::new(),
            deadline: Instant::now() + Duration::from_secs(60),
        }
    }

    #[test]
    fn every_size_is_read_whole_whatever_the_size_of_the_reads() {
        for len in [0, 1, 2, 99, 100, 101, 250, 1_000] {
            let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
            for step in [1, 3, 64, 100, 5_000] {
                let (stop, mut head) = (stop(), [0; 100]);
                let mut reader = Reader::new(file(&bytes, "sizes"), len, &stop, &mut head);
                let (mut out, mut buf) = (Vec::new(), vec![0; step]);
                loop {
                    match reader.read(&mut buf).unwrap() {
                        0 => break,
                        read => out.extend_from_slice(&buf[..read]),
                    }
                }
                assert_eq!(out, bytes, "{len} bytes in steps of {step}");
            }
        }
    }

    #[test]
    fn a_file_that_shrank_ends_and_one_that_claims_no_size_is_read() {
        for (size, name) in [(500, "shrank"), (0, "none")] {
            let (stop, mut head) = (stop(), [0; 4]);
            let mut out = Vec::new();
            Reader::new(file(b"0123456789", name), size, &stop, &mut head)
                .read_to_end(&mut out)
                .unwrap();
            assert_eq!(out, b"0123456789");
        }
    }

    #[test]
    fn a_large_file_is_left_once_the_token_is_set() {
        let (stop, mut head) = (stop(), [0; 4]);
        let mut reader = Reader::new(file(&[b'x'; 100], "stop"), 100, &stop, &mut head);
        let mut buf = [0; 10];
        assert_eq!(reader.read(&mut buf).unwrap(), 4);
        stop.token.cancel();
        assert!(reader.read(&mut buf).is_err());
    }
}
