//! What a command may use: per process by resource limits, its number of processes by a cgroup
//! where there is one.

use std::fs;
use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit};

use crate::wire::Term;

/// Limits as asked for; a `None` is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Seconds of processor time of each process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of private writable memory of each process.
    ///
    /// `RLIMIT_DATA`, not `RLIMIT_AS`: a BEAM reserves gigabytes of address space that it never
    /// touches, and counted by address space it would not start under any useful limit.
    pub memory_bytes: Option<u64>,
    /// Descriptors of each process.
    pub open_files: Option<u64>,
    /// Bytes of the largest file that it may write.
    pub file_bytes: Option<u64>,
    /// Processes and threads of the whole tree at one time.
    pub processes: Option<u64>,
}

/// Limits ready to be put on, made before the fork so that the child only makes system calls.
pub struct Applied {
    rlimits: Vec<(Resource, Rlimit)>,
    group: Option<ProcessGroup>,
    processes: Processes,
}

enum Processes {
    NotAsked,
    ByGroup,
    ByUser,
    Not(String),
}

impl Applied {
    /// Prepares the limits. `name` names the cgroup, and must be known to whoever cleans up.
    pub fn prepare(limits: &Limits, name: &str) -> Self {
        let mut rlimits = vec![(Resource::Core, exactly(0))];
        let mut add = |resource, value: Option<u64>, slack| {
            if let Some(value) = value {
                rlimits.push((
                    resource,
                    Rlimit {
                        current: Some(value),
                        maximum: Some(value.saturating_add(slack)),
                    },
                ));
            }
        };
        // The soft limit sends SIGXCPU, which names the reason; the hard one a second later can't
        // be ignored.
        add(Resource::Cpu, limits.cpu_seconds, 1);
        add(Resource::Data, limits.memory_bytes, 0);
        add(Resource::Nofile, limits.open_files, 0);
        add(Resource::Fsize, limits.file_bytes, 0);

        let mut group = None;
        let processes = match limits.processes {
            None => Processes::NotAsked,
            Some(count) => match ProcessGroup::create(name, count) {
                Ok(created) => {
                    group = Some(created);
                    Processes::ByGroup
                }
                // The kernel counts against the user and exempts root.
                Err(reason) if rustix::process::geteuid().is_root() => Processes::Not(format!(
                    "no writable pids cgroup ({reason}), and root is exempt from the rlimit"
                )),
                Err(_) => {
                    let own = tasks_of_user(rustix::process::getuid().as_raw());
                    rlimits.push((Resource::Nproc, exactly(own.saturating_add(count))));
                    Processes::ByUser
                }
            },
        };
        for (resource, limit) in &mut rlimits {
            // Raising a hard limit needs privilege: a lower one that is in force already stays.
            if let Some(hard) = rustix::process::getrlimit(*resource).maximum {
                limit.maximum = limit.maximum.map(|value| value.min(hard));
                limit.current = limit.current.map(|value| value.min(hard));
            }
        }
        Self {
            rlimits,
            group,
            processes,
        }
    }

    /// Puts the calling process under the limits; for the child, before it runs the command.
    pub fn enter(&self) -> io::Result<()> {
        if let Some(group) = &self.group {
            group.enter()?;
        }
        for (resource, limit) in &self.rlimits {
            rustix::process::setrlimit(*resource, *limit)?;
        }
        Ok(())
    }

    /// Forbids the tree to grow, so that the loop that kills it outruns any fork bomb.
    pub fn freeze_growth(&self) {
        if let Some(group) = &self.group {
            let _ = fs::write(group.path.join("pids.max"), "0");
        }
    }

    /// What holds each limit that was asked for.
    pub fn report(&self) -> Term {
        let name = |resource: &Resource| match resource {
            Resource::Cpu => Some("cpu_seconds"),
            Resource::Data => Some("memory_bytes"),
            Resource::Nofile => Some("open_files"),
            Resource::Fsize => Some("file_bytes"),
            _ => None,
        };
        let mut pairs: Vec<(Term, Term)> = self
            .rlimits
            .iter()
            .filter_map(|(resource, _)| {
                Some((Term::text(name(resource)?), Term::text("each process")))
            })
            .collect();
        let processes = match &self.processes {
            Processes::NotAsked => None,
            Processes::ByGroup => Some("whole tree".to_owned()),
            Processes::ByUser => Some("all processes of the user".to_owned()),
            Processes::Not(reason) => Some(format!("not applied: {reason}")),
        };
        pairs.extend(processes.map(|by| (Term::text("processes"), Term::text(by))));
        Term::Map(pairs)
    }
}

