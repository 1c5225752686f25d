//! The keyed digests that chain the entries, and the check of a chain.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use super::{ArgsHash, Content, Digest, Entry};

/// A chain that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Entries checked.
    pub entries: usize,
    /// How many of them have had their content cleared.
    pub cleared: usize,
    /// What the chain starts from.
    pub anchor: Anchor,
    /// The digest of the newest entry, or the anchor's when there is none.
    pub head: Digest,
}

/// What the oldest entry is chained to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Id of the last entry that was overwritten; 0 when none was.
    pub id: u64,
    /// Its digest; when none was overwritten, the digest that the log started with.
    pub digest: Digest,
}

/// A chain that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("audit entry {id} {kind}")]
pub struct Broken {
    /// The first entry at which it shows, or the one that should follow the last one.
    pub id: u64,
    /// What is wrong there.
    pub kind: BrokenKind,
}

/// What is wrong with a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BrokenKind {
    /// The ids don't count on by one.
    #[error("is out of sequence")]
    Sequence,
    /// The content is not what was recorded.
    #[error("has changed content")]
    Content,
    /// The digest doesn't follow from the entry before, the content's digest, the id and the time.
    #[error("does not follow from the entry before it")]
    Chain,
    /// Entries are missing at the end.
    #[error("is missing at the end")]
    Head,
}

/// Hashes arguments so that small ones can't be found by trying: HMAC-SHA-256 under a key, cut to
/// 16 bytes.
#[derive(Debug, Clone)]
pub struct ArgsHasher(Keyed);

impl ArgsHasher {
    /// A hasher with this key.
    pub fn new(key: &[u8; 32]) -> Self {
        ArgsHasher(Keyed::new(key))
    }

    /// The hash of arguments in their canonical form: equal arguments must have equal bytes.
    pub fn hash(&self, canonical: &[u8]) -> ArgsHash {
        let full = self.0.mac(&[canonical]);
        let mut hash = ArgsHash::default();
        hash.copy_from_slice(&full[..16]);
        hash
    }
}

/// A chain being checked, entry by entry.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) anchor: Anchor,
    pub(super) next_id: u64,
    pub(super) previous: Digest,
    pub(super) entries: usize,
    pub(super) cleared: usize,
}

impl Check {
    pub(super) fn start(anchor: Anchor) -> Self {
        Check {
            anchor,
            next_id: anchor.id.saturating_add(1),
            previous: anchor.digest,
            entries: 0,
            cleared: 0,
        }
    }

    pub(super) fn entry(&mut self, chain: &Chain, entry: &Entry) -> Result<(), Broken> {
        let broken = |kind| Err(Broken { id: entry.id, kind });
        if entry.id != self.next_id {
            return broken(BrokenKind::Sequence);
        }
        match &entry.content {
            Some(content) if chain.content(content) != entry.content_digest => {
                return broken(BrokenKind::Content);
            }
            Some(_) => {}
            None => self.cleared += 1,
        }
        let digest = chain.link(
            &self.previous,
            &entry.content_digest,
            entry.id,
            entry.timestamp_us,
        );
        if digest != entry.digest {
            return broken(BrokenKind::Chain);
        }
        self.previous = digest;
        self.next_id = self.next_id.saturating_add(1);
        self.entries += 1;
        Ok(())
    }

    pub(super) fn finish(&self, head: &Digest) -> Result<Verified, Broken> {
        if self.previous != *head {
            return Err(Broken {
                id: self.next_id,
                kind: BrokenKind::Head,
            });
        }
        Ok(Verified {
            entries: self.entries,
            cleared: self.cleared,
            anchor: self.anchor,
            head: self.previous,
        })
    }
}

/// The keyed digests of a chain. Each kind starts with its own byte, and every part of variable
/// length with its length, so that no two different things are ever hashed as the same bytes.
#[derive(Debug)]
pub(super) struct Chain(Keyed);

impl Chain {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        // A key of its own, so that the log's key can serve the argument hashes as well.
        Chain(Keyed::new(&Keyed::new(key).mac(&[b"audit chain"])))
    }

    /// What the first entry of a file is chained to.
    pub(super) fn first(&self) -> Anchor {
        Anchor {
            id: 0,
            digest: self.0.mac(&[b"f"]),
        }
    }

    pub(super) fn start(&self, unix_us: u64, life: u64) -> Digest {
        self.0
            .mac(&[b"s", &unix_us.to_le_bytes(), &life.to_le_bytes()])
    }

    pub(super) fn content(&self, content: &Content) -> Digest {
        let args_hash = content.args_hash.as_ref();
        let confinement = content.confinement.as_deref();
        self.0.mac(&[
            b"c",
            &[
                content.status as u8,
                u8::from(args_hash.is_some()),
                u8::from(confinement.is_some()),
                u8::from(content.of.is_some()),
            ],
            &content.of.unwrap_or_default().to_le_bytes(),
            args_hash.unwrap_or(&ArgsHash::default()),
            &content.duration_us.to_le_bytes(),
            &(content.session.len() as u64).to_le_bytes(),
            &content.session,
            &(content.tool.len() as u64).to_le_bytes(),
            &content.tool,
            // The last part needs no length.
            confinement.unwrap_or_default(),
        ])
    }

    pub(super) fn link(
        &self,
        previous: &Digest,
        content: &Digest,
        id: u64,
        timestamp_us: u64,
    ) -> Digest {
        self.0.mac(&[
            b"l",
            previous,
            content,
            &id.to_le_bytes(),
            &timestamp_us.to_le_bytes(),
        ])
    }
}

/// HMAC-SHA-256 with its key already absorbed.
#[derive(Clone)]
pub(super) struct Keyed(Hmac<Sha256>);

impl Keyed {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        // HMAC pads a short key with zeros to the length of a block; doing it here leaves nothing
        // that could fail.
        let mut block = [0; 64];
        block[..key.len()].copy_from_slice(key);
        Keyed(<Hmac<Sha256> as KeyInit>::new(&block.into()))
    }

    pub(super) fn mac(&self, parts: &[&[u8]]) -> Digest {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyed(..)")
    }
}
