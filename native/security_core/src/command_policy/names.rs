//! Names that no list may let through, and variables that no line may set.

/// Programs that run command lines.
pub const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "dash", "ksh", "csh", "tcsh", "ash", "mksh", "rbash", "busybox",
    "pwsh", "nu", "xonsh", "elvish",
];

/// Programs that run other programs, or become someone else first.
#[rustfmt::skip]
pub const LAUNCHERS: &[&str] = &[
    "env", "xargs", "sudo", "doas", "su", "runuser", "nohup", "setsid", "nice", "ionice", "chrt",
    "taskset", "timeout", "stdbuf", "unbuffer", "script", "watch", "parallel", "time", "strace",
    "ltrace", "gdb", "chroot", "unshare", "nsenter", "flock", "ssh", "at", "batch", "crontab",
    "systemd-run", "docker", "podman", "awk", "gawk", "mawk", "sed", "ed", "ex", "vi", "vim",
    "nvim", "emacs", "perl", "ruby", "php", "lua", "tclsh", "expect", "m4", "socat", "nc", "ncat",
];

/// Those of [`LAUNCHERS`] that the wide list takes, because what they run is judged with them.
pub const JUDGED_LAUNCHERS: &[&str] = &[
    "env", "xargs", "nice", "timeout", "awk", "gawk", "mawk", "sed",
];

/// Statements of a shell that are no programs.
#[rustfmt::skip]
pub const BUILTINS: &[&str] = &[
    "eval", "exec", "source", ".", "cd", "pushd", "popd", "export", "unset", "set", "shopt",
    "alias", "unalias", "trap", "read", "declare", "typeset", "local", "readonly", "builtin",
    "command", "enable", "hash", "type", "ulimit", "umask", "wait", "jobs", "fg", "bg", "kill",
    "exit", "return", "shift", "let", "mapfile", "history", "fc", "bind", "complete", ":",
];

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
