//! The program as a port would drive it: frames on standard input, answers on standard output.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use command_runner::wire::{FrameWriter, Term};

/// A started runner.
struct Runner {
    child: Child,
    scratch: PathBuf,
}

impl Runner {
    fn start(name: &str) -> Self {
        let scratch = std::env::temp_dir().join(format!("jido-test-{}-{name}", std::process::id()));
        let child = Command::new(env!("CARGO_BIN_EXE_jido_command_runner"))
            .arg(&scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, scratch }
    }

    fn send(&mut self, term: &Term) {
        let mut frames = FrameWriter::default();
        frames.push(term);
        frames.flush(self.child.stdin.as_ref().unwrap()).unwrap();
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        self.child.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next answer, or `None` at the end of them.
    fn answer(&mut self) -> Option<Vec<(Term, Term)>> {
        let output = self.child.stdout.as_mut().unwrap();
        let mut length = [0; 4];
        output.read_exact(&mut length).ok()?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        output.read_exact(&mut frame).unwrap();
        match Term::decode(&frame).unwrap() {
            Term::Map(pairs) => Some(pairs),
            other => panic!("{other:?}"),
        }
    }

    /// Ends the input and waits.
    fn close(mut self) -> ExitStatus {
        drop(self.child.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(!self.scratch.exists());
        status
    }
}

fn field<'a>(answer: &'a [(Term, Term)], name: &str) -> &'a Term {
    &answer
        .iter()
        .find(|(key, _)| *key == Term::text(name))
        .unwrap()
        .1
}

fn spec(arguments: &[&str]) -> Term {
    let nothing = || Term::List(vec![]);
    let stage = Term::map([
        (
            "argv",
            Term::List(arguments.iter().copied().map(Term::text).collect()),
        ),
        ("env", nothing()),
        ("redirect", nothing()),
    ]);
    let step = Term::Tuple(vec![Term::text("then"), Term::List(vec![stage])]);
    let budget = || Term::Tuple(vec![Term::Int(1000), Term::Int(1000)]);
    let path = Term::Tuple(vec![Term::text("PATH"), Term::text("/usr/bin:/bin")]);
    Term::map([
        ("version", Term::Int(4)),
        ("plan", Term::List(vec![step])),
        ("cd", Term::text("/")),
        ("env", Term::List(vec![path])),
        ("timeout", Term::Int(60_000)),
        ("grace", Term::Int(100)),
        ("stdout", budget()),
        ("stderr", budget()),
        ("channel", Term::nil()),
        (
            "limits",
            Term::map(
                [
                    "cpu_seconds",
                    "memory_bytes",
                    "open_files",
                    "file_bytes",
                    "processes",
                ]
                .map(|name| (name, Term::nil())),
            ),
        ),
        (
            "confine",
            Term::map([
                ("read", Term::nil()),
                ("write", nothing()),
                ("network", Term::text("none")),
                ("sockets", nothing()),
                ("temporary", Term::nil()),
                ("holder", Term::nil()),
                ("temporary_bytes", Term::Int(1 << 20)),
                ("mode", Term::text("best_effort")),
            ]),
        ),
    ])
}

#[test]
fn a_command_is_run_and_reported() {
    let mut runner = Runner::start("report");
    runner.send(&spec(&["sh", "-c", "echo out; exit 3"]));
    let started = runner.answer().unwrap();
    assert_eq!(*field(&started, "event"), Term::text("started"));
    let done = runner.answer().unwrap();
    assert_eq!(*field(&done, "status"), Term::text("exited"));
    // What confines the command is known before it is over.
    assert_eq!(field(&started, "confinement"), field(&done, "confinement"));
    let Term::Map(stdout) = field(&done, "stdout") else {
        panic!()
    };
    assert_eq!(*field(stdout, "head"), Term::text("out\n"));
    // A question that crosses with the report finds a reader, though it gets no answer.
    for id in 0..100 {
        runner.send(&Term::Tuple([id, 0, 0, 0, 2].map(Term::Int).to_vec()));
    }
    runner.send(&Term::Atom("taken".into()));
    assert!(runner.answer().is_none());
    assert!(runner.close().success());
}

#[test]
fn nothing_is_run_before_a_spec_came_whole() {
    assert!(Runner::start("nothing").close().success());

    let mut runner = Runner::start("half");
    runner.send_bytes(&[0, 0, 1, 0, 131, 116]);
    assert!(runner.close().success());
}

#[test]
fn what_is_no_spec_is_refused_with_a_reason() {
    let mut runner = Runner::start("not-a-spec");
    runner.send(&Term::text("rm"));
    let refused = runner.answer().unwrap();
    assert_eq!(*field(&refused, "event"), Term::text("refused"));
    assert_eq!(*field(&refused, "kind"), Term::text("bad_spec"));
    assert!(runner.close().success());

    for garbage in [
        b"\xff\xff\xff\xff".as_slice(),
        b"\0\0\0\x01\x00",
        b"GET / HTTP/1.1\r\n\r\n",
    ] {
        let mut runner = Runner::start("garbage");
        runner.send_bytes(garbage);
        assert!(runner.close().success());
    }
}

#[test]
fn questions_are_answered_and_a_stop_is_obeyed() {
    let mut runner = Runner::start("stop");
    runner.send(&spec(&["sh", "-c", "echo out; sleep 1000"]));
    runner.answer().unwrap();
    let mut id = 0;
    loop {
        id += 1;
        runner.send(&Term::Tuple([id, 0, 0, 0, 2].map(Term::Int).to_vec()));
        let read = runner.answer().unwrap();
        assert_eq!(*field(&read, "id"), Term::Int(id));
        let Term::Map(stdout) = field(&read, "stdout") else {
            panic!()
        };
        if *field(stdout, "text") != Term::text("") {
            // The limit is raised to the longest character.
            assert_eq!(*field(stdout, "text"), Term::text("out\n"));
            break;
        }
    }
    runner.send(&Term::Atom("stop".into()));
    assert_eq!(
        *field(&runner.answer().unwrap(), "status"),
        Term::text("stopped")
    );
    assert!(runner.close().success());
}

#[test]
fn a_folder_that_is_there_already_is_neither_used_nor_removed() {
    let scratch = std::env::temp_dir().join(format!("jido-test-{}-taken", std::process::id()));
    std::fs::create_dir(&scratch).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_jido_command_runner"))
        .arg(&scratch)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());
    assert!(Path::new(&scratch).exists());
    std::fs::remove_dir(&scratch).unwrap();
}
