//! The audit log against a naive model, and many threads.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use security_core::audit_log::{
    Anchor, ArgsHasher, AuditLog, Entry, Invocation, MAX_CAPACITY, MAX_CONFINEMENT_BYTES,
    MAX_NAME_BYTES, Order, Query, Status,
};
use security_core::clock::{ManualClock, SystemClock};

const KEY: [u8; 32] = [7; 32];

fn log(capacity: usize) -> (AuditLog, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Duration::from_secs(1_000)));
    (AuditLog::new(capacity, &KEY, clock.clone()).unwrap(), clock)
}

fn call<'a>(session: &'a [u8], tool: &'a [u8]) -> Invocation<'a> {
    Invocation {
        session,
        tool,
        status: Status::Ok,
        duration_us: 12,
        args_hash: None,
        confinement: None,
        of: None,
    }
}

fn ids(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.id).collect()
}

fn of_session(session: &[u8]) -> Query<'_> {
    Query {
        session: Some(session),
        ..Query::default()
    }
}

#[test]
fn an_entry_says_what_happened() {
    let (log, clock) = log(10);
    clock.advance(Duration::from_micros(5));
    let id = log.append(&Invocation {
        session: b"s",
        tool: b"mix_task",
        status: Status::Timeout,
        duration_us: 60_000_000,
        args_hash: Some([9; 16]),
        confinement: Some(b"filesystem landlock, network none"),
        of: None,
    });
    let entries = log.query(&Query::default());
    assert_eq!(ids(&entries), [id]);
    let content = entries[0].content.as_ref().unwrap();
    assert_eq!(entries[0].timestamp_us, 1_000_000_005);
    assert_eq!(
        (&*content.session, &*content.tool),
        (&b"s"[..], &b"mix_task"[..])
    );
    assert_eq!(content.status, Status::Timeout);
    assert_eq!(content.duration_us, 60_000_000);
    assert_eq!(content.args_hash, Some([9; 16]));
    assert_eq!(
        content.confinement.as_deref(),
        Some(&b"filesystem landlock, network none"[..])
    );
}

#[test]
fn what_confined_a_call_is_stored_bounded() {
    let (log, _) = log(10);
    let long = "no Landlock ä ".repeat(1_000);
    log.append(&Invocation {
        confinement: Some(long.as_bytes()),
        of: None,
        ..call(b"s", b"t")
    });
    let stored = log.query(&Query::default())[0]
        .content
        .as_ref()
        .and_then(|content| content.confinement.clone())
        .unwrap();
    assert!(stored.len() <= MAX_CONFINEMENT_BYTES);
    assert!(str::from_utf8(&stored).unwrap().starts_with("no Landlock"));
    assert!(log.verify().is_ok());
}

#[test]
fn ids_count_from_one_and_the_oldest_entries_go() {
    let (log, _) = log(3);
    for id in 1..=5 {
        assert_eq!(log.append(&call(b"s", b"t")), id);
        assert!(log.count() <= 3);
    }
    assert_eq!(ids(&log.query(&Query::default())), [5, 4, 3]);
    assert_eq!(ids(&log.query(&of_session(b"s"))), [5, 4, 3]);
    let verified = log.verify().unwrap();
    assert_eq!((verified.entries, verified.anchor.id), (3, 2));
}

#[test]
fn entries_are_read_by_session_order_and_limit() {
    let (log, _) = log(1_000);
    for n in 1..=900 {
        log.append(&call(if n % 3 == 0 { b"third" } else { b"other" }, b"t"));
    }
    let thirds: Vec<u64> = (1..=300).map(|n| n * 3).collect();
    let oldest_first = Query {
        order: Order::OldestFirst,
        ..of_session(b"third")
    };
    assert_eq!(ids(&log.query(&oldest_first)), thirds);
    let newest: Vec<u64> = thirds.iter().rev().copied().collect();
    assert_eq!(ids(&log.query(&of_session(b"third"))), newest);
    for limit in [0, 1, 255, 256, 257, 299, 300, 301] {
        let query = Query {
            limit,
            ..of_session(b"third")
        };
        assert_eq!(ids(&log.query(&query)), newest[..limit.min(300)]);
    }
    assert!(log.query(&of_session(b"nobody")).is_empty());
    let all = Query {
        order: Order::OldestFirst,
        limit: usize::MAX,
        ..Query::default()
    };
    assert_eq!(ids(&log.query(&all)), (1..=900).collect::<Vec<_>>());
}

