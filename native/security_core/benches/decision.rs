//! What a decision and an audit entry cost: `cargo bench -p security_core --bench decision`.
//!
//! Each line is the best of many short runs, per call: what else the machine does can only add. The
//! limiter's clock here steps forward by itself, so that calls are admitted with a full queue
//! behind them, but still reads the real clock, whose cost belongs to a call.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use security_core::audit_log::{ArgsHasher, AuditLog, Invocation, Query, Status};
use security_core::clock::{Clock, SystemClock};
use security_core::decision::{Consented, Decider, Granted, Request};
use security_core::permissions::{GrantLimits, Policy, Tier};
use security_core::rate_limiter::{Capacity, Cursor, Expired, Rate, RateLimiter};

const RUNS: usize = 25;
const KEY: [u8; 32] = [7; 32];

fn main() {
    rate_checks();
    rate_checks_among_a_million_keys();
    rate_checks_by_threads();
    decisions();
    audit();
}

#[derive(Debug)]
struct SteppingClock {
    real: SystemClock,
    steps: AtomicU64,
    step_ns: u64,
}

impl SteppingClock {
    fn new(step_ns: u64) -> Arc<Self> {
        Arc::new(SteppingClock {
            real: SystemClock::new(),
            steps: AtomicU64::new(0),
            step_ns,
        })
    }
}

impl Clock for SteppingClock {
    fn monotonic_ns(&self) -> u64 {
        black_box(self.real.monotonic_ns());
        self.steps.fetch_add(1, Ordering::Relaxed) * self.step_ns
    }

    fn unix_us(&self) -> u64 {
        self.real.unix_us()
    }
}

fn rate_checks() {
    for limit in [10, 100, 1_000] {
        let rate = rate(limit, 1_000);
        let admitting = RateLimiter::new(
            Capacity::default(),
            SteppingClock::new(1_000_000_000 / limit),
        );
        report(
            &format!("rate check, limit {limit}, admitted"),
            20_000,
            |_| {
                black_box(admitting.check(SESSION, b"get_process_state", rate));
            },
        );
        let denying = RateLimiter::new(Capacity::default(), Arc::new(SystemClock::new()));
        let rate = self::rate(limit, 3_600_000);
        report(
            &format!("rate check, limit {limit}, denied"),
            20_000,
            |_| {
                black_box(denying.check(SESSION, b"get_process_state", rate));
            },
        );
    }
}

fn rate_checks_among_a_million_keys() {
    const KEYS: u64 = 1_000_000;
    let rate = rate(100, 3_600_000);
    let capacity = Capacity {
        stamps: 200_000_000,
        ..Capacity::default()
    };
    let limiter = RateLimiter::new(capacity, Arc::new(SystemClock::new()));
    let session = |n: u64| (n / 10).to_be_bytes();
    let tool = |n: u64| [b't', b'0' + (n % 10) as u8];
    let mut longest = 0;
    for n in 0..KEYS {
        let start = Instant::now();
        limiter.check(&session(n), &tool(n), rate);
        longest = longest.max(start.elapsed().as_nanos());
    }
    assert_eq!(limiter.len() as u64, KEYS);
    // Neighbours in time are not neighbours in memory.
    report(
        "rate check among 1,000,000 keys, any of them",
        1_000_000,
        |n| {
            let n = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % KEYS;
            black_box(limiter.check(&session(n), &tool(n), rate));
        },
    );
    report(
        "rate check among 1,000,000 keys, one of them",
        20_000,
        |_| {
            black_box(limiter.check(&session(7), &tool(7), rate));
        },
    );
    once("longest call while a million keys came", longest);
    let start = Instant::now();
    limiter.clear_session(&session(77));
    once(
        "clear a session among 1,000,000 keys",
        start.elapsed().as_nanos(),
    );
    let (mut cursor, mut longest, mut steps) = (Some(Cursor::default()), 0, 0);
    let all = Instant::now();
    while let Some(from) = cursor {
        let start = Instant::now();
        cursor = limiter
            .cleanup_step(from, 4_096, Expired::OlderThan(0))
            .next;
        longest = longest.max(start.elapsed().as_nanos());
        steps += 1;
    }
    once(
        "longest cleaning step of 4,096 places, all expired",
        longest,
    );
    once(&format!("all {steps} steps"), all.elapsed().as_nanos());
}

