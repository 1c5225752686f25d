//! The rate limiter against a naive model, a clock that the test moves, and many threads.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use security_core::clock::{Clock, ManualClock, SystemClock};
use security_core::rate_limiter::{
    Capacity, Cursor, Expired, MAX_LIMIT, MAX_WINDOW_MS, Rate, RateError, RateLimiter, Verdict,
};

const MINUTE: u64 = 60_000;

fn rate(limit: u64, window_ms: u64) -> Rate {
    Rate::new(limit, window_ms).unwrap()
}

fn limiter() -> (RateLimiter, Arc<ManualClock>) {
    bounded(Capacity::default())
}

fn bounded(capacity: Capacity) -> (RateLimiter, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Duration::from_secs(1)));
    (RateLimiter::new(capacity, clock.clone()), clock)
}

fn denied(retry_after_ms: u64) -> Verdict {
    Verdict::Denied { retry_after_ms }
}

#[test]
fn admits_the_limit_and_says_when_the_next_call_fits() {
    let (limiter, clock) = limiter();
    let rate = rate(2, 1_000);
    assert_eq!(limiter.check(b"s", b"t", rate), Verdict::Admitted);
    clock.advance(Duration::from_micros(300_500));
    assert_eq!(limiter.check(b"s", b"t", rate), Verdict::Admitted);
    // 699.5 ms are left of the first call's window; whole milliseconds, rounded up.
    assert_eq!(limiter.check(b"s", b"t", rate), denied(700));
    clock.advance(Duration::from_millis(699));
    assert_eq!(limiter.check(b"s", b"t", rate), denied(1));
    clock.advance(Duration::from_millis(1));
    assert_eq!(limiter.check(b"s", b"t", rate), Verdict::Admitted);
}

#[test]
fn a_call_leaves_the_window_exactly_when_it_is_as_old_as_the_window() {
    let (limiter, clock) = limiter();
    let rate = rate(1, 1_000);
    assert_eq!(limiter.check(b"s", b"t", rate), Verdict::Admitted);
    clock.advance(Duration::from_nanos(999_999_999));
    assert_eq!(limiter.count(b"s", b"t", 1_000), 1);
    assert_eq!(limiter.check(b"s", b"t", rate), denied(1));
    clock.advance(Duration::from_nanos(1));
    assert_eq!(limiter.count(b"s", b"t", 1_000), 0);
    assert_eq!(limiter.check(b"s", b"t", rate), Verdict::Admitted);
}

#[test]
fn a_denied_call_is_not_counted() {
    let (limiter, clock) = limiter();
    let rate = rate(1, 1_000);
    limiter.check(b"s", b"t", rate);
    for _ in 0..9 {
        clock.advance(Duration::from_millis(100));
        assert!(matches!(
            limiter.check(b"s", b"t", rate),
            Verdict::Denied { .. }
        ));
    }
    assert_eq!(limiter.count(b"s", b"t", MINUTE), 1);
    clock.advance(Duration::from_millis(100));
    assert_eq!(limiter.check(b"s", b"t", rate), Verdict::Admitted);
}

#[test]
fn limit_zero_denies_for_a_whole_window_and_costs_no_memory() {
    let (limiter, _) = limiter();
    assert_eq!(limiter.check(b"s", b"t", rate(0, 250)), denied(250));
    assert!(limiter.is_empty());
}

#[test]
fn sessions_and_tools_are_told_apart_whatever_their_bytes() {
    let (limiter, _) = limiter();
    let once = rate(1, MINUTE);
    let long = vec![b'x'; 200_000];
    let mut longer = long.clone();
    longer.push(b'x');
    let keys: [(&[u8], &[u8]); 9] = [
        (b"ab", b"c"),
        (b"a", b"bc"),
        (b"", b"abc"),
        (b"abc", b""),
        (b"\xff\x00", b"t"),
        (b"\xff", b"\x00t"),
        (&long, b"t"),
        (&longer, b"t"),
        (b"t", &long),
    ];
    for (session, tool) in keys {
        assert_eq!(limiter.check(session, tool, once), Verdict::Admitted);
    }
    for (session, tool) in keys {
        assert_eq!(limiter.check(session, tool, once), denied(MINUTE));
    }
    assert_eq!(limiter.len(), keys.len());
}