#[test]
fn a_cleared_session_says_nothing_and_the_chain_holds() {
    let (log, _) = log(2_000);
    for _ in 0..600 {
        log.append(&call(b"going", b"t"));
        log.append(&call(b"staying", b"t"));
    }
    log.clear_session(b"going");
    log.clear_session(b"unknown");
    assert_eq!(log.count(), 600);
    assert!(log.query(&of_session(b"going")).is_empty());
    assert_eq!(log.query(&of_session(b"staying")).len(), 600);
    assert_eq!(log.query(&Query::default()).len(), 600);
    let with_cleared = Query {
        cleared: true,
        limit: 2_000,
        ..Query::default()
    };
    assert_eq!(log.query(&with_cleared).len(), 1_200);
    let verified = log.verify().unwrap();
    assert_eq!((verified.entries, verified.cleared), (1_200, 600));
    // The session may start again, and ids go on.
    assert_eq!(log.append(&call(b"going", b"t")), 1_201);
    assert_eq!(log.query(&of_session(b"going")).len(), 1);
}

#[test]
fn clearing_everything_starts_a_new_chain() {
    let (log, _) = log(3);
    for _ in 0..5 {
        log.append(&call(b"s", b"t"));
    }
    let before = log.verify().unwrap();
    log.clear_all();
    assert_eq!(log.count(), 0);
    assert_eq!(log.verify().unwrap().entries, 0);
    assert_eq!(log.append(&call(b"s", b"t")), 1);
    let after = log.verify().unwrap();
    assert_eq!(after.anchor.id, 0);
    assert_ne!(after.anchor.digest, before.anchor.digest);
    // The clock stands still, and yet the same entry of another life has another digest.
    let (other, _) = self::log(3);
    other.append(&call(b"s", b"t"));
    assert_ne!(other.verify().unwrap().head, after.head);
}

#[test]
fn the_capacity_changes_while_the_log_is_in_use() {
    let (log, _) = log(2_000);
    for _ in 0..2_000 {
        log.append(&call(b"s", b"t"));
    }
    log.set_capacity(5).unwrap();
    assert_eq!(log.capacity(), 5);
    assert_eq!(
        ids(&log.query(&Query::default())),
        [2_000, 1_999, 1_998, 1_997, 1_996]
    );
    assert_eq!(log.query(&of_session(b"s")).len(), 5);
    assert_eq!(log.verify().unwrap().anchor.id, 1_995);
    log.set_capacity(7).unwrap();
    for _ in 0..4 {
        log.append(&call(b"s", b"t"));
    }
    assert_eq!(log.count(), 7);
    for capacity in [0, MAX_CAPACITY + 1, usize::MAX] {
        assert!(log.set_capacity(capacity).is_err());
        assert!(AuditLog::new(capacity, &KEY, Arc::new(SystemClock::new())).is_err());
    }
    assert_eq!(log.capacity(), 7);
}

#[test]
fn an_overwritten_entry_is_the_anchor_of_the_next() {
    let (log, _) = log(4);
    for _ in 0..4 {
        log.append(&call(b"s", b"t"));
    }
    let before = log.query(&Query::default());
    log.append(&call(b"s", b"t"));
    log.append(&call(b"s", b"t"));
    let after = log.query(&Query::default());
    assert_eq!(
        log.verify().unwrap().anchor,
        Anchor {
            id: 2,
            digest: before[2].digest
        }
    );
    assert_eq!(after[2..], before[..2]);
}

#[test]
fn long_names_are_cut_to_a_bound_and_stay_apart() {
    let (log, _) = log(10);
    let exact = vec![b'a'; MAX_NAME_BYTES];
    let long = "ä".repeat(MAX_NAME_BYTES);
    let longer = "ä".repeat(500_000);
    let longest = "ä".repeat(500_001);
    for session in [
        &exact,
        long.as_bytes(),
        longer.as_bytes(),
        longest.as_bytes(),
    ] {
        log.append(&call(session, session));
        let entries = log.query(&of_session(session));
        assert_eq!(entries.len(), 1);
        let content = entries[0].content.as_ref().unwrap();
        assert!(content.session.len() <= MAX_NAME_BYTES);
        assert!(content.tool.starts_with(&session[..200]));
        assert!(str::from_utf8(&content.tool).is_ok());
    }
    // Names need not be UTF-8.
    let bytes = vec![0xBF; 1_000];
    log.append(&call(&bytes, &bytes));
    assert_eq!(log.query(&of_session(&bytes)).len(), 1);
    assert!(log.verify().is_ok());
}

#[test]
fn argument_hashes_are_hmac_sha_256_under_the_key() {
    // Test case 1 of RFC 4231; HMAC fills a key up with zeros.
    let mut key = [0; 32];
    key[..20].fill(0x0b);
    let expected = 0xb034_4c61_d8db_3853_5ca8_afce_af0b_f12b_u128.to_be_bytes();
    assert_eq!(ArgsHasher::new(&key).hash(b"Hi There"), expected);
    assert_ne!(ArgsHasher::new(&KEY).hash(b"Hi There"), expected);
}

