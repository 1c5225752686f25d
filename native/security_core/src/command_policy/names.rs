//! Names that no list may let through, and variables that no line may set.

use crate::word_list::WordList;

/// Programs that run command lines.
#[rustfmt::skip]
pub static SHELLS: WordList = WordList::new(&[
    "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "rbash",
    "sh", "tcsh", "xonsh", "zsh",
]);

/// Programs that run other programs, or become someone else first, and those whose own language
/// runs some: editors, interpreters, awk, sed.
#[rustfmt::skip]
pub static LAUNCHERS: WordList = WordList::new(&[
    "at", "awk", "batch", "chroot", "chrt", "crontab", "doas", "docker", "ed", "emacs", "env", "ex",
    "expect", "flock", "gawk", "gdb", "ionice", "ltrace", "lua", "m4", "mawk", "nc", "ncat", "nice",
    "nohup", "nsenter", "nvim", "parallel", "perl", "php", "podman", "ruby", "runuser", "script",
    "sed", "setsid", "socat", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset",
    "tclsh", "time", "timeout", "unbuffer", "unshare", "vi", "vim", "watch", "xargs",
]);

/// Those of [`LAUNCHERS`] that the wide list takes, because what they run is judged with them.
#[rustfmt::skip]
pub static JUDGED_LAUNCHERS: WordList = WordList::new(&[
    "awk", "env", "gawk", "mawk", "nice", "sed", "timeout", "xargs",
]);

/// Statements of a shell that are no programs, as POSIX and bash have them.
#[rustfmt::skip]
pub static BUILTINS: WordList = WordList::new(&[
    ".", ":", "alias", "bg", "bind", "builtin", "cd", "command", "complete", "declare", "enable",
    "eval", "exec", "exit", "export", "fc", "fg", "hash", "history", "jobs", "kill", "let", "local",
    "mapfile", "popd", "pushd", "read", "readonly", "return", "set", "shift", "shopt", "source",
    "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
]);

/// Variables that make programs load, run or trust something else. A name with `*` at its end
/// stands for all that begin so.
#[rustfmt::skip]
const VARIABLES: &[&str] = &[
    // Where programs and libraries are found.
    "PATH", "CDPATH", "LD_*", "DYLD_*", "GCONV_PATH", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES",
    "MALLOC_*", "LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "HOME", "XDG_*", "TMPDIR", "TMP",
    "TEMP",
    "TERMINFO*", "TERMCAP", "OPENSSL_*", "SSL_*", "CURL_*", "SSLKEYLOGFILE",
    // Shells, and how words are read.
    "SHELL", "BASH*", "ENV", "IFS", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "POSIX*", "FIGNORE",
    "GLOBIGNORE", "PWD", "OLDPWD", "_",
    // Erlang, Elixir and their tools.
    "ERL_*", "ELIXIR_*", "ERLC_*", "ESCRIPT*", "RELEASE_*", "ROOTDIR", "BINDIR", "EMU", "PROGNAME",
    "MIX_HOME", "MIX_ARCHIVES", "MIX_EXS", "MIX_PATH", "MIX_REBAR*", "MIX_TARGET", "MIX_BUILD_PATH",
    "MIX_BUILD_ROOT", "MIX_DEPS_PATH", "MIX_INSTALL_*", "MIX_STATE_PATH", "MIX_XDG", "MIX_PROFILE*",
    "MIX_OS_*", "HEX_*", "REBAR_*", "DIAGNOSTICS_*", "IEX_*",
    // Other runtimes and build tools.
    "NODE_*", "NPM_*", "YARN_*", "PYTHON*", "PERL*", "RUBY*", "GEM_*", "BUNDLE_*", "LUA_*",
    "JAVA_*",
    "_JAVA_OPTIONS", "JDK_*", "CLASSPATH", "PHP*", "GO*", "RUST*", "CARGO*", "CC", "CXX", "CPP",
    "AR",
    "LD", "AS", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "COMPILER_PATH", "LIBRARY_PATH",
    "CPATH", "C_INCLUDE_PATH", "MAKE*", "MFLAGS", "GNUMAKEFLAGS", "PKG_CONFIG*",
    // Programs with options in their environment.
    "GIT_*", "SSH_*", "GPG_*", "GNUPGHOME", "EMAIL", "PAGER", "LESS*", "MORE", "EDITOR", "VISUAL",
    "BROWSER",
    "GREP_*", "RIPGREP_*", "TAR_*", "GZIP", "BZIP*", "XZ_*", "ZSTD_*", "ZIPOPT", "UNZIP*", "ZIPINFO*", "BC_*", "AWK*",
    "GAWK*", "MAWK*", "JQ_*", "SED*", "LS_BLOCK_SIZE", "PSQL_*", "PGSYSCONFDIR", "PGSERVICEFILE",
    "PGPASSFILE",
    "SIMPLE_BACKUP_SUFFIX", "VERSION_CONTROL", "WGETRC", "NETRC", "INPUTRC", "CMAKE_*", "MANPAGER",
    // Managers of versions, whose programs run what these name.
    "ASDF_*", "MISE_*", "RTX_*", "KERL_*", "PYENV_*", "NVM_*", "VOLTA_*", "RBENV*", "NIX_*",
    "GUIX_*", "CONDA*", "VIRTUAL_ENV*", "DEBUGINFOD*",
    "RSYNC_*", "FIND_*", "COREUTILS_*",
    // Who one is, and where the network leads.
    "USER", "LOGNAME", "SUDO_*", "DBUS_*", "DOCKER_*", "KUBECONFIG", "AWS_*", "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "JIDO_*",
];

/// Whether a line must not set this variable.
pub(super) fn is_refused_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    VARIABLES.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *known,
    })
}

/// A name as a shell takes it for a variable.
pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