#[test]
fn rates_outside_the_documented_range_are_refused() {
    let too_many = u64::from(MAX_LIMIT) + 1;
    assert_eq!(
        Rate::new(too_many, 1),
        Err(RateError::LimitTooLarge { limit: too_many })
    );
    assert!(Rate::new(u64::MAX, 1).is_err());
    assert!(Rate::new(u64::from(MAX_LIMIT), MAX_WINDOW_MS).is_ok());
    for window_ms in [0, MAX_WINDOW_MS + 1, u64::MAX] {
        assert_eq!(
            Rate::new(1, window_ms),
            Err(RateError::WindowOutOfRange { window_ms })
        );
    }
}

#[test]
fn a_call_under_a_larger_limit_and_longer_window_never_counts_too_few() {
    let (limiter, clock) = limiter();
    // Twenty calls, of which a queue made for a limit of two has forgotten most.
    for _ in 0..10 {
        for _ in 0..2 {
            assert_eq!(limiter.check(b"s", b"t", rate(2, 100)), Verdict::Admitted);
        }
        clock.advance(Duration::from_millis(100));
    }
    // 20 calls lie in this window, so 15 more would be too many.
    let wide = rate(15, 10_000);
    let Verdict::Denied { retry_after_ms } = limiter.check(b"s", b"t", wide) else {
        panic!("twenty calls were made in the window of fifteen");
    };
    clock.advance(Duration::from_millis(retry_after_ms));
    assert_eq!(limiter.check(b"s", b"t", wide), Verdict::Admitted);
}

#[test]
fn at_the_bound_of_keys_expired_ones_go_first_and_then_new_keys_are_denied() {
    let (limiter, clock) = bounded(Capacity {
        keys: 100,
        ..Capacity::default()
    });
    let rate = rate(5, MINUTE);
    for n in 0..100_u32 {
        assert_eq!(
            limiter.check(&n.to_be_bytes(), b"t", rate),
            Verdict::Admitted
        );
    }
    assert_eq!(limiter.check(b"one more", b"t", rate), denied(MINUTE));
    assert_eq!(limiter.turned_away(), 1);
    // Known keys are still served.
    assert_eq!(
        limiter.check(&7_u32.to_be_bytes(), b"t", rate),
        Verdict::Admitted
    );
    assert_eq!(limiter.len(), 100);
    clock.advance(Duration::from_millis(MINUTE));
    for n in 1_000..1_100_u32 {
        let mut tries = 0;
        // Room is made a few places of the table at a time.
        while limiter.check(&n.to_be_bytes(), b"t", rate) != Verdict::Admitted {
            tries += 1;
            assert!(tries < 100, "expired keys stay");
        }
    }
    assert!(limiter.len() <= 100);
}

#[test]
fn a_session_that_invents_names_does_not_take_the_others_room() {
    let (limiter, clock) = bounded(Capacity {
        keys: 10_000,
        session_keys_per_shard: 2,
        ..Capacity::default()
    });
    let rate = rate(5, MINUTE);
    for n in 0..20_000_u32 {
        limiter.check(b"greedy", &n.to_be_bytes(), rate);
    }
    assert!(limiter.len() <= 2 * 1_024, "{} keys", limiter.len());
    assert_eq!(limiter.check(b"honest", b"t", rate), Verdict::Admitted);
    // What it made expires, and then it can use other names.
    clock.advance(Duration::from_millis(MINUTE));
    let admitted = (20_000..20_100_u32)
        .filter(|n| limiter.check(b"greedy", &n.to_be_bytes(), rate) == Verdict::Admitted)
        .count();
    // Three of them in one shard, by chance, are one too many there.
    assert!(admitted >= 90, "{admitted}");
}