#[test]
fn nothing_printed_for_debugging_shows_the_key() {
    let key = *b"a key of thirty-two bytes, quite";
    let log = AuditLog::new(10, &key, Arc::new(SystemClock::new())).unwrap();
    let printed = format!("{log:?} {:?}", ArgsHasher::new(&key));
    assert!(!printed.contains("quite"), "{printed}");
    assert!(!printed.contains(&format!("{:?}", &key[..4]).replace(['[', ']'], "")));
}

#[test]
fn statuses_are_known_by_exact_names() {
    for status in Status::ALL {
        assert_eq!(Status::parse(status.name()), Some(status));
    }
    assert_eq!(Status::parse("OK"), None);
}

#[test]
fn many_writers_never_overfill_the_ring_and_lose_only_what_is_overwritten() {
    const WRITERS: u64 = 8;
    const EACH: u64 = 2_000;
    let log = AuditLog::new(1_000, &KEY, Arc::new(SystemClock::new())).unwrap();
    let mut given: Vec<u64> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let log = &log;
                scope.spawn(move || {
                    (0..EACH)
                        .map(|_| {
                            let id = log.append(&call(&writer.to_be_bytes(), b"t"));
                            assert!(log.count() <= 1_000);
                            id
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    });
    given.sort_unstable();
    assert_eq!(given, (1..=WRITERS * EACH).collect::<Vec<_>>());
    let kept = log.query(&Query {
        order: Order::OldestFirst,
        ..Query::default()
    });
    assert_eq!(
        ids(&kept),
        (WRITERS * EACH - 999..=WRITERS * EACH).collect::<Vec<_>>()
    );
    assert!(kept.is_sorted_by_key(|entry| entry.timestamp_us));
    assert!(log.verify().is_ok());
}

/// Ends the writers when the reader is done, also when it is done because it failed.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_chain_is_whole_whenever_it_is_looked_at() {
    let log = AuditLog::new(700, &KEY, Arc::new(SystemClock::new())).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..3_u8 {
            let (log, done) = (&log, &done);
            scope.spawn(move || {
                let mut n = 0_u8;
                while !done.load(Ordering::Relaxed) {
                    log.append(&call(&[writer, n % 5], b"t"));
                    n = n.wrapping_add(1);
                    if n == 0 {
                        log.clear_session(&[writer, 3]);
                    }
                    if n == 99 && writer == 0 {
                        log.clear_all();
                    }
                }
            });
        }
        scope.spawn(|| {
            let _stop = Stop(&done);
            for round in 0..20 {
                assert_eq!(log.verify().map(|_| ()), Ok(()));
                let newest = ids(&log.query(&Query::default()));
                assert!(newest.len() <= 700 && newest.is_sorted_by(|a, b| a > b));
                match round {
                    7 => log.set_capacity(300).unwrap(),
                    14 => log.set_capacity(700).unwrap(),
                    _ => {}
                }
            }
        });
    });
}

/// A step of the model test: calls by one of four sessions, or a change of the log.
#[derive(Debug, Clone)]
enum Step {
    Append(u8),
    ClearSession(u8),
    ClearAll,
    Capacity(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (0..4_u8).prop_map(Step::Append),
        2 => (0..4_u8).prop_map(Step::ClearSession),
        1 => Just(Step::ClearAll),
        2 => (1..12_usize).prop_map(Step::Capacity),
    ];
    prop::collection::vec(step, 1..150)
}

proptest! {
    #[test]
    fn the_log_answers_like_a_list(steps in steps()) {
        let (log, _) = log(8);
        let mut capacity = 8;
        let mut next_id = 1;
        // Ids with their sessions; `None` once cleared.
        let mut list: Vec<(u64, Option<u8>)> = Vec::new();
        for step in steps {
            match step {
                Step::Append(session) => {
                    prop_assert_eq!(log.append(&call(&[session], b"t")), next_id);
                    list.push((next_id, Some(session)));
                    next_id += 1;
                }
                Step::ClearSession(session) => {
                    log.clear_session(&[session]);
                    for entry in list.iter_mut().filter(|entry| entry.1 == Some(session)) {
                        entry.1 = None;
                    }
                }
                Step::ClearAll => {
                    log.clear_all();
                    list.clear();
                    next_id = 1;
                }
                Step::Capacity(new) => {
                    log.set_capacity(new).unwrap();
                    capacity = new;
                }
            }
            list.drain(..list.len().saturating_sub(capacity));
            let of = |session: Option<u8>| -> Vec<u64> {
                let named = |s: &Option<u8>| s.is_some() && (session.is_none() || *s == session);
                list.iter().rev().filter(|(_, s)| named(s)).map(|(id, _)| *id).collect()
            };
            prop_assert_eq!(log.count(), of(None).len());
            prop_assert_eq!(ids(&log.query(&Query::default())), of(None));
            for session in 0..4 {
                prop_assert_eq!(ids(&log.query(&of_session(&[session]))), of(Some(session)));
            }
            prop_assert_eq!(log.verify().map(|v| v.entries), Ok(list.len()));
        }
    }
}
