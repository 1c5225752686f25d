//! The first results in path order, kept within bounds while files arrive in any order.

use crate::excerpt::shown;
use crate::gather::{Row, RowKind};
use crate::report::{Cut, Report};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files with results, at most as many as a report can show.
///
/// What makes the answer independent of the order in which files arrive: a file is dropped only
/// when the files before it in path order fill the report without it, and files before it only ever
/// become more. So at the end the files kept are the beginning of the sorted list of all files.
#[derive(Debug)]
pub(crate) struct Listing {
    limit: usize,
    budget: usize,
    files: BTreeMap<PathBuf, Entry>,
    results: usize,
    cost: usize,
    /// Files past this one cannot be shown any more.
    horizon: Option<PathBuf>,
}

#[derive(Debug)]
struct Entry {
    rows: Vec<Row>,
    results: usize,
    cost: usize,
    headed: bool,
}

impl Listing {
    pub(crate) fn new(limit: usize, budget: usize) -> Self {
        Listing {
            limit,
            budget,
            files: BTreeMap::new(),
            results: 0,
            cost: 0,
            horizon: None,
        }
    }

    /// Whether results of this file could still be shown.
    pub(crate) fn wants(&self, path: &Path) -> bool {
        self.horizon.as_deref().is_none_or(|horizon| path < horizon)
    }

    /// Whether some files cannot be shown any more. Once true it stays true.
    pub(crate) fn is_full(&self) -> bool {
        self.horizon.is_some()
    }

    /// Takes the rows of a file, with its path as a heading or, without it, as they are.
    pub(crate) fn add(&mut self, path: &Path, rows: Vec<Row>, headed: bool) {
        if rows.is_empty() || !self.wants(path) {
            return;
        }
        let results = rows.iter().filter(|row| row.kind == RowKind::Match).count();
        let heading = if headed { heading_cost(path) } else { 0 };
        let cost = heading + rows.iter().map(Row::cost).sum::<usize>();
        self.results += results;
        self.cost += cost;
        self.files.insert(
            path.to_path_buf(),
            Entry {
                rows,
                results,
                cost,
                headed,
            },
        );
        self.trim();
    }

    fn trim(&mut self) {
        while let Some((last, entry)) = self.files.last_key_value() {
            if self.results < self.limit && self.cost < self.budget {
                return;
            }
            let filled_without =
                self.results - entry.results >= self.limit || self.cost - entry.cost >= self.budget;
            self.horizon = Some(last.clone());
            if !filled_without {
                return;
            }
            self.results -= entry.results;
            self.cost -= entry.cost;
            self.files.pop_last();
        }
    }

    /// Writes the listing into `report`, which already holds the totals.
    pub(crate) fn render(&self, report: &mut Report) {
        let mut text = String::with_capacity(self.budget.min(self.cost) + 64);
        let mut left = self.budget;
        'files: for (path, entry) in &self.files {
            let mut headed = !entry.headed;
            let mut pending_break = false;
            for row in &entry.rows {
                if report.shown as usize >= self.limit && !row.kind.trails() {
                    report.cut = Some(Cut::HeadLimit);
                    break 'files;
                }
                if row.kind == RowKind::Break {
                    pending_break = true;
                    continue;
                }
                let mut cost = row.cost();
                cost += if headed { 0 } else { heading_cost(path) };
                cost += if pending_break { 3 } else { 0 };
                if cost > left {
                    report.cut = Some(Cut::Budget);
                    break 'files;
                }
                left -= cost;
                if !headed {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&name(path));
                    text.push('\n');
                    headed = true;
                }
                if pending_break {
                    text.push_str("--\n");
                    pending_break = false;
                }
                text.push_str(&row.text);
                text.push('\n');
                report.shown += u64::from(row.kind == RowKind::Match);
                report.lines_cut += u64::from(row.cut);
            }
        }
        text.pop();
        if report.cut.is_none() && report.shown < report.total {
            let limited = report.shown as usize >= self.limit;
            report.cut = Some(if limited { Cut::HeadLimit } else { Cut::Budget });
        }
        report.text = text;
    }
}

/// A path as it is shown.
pub(crate) fn name(path: &Path) -> String {
    shown(OsStr::as_bytes(path.as_os_str()))
}

/// The heading, its line end, and the empty line before it.
fn heading_cost(path: &Path) -> usize {
    name(path).chars().count() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> Vec<Row> {
        (1..=count)
            .map(|n| Row {
                kind: RowKind::Match,
                text: format!("{n}:x"),
                cut: false,
            })
            .collect()
    }

    fn rendered(order: &[usize], limit: usize, budget: usize) -> Report {
        let mut listing = Listing::new(limit, budget);
        for n in order {
            let path = PathBuf::from(format!("dir{}/f{n}", n % 3));
            listing.add(&path, rows(n % 4), true);
        }
        let mut report = Report {
            total: order.iter().map(|n| (n % 4) as u64).sum(),
            ..Report::default()
        };
        listing.render(&mut report);
        report
    }

    #[test]
    fn the_order_of_arrival_does_not_show() {
        let forward: Vec<usize> = (0..60).collect();
        let backward: Vec<usize> = (0..60).rev().collect();
        let mixed: Vec<usize> = (0..60).map(|n| (n * 37 + 11) % 60).collect();
        for limit in 1..100 {
            for budget in [5, 20, 100, 333, 10_000] {
                let report = rendered(&forward, limit, budget);
                assert_eq!(
                    report,
                    rendered(&backward, limit, budget),
                    "limit {limit} budget {budget}"
                );
                assert_eq!(
                    report,
                    rendered(&mixed, limit, budget),
                    "limit {limit} budget {budget}"
                );
                assert!(report.text.chars().count() <= budget);
                assert!(report.shown as usize <= limit);
                assert_eq!(report.cut.is_some(), report.shown < report.total);
            }
        }
    }

    #[test]
    fn no_more_is_kept_than_can_be_shown() {
        let mut listing = Listing::new(usize::MAX, 1_000);
        for n in (0..10_000).rev() {
            listing.add(&PathBuf::from(format!("f{n:05}")), rows(3), true);
            assert!(listing.cost < 1_000 + 30, "{}", listing.cost);
        }
        assert!(!listing.wants(Path::new("f09999")));
        assert!(listing.wants(Path::new("a")));
    }
}
