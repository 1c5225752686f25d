//! What the VM and its children print: passed on to standard error, the end of it kept for
//! messages.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use security_core::sanitizer::{KnownSecrets, Sanitizer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How much is kept.
const KEPT: usize = 4 * 1024;
/// How many chunks may wait for a client that does not read standard error. More are dropped: the
/// VM must not come to a halt because nobody reads its log.
const WAITING: usize = 64;
/// The longest line shown as progress, in characters.
const LINE: usize = 200;

/// The end of what was printed.
#[derive(Clone, Default)]
pub struct Output {
    kept: Arc<Mutex<VecDeque<u8>>>,
}

impl Output {
    /// Follows a pipe until its last writer closes it. The task ends when all of it is passed on.
    pub fn follow(reader: OwnedFd) -> std::io::Result<(Output, JoinHandle<()>)> {
        let mut reader = pipe::Receiver::from_owned_fd(reader)?;
        let output = Output::default();
        let copy = output.clone();
        let (pass_on, mut chunks) = mpsc::channel::<Vec<u8>>(WAITING);
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(read @ 1..) = reader.read(&mut buffer).await {
                copy.keep(&buffer[..read]);
                let _ = pass_on.try_send(buffer[..read].to_vec());
            }
        });
        let passing_on = tokio::spawn(async move {
            let mut stderr = tokio::io::stderr();
            while let Some(chunk) = chunks.recv().await {
                // Nobody there to read it: the end is kept all the same.
                let _ = stderr.write_all(&chunk).await;
                let _ = stderr.flush().await;
            }
        });
        Ok((output, passing_on))
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let over = kept.len().saturating_sub(KEPT);
        kept.drain(..over);
    }

    /// The last whole lines, without secrets, for a model to read.
    pub fn end(&self) -> String {
        let kept: Vec<u8> = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().copied().collect()
        };
        // The first line may have lost its beginning, and with it what tells a secret.
        let whole = match kept.iter().position(|byte| *byte == b'\n') {
            Some(first) if kept.len() >= KEPT => &kept[first + 1..],
            _ => &kept[..],
        };
        let redacted = Sanitizer::built_in().redact(whole, &KnownSecrets::empty());
        let text = redacted.map_or_else(|| whole.to_vec(), |redacted| redacted.text);
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// The last line, as [`Output::end`].
    pub fn last_line(&self) -> String {
        let end = self.end();
        let line = end.lines().rev().find(|line| !line.trim().is_empty());
        line.unwrap_or_default().trim().chars().take(LINE).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_by_whole_lines_and_without_secrets() {
        let output = Output::default();
        for number in 0..1_000 {
            output.keep(format!("line {number}\n").as_bytes());
        }
        output.keep(b"password=hunter2hunter2\nCompiling 3 files\n");
        let end = output.end();
        assert!(end.len() <= KEPT);
        assert!(end.starts_with("line "), "{end}");
        assert!(!end.contains("hunter2"), "{end}");
        assert_eq!(output.last_line(), "Compiling 3 files");
    }
}
