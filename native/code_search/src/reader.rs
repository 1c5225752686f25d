//! A file as the searcher reads it.

use crate::stop::Stop;
use std::fs::File;
use std::io::{self, Read};

/// The size of the first read.
pub(crate) const HEAD: usize = 64 << 10;

/// Reads a file up to the size that it had when it was opened, and fails once the search has to end.
///
/// Most files of a project are small, and each costs more in system calls than in searching. The
/// searcher asks for three bytes first (a byte order mark), then for the rest, then for the end. Here one
/// read fills `head`, which answers the first two, and the known size answers the third.
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
        // A size of zero is what generated files (procfs and the like) claim: read those to their end.
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