#[test]
fn at_the_bound_of_stamps_calls_are_denied_and_dropped_keys_give_theirs_back() {
    let (limiter, clock) = bounded(Capacity {
        stamps: 64,
        ..Capacity::default()
    });
    let rate = rate(1_000, 1_000);
    for round in 0..1_000_u32 {
        let mut admitted = 0;
        while limiter.check(&round.to_be_bytes(), b"t", rate) == Verdict::Admitted {
            admitted += 1;
        }
        assert!((33..=64).contains(&admitted), "{admitted} in round {round}");
        clock.advance(Duration::from_millis(1_000));
        let step = limiter.cleanup_step(Cursor::default(), usize::MAX, Expired::OutsideWindow);
        assert_eq!((step.removed, step.next), (1, None));
    }
    assert!(limiter.is_empty());
}

#[test]
fn cleaning_by_window_changes_no_answer() {
    let (limiter, clock) = limiter();
    limiter.check(b"s", b"old", rate(1, 1_000));
    clock.advance(Duration::from_millis(400));
    limiter.check(b"s", b"young", rate(1, 1_000));
    limiter.check(b"s", b"short", rate(9, 100));
    clock.advance(Duration::from_millis(600));
    let step = limiter.cleanup_step(Cursor::default(), usize::MAX, Expired::OutsideWindow);
    assert_eq!((step.removed, step.next), (1, None));
    assert_eq!(limiter.len(), 2);
    assert_eq!(limiter.check(b"s", b"young", rate(1, 1_000)), denied(400));
    // The other tool's window may be this one's tomorrow.
    assert_eq!(limiter.check(b"s", b"short", rate(1, 1_000)), denied(400));
}

#[test]
fn cleaning_by_age_trims_keys_and_counts_those_that_are_gone() {
    let (limiter, clock) = limiter();
    limiter.check(b"s", b"old", rate(9, MINUTE));
    limiter.check(b"s", b"mixed", rate(9, MINUTE));
    clock.advance(Duration::from_millis(50));
    limiter.check(b"s", b"mixed", rate(9, MINUTE));
    assert_eq!(limiter.cleanup(50), 1);
    assert_eq!(limiter.count(b"s", b"old", MINUTE), 0);
    assert_eq!(limiter.count(b"s", b"mixed", MINUTE), 1);
    assert_eq!(limiter.cleanup(0), 1);
    assert!(limiter.is_empty());
}

#[test]
fn a_round_of_small_steps_sees_every_key() {
    let (limiter, clock) = limiter();
    for n in 0..20_000_u32 {
        limiter.check(&n.to_be_bytes(), b"t", rate(1, 1_000));
    }
    clock.advance(Duration::from_millis(1_000));
    let (mut removed, mut steps, mut number) = (0, 0, Some(Cursor::default().to_u64()));
    while let Some(from) = number {
        let step = limiter.cleanup_step(Cursor::from_u64(from), 500, Expired::OutsideWindow);
        removed += step.removed;
        steps += 1;
        number = step.next.map(Cursor::to_u64);
    }
    assert_eq!(removed, 20_000);
    assert!(limiter.is_empty());
    assert!(steps > 50, "only {steps} steps of 500 places");
}

#[test]
fn any_number_is_a_cursor() {
    let (limiter, _) = limiter();
    limiter.check(b"s", b"t", rate(1, 1));
    for number in [u64::MAX, u64::MAX >> 32, 1_023 << 32 | 77, 1_024 << 32] {
        let step = limiter.cleanup_step(Cursor::from_u64(number), 100, Expired::OutsideWindow);
        assert_eq!(step.removed, 0);
    }
}

