//! The bound of a temporary folder that lies on a disk: counted while commands run, since nothing
//! else keeps it there.
//!
//! A command may write past the bound between two looks, or keep what it has deleted open. It is
//! ended at the next look, and what it wrote goes.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::scratch::{self, Scratch};

/// Between two looks, if they take no longer than a tenth of it.
const EVERY: Duration = Duration::from_millis(500);

/// Counts what a folder holds.
pub struct Meter {
    folder: Scratch,
    bytes: u64,
    next: Instant,
    over: bool,
}

impl Meter {
    /// Of a folder that may hold so many bytes.
    pub fn of(folder: &Path, bytes: u64) -> Self {
        Self {
            folder: Scratch::at(folder.to_owned()),
            bytes,
            next: Instant::now() + EVERY,
            over: false,
        }
    }

    /// When it should look again.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Looks, when it is time to; true when the folder holds too much.
    pub fn is_over(&mut self) -> bool {
        let start = Instant::now();
        if start >= self.next {
            self.over = scratch::exceeds(self.folder.path(), self.bytes);
            self.next = Instant::now() + EVERY.max(start.elapsed() * 10);
        }
        self.over
    }

    /// When all has ended: empties a folder that holds too much, and says so.
    pub fn settle(&mut self) -> Option<String> {
        if !self.over && !scratch::exceeds(self.folder.path(), self.bytes) {
            return None;
        }
        let emptied = match self.folder.empty() {
            Ok(()) => "it was emptied".to_owned(),
            Err(error) => format!("it could not be emptied ({error})"),
        };
        let ended = if self.over {
            "The command was ended: its"
        } else {
            "The"
        };
        let bound = self.bytes;
        Some(format!(
            "{ended} temporary folder held more than {bound} bytes, and {emptied}"
        ))
    }
}