fn rate_checks_by_threads() {
    for (name, same_session) in [("own sessions", false), ("one session, own tools", true)] {
        for threads in [1, 2, 8] {
            const CALLS: u64 = 50_000;
            let limiter = RateLimiter::new(Capacity::default(), Arc::new(SystemClock::new()));
            let rate = rate(1_000, 3_600_000);
            let per_call = best(|| {
                let start = Instant::now();
                thread::scope(|scope| {
                    for thread in 0..threads {
                        let limiter = &limiter;
                        scope.spawn(move || {
                            let own = [b'a' + thread; 24];
                            let session = if same_session { SESSION } else { &own };
                            for _ in 0..CALLS {
                                black_box(limiter.check(session, &own[..12], rate));
                            }
                        });
                    }
                });
                let cores = thread::available_parallelism().map_or(1, usize::from);
                // Processor time of a call: the cores that the threads had, over the calls.
                let busy = start.elapsed().as_nanos() as f64 * cores.min(threads.into()) as f64;
                busy / (CALLS * u64::from(threads)) as f64
            });
            line(&format!("rate check, {threads} threads, {name}"), per_call);
        }
    }
}

fn decisions() {
    let new = || {
        let clock = SteppingClock::new(1_000_000_000);
        Decider::new(
            Policy::default(),
            Capacity::default(),
            GrantLimits::default(),
            clock,
        )
    };
    let explicit = Request {
        session: SESSION,
        tool: b"get_process_state",
        handler_tier: Some(Tier::Privileged),
        handler_rate: None,
        requires_consent: false,
        granted: Granted::Explicit(Some(Tier::Privileged)),
        consented: Consented::Explicit(false),
    };
    let stored = Request {
        granted: Granted::FromSession,
        consented: Consented::FromSession,
        ..explicit
    };
    let decider = new();
    report("decision, explicit tier and consent", 20_000, |_| {
        black_box(decider.decide(explicit));
    });
    let decider = new();
    for n in 0..1_000_u32 {
        let _ = decider.grants().grant_tier(&n.to_be_bytes(), Tier::Write);
    }
    let _ = decider.grants().grant_tier(SESSION, Tier::Privileged);
    report("decision, from the session store", 20_000, |_| {
        black_box(decider.decide(stored));
    });
}

fn audit() {
    let Ok(log) = AuditLog::new(10_000, &KEY, Arc::new(SystemClock::new())) else {
        return;
    };
    let hasher = ArgsHasher::new(&KEY);
    let args = [b'x'; 200];
    let sessions: Vec<_> = (0..50_u8).map(|n| [b'A' + n; 24]).collect();
    let append = |n: u64| {
        log.append(&Invocation {
            session: &sessions[n as usize % sessions.len()],
            tool: b"get_process_state",
            status: Status::Ok,
            duration_us: n,
            args_hash: Some(hasher.hash(&args)),
            confinement: None,
            of: None,
        })
    };
    report(
        "audit append, 200 bytes of arguments hashed",
        200_000,
        |n| {
            black_box(append(n));
        },
    );
    report("argument hash alone, 200 bytes", 10_000, |_| {
        black_box(hasher.hash(black_box(&args)));
    });
    for (threads, calls) in [(1_u64, 20_000_u64), (8, 5_000)] {
        let per_call = best(|| {
            let start = Instant::now();
            thread::scope(|scope| {
                for thread in 0..threads {
                    let append = &append;
                    scope.spawn(move || {
                        (0..calls).for_each(|n| {
                            black_box(append(n + thread));
                        })
                    });
                }
            });
            start.elapsed().as_nanos() as f64 / (threads * calls) as f64
        });
        line(
            &format!("audit append, {threads} threads, wall time over calls"),
            per_call,
        );
    }
    let query = Query {
        session: Some(&sessions[3]),
        limit: 100,
        ..Query::default()
    };
    assert_eq!(log.query(&query).len(), 100);
    report("audit query, 100 of 10,000 by session", 500, |_| {
        black_box(log.query(&query));
    });
    report("audit query, newest 1,000", 100, |_| {
        black_box(log.query(&Query::default()));
    });
    report("audit verify, 10,000 entries", 1, |_| {
        let _ = black_box(log.verify());
    });
    let start = Instant::now();
    log.clear_session(&sessions[5]);
    once(
        "audit clear of a session with 200 entries",
        start.elapsed().as_nanos(),
    );
}

const SESSION: &[u8] = b"5f9c2d7e-session-0123456789";

fn rate(limit: u64, window_ms: u64) -> Rate {
    match Rate::new(limit, window_ms) {
        Ok(rate) => rate,
        Err(error) => panic!("{error}"),
    }
}

fn report(name: &str, calls: u64, mut call: impl FnMut(u64)) {
    let per_call = best(|| {
        let start = Instant::now();
        (0..calls).for_each(&mut call);
        start.elapsed().as_nanos() as f64 / calls as f64
    });
    line(name, per_call);
}

fn best(mut run: impl FnMut() -> f64) -> f64 {
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn line(name: &str, ns: f64) {
    println!("{name:<60} {ns:>12.0} ns");
}

fn once(name: &str, ns: u128) {
    println!("{name:<60} {ns:>12} ns (once)");
}