#[test]
fn clearing_a_session_leaves_the_others() {
    let (limiter, _) = limiter();
    let once = rate(1, MINUTE);
    for n in 0..1_000_u32 {
        limiter.check(b"going", &n.to_be_bytes(), once);
        limiter.check(b"staying", &n.to_be_bytes(), once);
    }
    limiter.clear_session(b"going");
    limiter.clear_session(b"unknown");
    assert_eq!(limiter.len(), 1_000);
    for n in 0..1_000_u32 {
        assert_eq!(
            limiter.check(b"staying", &n.to_be_bytes(), once),
            denied(MINUTE)
        );
        assert_eq!(
            limiter.check(b"going", &n.to_be_bytes(), once),
            Verdict::Admitted
        );
    }
    limiter.clear_all();
    assert!(limiter.is_empty());
    assert_eq!(limiter.check(b"staying", b"t", once), Verdict::Admitted);
}

#[test]
fn a_clock_that_goes_backwards_does_not_open_the_gate() {
    #[derive(Debug)]
    struct Backwards(AtomicUsize);
    impl Clock for Backwards {
        fn monotonic_ns(&self) -> u64 {
            self.0.fetch_sub(1_000_000, Ordering::SeqCst) as u64
        }
        fn unix_us(&self) -> u64 {
            0
        }
    }
    let clock = Arc::new(Backwards(AtomicUsize::new(10_000_000_000)));
    let limiter = RateLimiter::new(Capacity::default(), clock);
    let admitted = (0..1_000)
        .filter(|_| limiter.check(b"s", b"t", rate(10, 1_000)) == Verdict::Admitted)
        .count();
    assert_eq!(admitted, 10);
}