fn exactly(value: u64) -> Rlimit {
    Rlimit {
        current: Some(value),
        maximum: Some(value),
    }
}

/// How many tasks the user runs now: the limit of the kernel counts those too.
fn tasks_of_user(user: u32) -> u64 {
    let Ok(entries) = fs::read_dir("/proc") else {
        return 0;
    };
    entries
        .filter_map(|entry| threads(&entry.ok()?.path().join("status"), user))
        .sum()
}

fn threads(status: &Path, user: u32) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next())
    };
    if field("Uid:")?.parse() == Ok(user) {
        field("Threads:")?.parse().ok()
    } else {
        None
    }
}

/// A cgroup that counts processes.
struct ProcessGroup {
    path: PathBuf,
    entry: fs::File,
}

impl ProcessGroup {
    fn create(name: &str, count: u64) -> Result<Self, String> {
        let parent = pids_cgroup().ok_or("none is mounted")?;
        let path = parent.join(name);
        fs::create_dir(&path).map_err(|error| error.to_string())?;
        let set_up = fs::write(path.join("pids.max"), count.to_string()).and_then(|()| {
            let open = |file| fs::OpenOptions::new().write(true).open(path.join(file));
            // The first hierarchy moves a single thread, which the child is, without stopping all
            // forks of the machine for milliseconds; the unified one has only the second file.
            open("tasks").or_else(|_| open("cgroup.procs"))
        });
        match set_up {
            Ok(entry) => Ok(Self { path, entry }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                Err(error.to_string())
            }
        }
    }

    fn enter(&self) -> io::Result<()> {
        (&self.entry).write_all(b"0")
    }
}

/// Removes the cgroup of that name, if there is one. All its processes are gone by then.
pub fn remove_group(name: &str) {
    if let Some(parent) = pids_cgroup() {
        let _ = fs::remove_dir(parent.join(name));
    }
}

/// The folder of this process's own cgroup in the hierarchy that counts processes.
fn pids_cgroup() -> Option<PathBuf> {
    let memberships = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    find_pids_cgroup(&memberships, &mounts)
}

fn find_pids_cgroup(memberships: &str, mounts: &str) -> Option<PathBuf> {
    let member_of = |controller: &str| {
        memberships.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            controllers
                .split(',')
                .any(|name| name == controller)
                .then_some(path)
        })
    };
    // mountinfo: id parent major:minor root mountpoint options [tags] - type source superoptions
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, point) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        let path = match kind {
            "cgroup" if options.split(',').any(|option| option == "pids") => member_of("pids")?,
            // The unified hierarchy is the membership without controllers. Where it doesn't hand
            // the pids controller down, a folder made there has no `pids.max` and is given up
            // again.
            "cgroup2" => member_of("")?,
            _ => return None,
        };
        let below = path.strip_prefix(root).unwrap_or(path);
        Some(Path::new(point).join(below.trim_start_matches('/')))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn finds_the_cgroup_that_counts_processes_in_either_hierarchy() {
        let first = "8:pids:/user/a\n4:memory:/m\n0::/u\n";
        let mounts = "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      31 25 0:27 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n";
        assert_eq!(
            find_pids_cgroup(first, mounts).unwrap(),
            Path::new("/sys/fs/cgroup/pids/user/a")
        );

        let mounts = "40 25 0:30 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        assert_eq!(
            find_pids_cgroup("0::/u\n", mounts).unwrap(),
            Path::new("/sys/fs/cgroup/u")
        );

        // A container sees its own part of the hierarchy as the root of the mount.
        let mounts = "40 25 0:30 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 ro\n";
        assert_eq!(
            find_pids_cgroup("0::/docker/x\n", mounts).unwrap(),
            Path::new("/sys/fs/cgroup")
        );
        assert_eq!(find_pids_cgroup("1:name=systemd:/\n", ""), None);
    }

    #[test]
    fn counts_the_tasks_of_the_user() {
        assert!(tasks_of_user(rustix::process::getuid().as_raw()) >= 1);
        assert_eq!(tasks_of_user(u32::MAX - 7), 0);
    }
}
