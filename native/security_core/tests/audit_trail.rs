//! The file of the audit log: what it holds after a kill, a full disk, a move, and what shows when
//! it was changed.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use security_core::audit_log::{
    AuditLog, BrokenKind, Damage, Invocation, Status, Torn, TrailError, VerifiedTrail, verify_trail,
};
use security_core::clock::ManualClock;

const KEY: [u8; 32] = [7; 32];

fn open(path: &Path) -> Result<AuditLog, TrailError> {
    let clock = Arc::new(ManualClock::new(Duration::from_secs(1)));
    AuditLog::with_trail(100, &KEY, clock, path, false)
}

fn call<'a>(session: &'a [u8], tool: &'a [u8]) -> Invocation<'a> {
    Invocation {
        session,
        tool,
        status: Status::Ok,
        duration_us: 5,
        args_hash: Some([3; 16]),
        confinement: Some(b"network none"),
        of: None,
    }
}

fn verify(path: &Path) -> Result<(VerifiedTrail, Option<Torn>), Box<Damage>> {
    verify_trail(BufReader::new(fs::File::open(path).unwrap()), &KEY).unwrap()
}

fn written(entries: u64) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = open(&path).unwrap();
    for n in 0..entries {
        let recorded = log
            .record(&call(format!("s{n}").as_bytes(), b"grep"))
            .unwrap();
        assert_eq!((recorded.id, recorded.kept), (n + 1, Ok(())));
    }
    (folder, path)
}

#[test]
fn the_file_goes_on_from_one_start_to_the_next() {
    let (_folder, path) = written(3);
    let log = open(&path).unwrap();
    assert_eq!(log.record(&call(b"later", b"grep")).unwrap().id, 4);
    assert!(log.verify().is_ok());
    let head = log.verify().unwrap().head;
    drop(log);
    assert_eq!(
        verify(&path).unwrap(),
        (VerifiedTrail { entries: 4, head }, None)
    );
}

#[test]
fn a_second_writer_is_kept_out_and_the_first_is_not_disturbed() {
    let (_folder, path) = written(1);
    let first = open(&path).unwrap();
    assert_eq!(open(&path).unwrap_err(), TrailError::Taken);
    first.record(&call(b"s", b"t")).unwrap().kept.unwrap();
    assert_eq!(verify(&path).unwrap().0.entries, 2);
}

#[test]
fn the_beginning_of_a_line_is_no_entry_and_goes_at_the_next_start() {
    let (_folder, path) = written(3);
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|&b| b == b'\n')
        .unwrap()
        + 1;
    for end in last..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let (good, torn) = verify(&path).unwrap();
        assert_eq!(good.entries, 2);
        assert_eq!(torn.map_or(0, |torn| torn.bytes), (end - last) as u64);
        let log = open(&path).unwrap();
        assert_eq!(log.record(&call(b"s", b"t")).unwrap().id, 3);
        drop(log);
        assert_eq!(verify(&path).unwrap().0.entries, 3);
    }
}

#[test]
fn a_file_that_was_moved_or_removed_takes_nothing_and_back_again_all() {
    let (folder, path) = written(1);
    let log = open(&path).unwrap();
    let away = folder.path().join("away");
    fs::rename(&path, &away).unwrap();
    for _ in 0..2 {
        assert_eq!(
            log.record(&call(b"s", b"t")).unwrap().kept,
            Err(TrailError::Moved)
        );
    }
    fs::rename(&away, &path).unwrap();
    log.record(&call(b"s", b"t")).unwrap().kept.unwrap();
    assert_eq!(verify(&path).unwrap().0.entries, 4);
}