#[test]
fn many_threads_on_one_key_get_exactly_the_limit() {
    for limit in [1, 10, 1_000] {
        for _ in 0..5 {
            let limiter = RateLimiter::new(Capacity::default(), Arc::new(SystemClock::new()));
            let admitted = AtomicUsize::new(0);
            thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| {
                        for _ in 0..500 {
                            if limiter.check(b"s", b"t", rate(limit, 3_600_000))
                                == Verdict::Admitted
                            {
                                admitted.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
            });
            assert_eq!(admitted.into_inner() as u64, limit);
        }
    }
}

#[test]
fn no_window_of_a_moving_clock_holds_more_than_the_limit() {
    const LIMIT: usize = 50;
    const WINDOW: Duration = Duration::from_millis(5);
    let limiter = RateLimiter::new(Capacity::default(), Arc::new(SystemClock::new()));
    let rate = rate(LIMIT as u64, WINDOW.as_millis() as u64);
    let end = Instant::now() + Duration::from_millis(200);
    let mut admitted: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    while Instant::now() < end {
                        let before = Instant::now();
                        if limiter.check(b"s", b"t", rate) == Verdict::Admitted {
                            mine.push((before, Instant::now()));
                        }
                    }
                    mine
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(admitted.len() > LIMIT, "the clock did not move");
    admitted.sort_by_key(|&(_, after)| after);
    for calls in admitted.windows(LIMIT + 1) {
        let earliest = calls.iter().map(|call| call.0).min().unwrap();
        let latest = calls.iter().map(|call| call.1).max().unwrap();
        assert!(
            latest - earliest >= WINDOW,
            "{} calls within {:?}",
            calls.len(),
            latest - earliest
        );
    }
}

#[test]
fn checks_go_on_while_sessions_are_cleared_and_tables_cleaned() {
    let limiter = RateLimiter::new(
        Capacity {
            keys: 500,
            ..Capacity::default()
        },
        Arc::new(SystemClock::new()),
    );
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..4_u32)
            .map(|thread| {
                let limiter = &limiter;
                scope.spawn(move || {
                    for n in 0..20_000_u32 {
                        let session = (n % 97 + thread).to_be_bytes();
                        limiter.check(&session, &(n % 13).to_be_bytes(), rate(3, 1));
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for session in 0..100_u32 {
                    limiter.clear_session(&session.to_be_bytes());
                }
                limiter.cleanup_step(Cursor::default(), 4_096, Expired::OutsideWindow);
                limiter.clear_all();
                assert!(limiter.len() <= 500);
            }
        });
        let ended: Vec<_> = callers.into_iter().map(|caller| caller.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    limiter.clear_all();
    assert_eq!(limiter.len(), 0);
}

/// Every admission ever, and a search over milliseconds: slow, and hard to get wrong.
#[derive(Default)]
struct Naive {
    admitted_ns: Vec<u64>,
}

impl Naive {
    fn count(&self, now_ns: u64, window_ms: u64) -> usize {
        self.admitted_ns
            .iter()
            .filter(|&&at| now_ns < at + window_ms * 1_000_000)
            .count()
    }

    fn check(&mut self, now_ns: u64, limit: u64, window_ms: u64) -> Verdict {
        let fits = |at_ns| (self.count(at_ns, window_ms) as u64) < limit;
        if fits(now_ns) {
            self.admitted_ns.push(now_ns);
            return Verdict::Admitted;
        }
        let retry = (1..=window_ms).find(|ms| fits(now_ns + ms * 1_000_000));
        denied(retry.unwrap_or(window_ms))
    }
}

/// A pause in nanoseconds, then a call with a limit and a window.
fn calls() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let pause = prop_oneof![
        Just(0_u64),
        0..2_000_000_u64,
        (0..30_u64).prop_map(|ms| ms * 1_000_000)
    ];
    prop::collection::vec((pause, 0..8_u64, 1..40_u64), 1..200)
}

proptest! {
    #[test]
    fn one_rate_answers_like_the_model(
        calls in calls(), limit in 0..20_u64, window_ms in 1..40_u64,
    ) {
        let (limiter, clock) = limiter();
        let mut model = Naive::default();
        for (pause, _, _) in calls {
            clock.advance(Duration::from_nanos(pause));
            let now = clock.monotonic_ns();
            let expected = model.check(now, limit, window_ms);
            prop_assert_eq!(limiter.check(b"s", b"t", rate(limit, window_ms)), expected);
            prop_assert_eq!(limiter.count(b"s", b"t", window_ms), model.count(now, window_ms));
        }
    }

    #[test]
    fn changing_rates_answer_like_the_model_up_to_the_largest_seen(calls in calls()) {
        let (limiter, clock) = limiter();
        let mut model = Naive::default();
        // The largest limit and the longest window come first.
        for (pause, limit, window_ms) in [(0, 8, 40)].into_iter().chain(calls) {
            clock.advance(Duration::from_nanos(pause));
            let expected = model.check(clock.monotonic_ns(), limit, window_ms);
            prop_assert_eq!(limiter.check(b"s", b"t", rate(limit, window_ms)), expected);
        }
    }

    #[test]
    fn changing_rates_never_admit_more_than_the_model(
        calls in calls(), clean_every in 1..20_usize,
    ) {
        let (limiter, clock) = limiter();
        let mut model = Naive::default();
        let mut longest = 0;
        for (n, (pause, limit, window_ms)) in calls.into_iter().enumerate() {
            clock.advance(Duration::from_nanos(pause));
            // Cleaning keeps what the longest window so far can see; a longer one after it would
            // not be answered like the model.
            if n % clean_every == 0 && longest == 39 {
                limiter.cleanup_step(Cursor::default(), usize::MAX, Expired::OutsideWindow);
            }
            longest = longest.max(window_ms);
            let now = clock.monotonic_ns();
            let room = (model.count(now, window_ms) as u64) < limit;
            match limiter.check(b"s", b"t", rate(limit, window_ms)) {
                Verdict::Admitted => {
                    prop_assert!(room);
                    model.admitted_ns.push(now);
                }
                Verdict::Denied { retry_after_ms } => {
                    prop_assert!((1..=window_ms).contains(&retry_after_ms));
                    // The retry time keeps its promise.
                    if limit > 0 {
                        clock.advance(Duration::from_millis(retry_after_ms));
                        prop_assert_eq!(
                            limiter.check(b"s", b"t", rate(limit, window_ms)), Verdict::Admitted
                        );
                        let now = clock.monotonic_ns();
                        prop_assert!((model.count(now, window_ms) as u64) < limit);
                        model.admitted_ns.push(now);
                    }
                }
            }
        }
    }
}