#[test]
fn what_is_no_trail_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let long = format!("{{{}", "x".repeat(30_000));
    let first = r#"{"id":1,"timestamp_us":"#;
    let texts = [
        "notes\n",
        "notes",
        "{}\n",
        "{}",
        r#"{"important": true}"#,
        r#"{"id":2,"#,
        r#"{"id": 1"#,
        &format!(r#"{first}"now""#),
        &format!(r#"{first}5,"session_id":"s","event":"login"}}"#),
        &format!("{first}5,\"session_id\":\"{}", "x".repeat(20_000)),
        &format!("{first}5,\"session_id\":\"\0\0"),
        &long,
        "\0\0\0\0",
    ];
    for text in texts {
        fs::write(&path, text).unwrap();
        assert_eq!(open(&path).unwrap_err(), TrailError::NotATrail, "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(open(&link).unwrap_err(), TrailError::NotRegular);
    assert!(open(folder.path()).is_err());
    assert!(open(&folder.path().join("none/audit")).is_err());
    assert_eq!(
        open(&folder.path().join("a\0b")).unwrap_err(),
        TrailError::Nul
    );
}

#[test]
fn every_beginning_of_a_first_entry_goes_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for session in ["plain".as_bytes(), b"\"\\\n\x1b\xc2\x9b", b"\xff\"{"] {
        let _ = fs::remove_file(&path);
        let recorded = open(&path).unwrap().record(&call(session, b"t")).unwrap();
        recorded.kept.unwrap();
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            drop(open(&path).unwrap());
            assert_eq!(fs::read(&path).unwrap(), b"", "{end}");
        }
    }
}

#[test]
fn a_file_that_another_program_truncates_or_writes_to_takes_nothing() {
    let (_folder, path) = written(2);
    let log = open(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let longer = [&whole[..], b"{}\n"].concat();
    let written = whole.len() as u64;
    for other in [&b""[..], &whole[..10], &longer] {
        fs::write(&path, other).unwrap();
        let found = other.len() as u64;
        assert_eq!(
            log.record(&call(b"s", b"t")).unwrap().kept,
            Err(TrailError::Changed { found, written })
        );
        assert_eq!(fs::read(&path).unwrap(), other);
    }
    fs::write(&path, &whole).unwrap();
    log.record(&call(b"s", b"t")).unwrap().kept.unwrap();
    assert_eq!(verify(&path).unwrap().0.entries, 6);
}

#[test]
fn a_change_shows_and_says_what_it_was() {
    let (_folder, path) = written(6);
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let tried = |lines: Vec<String>| {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        verify(&path).unwrap_err()
    };
    let own = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };

    let mut changed = own(&lines);
    changed[2] = changed[2].replace("\"ok\"", "\"error\"");
    let damage = tried(changed);
    assert_eq!((damage.line, damage.id, damage.good.entries), (3, 3, 2));
    assert!(damage.to_string().contains("entry 3 was changed"));

    let mut removed = own(&lines);
    removed.remove(3);
    let damage = tried(removed);
    assert_eq!((damage.id, damage.kind), (4, Some(BrokenKind::Sequence)));
    assert!(damage.to_string().contains("entry 4 is missing"));

    let mut first = own(&lines);
    first.drain(..2);
    assert!(
        tried(first)
            .to_string()
            .contains("entries 1 to 2 are missing")
    );

    let mut moved = own(&lines);
    moved.swap(1, 4);
    assert_eq!(tried(moved).id, 2);

    // The digest is over what a reader sees who takes the last of two.
    for (was, is) in [
        (r#""tool":"#, r#""tool":"harmless","tool":"#),
        (r#""id":6"#, r#""id": 6"#),
        (r#""of":null"#, r#""of":null "#),
        ("grep", r"\u0067rep"),
    ] {
        let mut doubled = own(&lines);
        doubled[5] = doubled[5].replace(was, is);
        let damage = tried(doubled);
        assert_eq!((damage.id, damage.kind), (6, None), "{is}");
    }

    let mut noise = own(&lines);
    noise[5] = "x".repeat(100_000);
    assert_eq!(tried(noise).kind, None);
}

#[test]
fn a_call_that_nobody_waits_for_has_one_end() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(&folder.path().join("a")).unwrap();
    let started = log
        .record(&Invocation {
            status: Status::Started,
            ..call(b"s", b"t")
        })
        .unwrap()
        .id;
    assert_eq!(log.count(), 1);
    assert!(log.abandon(started).is_some());
    assert!(log.abandon(started).is_none());
    let end = Invocation {
        of: Some(started),
        ..call(b"s", b"t")
    };
    assert!(log.record(&end).is_none());
    let listed = log.query(&security_core::audit_log::Query::default());
    assert_eq!(listed.len(), 1);
    let content = listed[0].content.as_ref().unwrap();
    assert_eq!(
        (content.status, content.of),
        (Status::Cancelled, Some(started))
    );
    assert_eq!(content.args_hash, Some([3; 16]));
    assert_eq!(log.count(), 1);
}

proptest! {
    #[test]
    fn every_name_is_written_so_that_it_verifies(names in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 1..8)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let log = open(&path).unwrap();
        for name in &names {
            log.record(&call(name, name)).unwrap().kept.unwrap();
        }
        prop_assert_eq!(verify(&path).unwrap().0.entries, names.len() as u64);
    }

    #[test]
    fn every_changed_byte_shows(place in 0usize..2_000, flip in 1u8..=255) {
        let (_folder, path) = written(4);
        let mut bytes = fs::read(&path).unwrap();
        let place = place % bytes.len();
        bytes[place] ^= flip;
        let changed = bytes.clone();
        fs::write(&path, bytes).unwrap();
        // The last line's break makes it the beginning of a line: no entry, which the head shows.
        let found = verify(&path);
        prop_assert!(found.is_err() || found.as_ref().is_ok_and(|(good, _)| good.entries == 3), "{changed:?}");
    }
}
