#!/bin/sh
# Installs on Debian 12 or newer what this project needs and does not find: Elixir with Erlang's headers, a C linker, Rust.
# Changes nothing that is there already.
#
#   ./setup.sh          what building and running needs
#   ./setup.sh test     that, and what the tests need besides
set -eu

minimum_rust=1.91

say() { printf 'setup: %s\n' "$1"; }
fail() { printf 'setup: %s\n' "$1" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        fail "needs root, or sudo, for: $*"
    fi
}

updated=
install_packages() {
    command -v apt-get >/dev/null 2>&1 ||
        fail "this machine has no apt-get; install by hand what is missing: $*"
    say "installing $*"
    if [ -z "$updated" ]; then
        as_root apt-get update -qq
        updated=yes
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# cargo may have been installed for this user only, and not be on this shell's PATH.
PATH="$PATH:${HOME:-/root}/.cargo/bin"

rust_is_new_enough() {
    command -v cargo >/dev/null 2>&1 || return 1
    version=$(cargo --version 2>/dev/null | cut -d' ' -f2)
    [ "$(printf '%s\n%s\n' "$minimum_rust" "$version" | sort -V | head -n 1)" = "$minimum_rust" ]
}

has_luerl() {
    erl -noshell -eval 'halt(case code:lib_dir(luerl) of {error, _} -> 1; _ -> 0 end).' 2>/dev/null
}

has_erlang_headers() {
    erl -noshell -eval 'Root = code:root_dir(), F = filelib:wildcard(Root ++ "/{usr,erts-*}/include/erl_nif.h"), halt(case F of [] -> 1; _ -> 0 end).' 2>/dev/null
}

command -v mix >/dev/null 2>&1 && command -v erl >/dev/null 2>&1 || install_packages elixir erlang-nox erlang-dev
has_erlang_headers || install_packages erlang-dev
command -v cc >/dev/null 2>&1 || install_packages gcc libc6-dev
[ -e /etc/ssl/certs/ca-certificates.crt ] || install_packages ca-certificates

if ! rust_is_new_enough; then
    # Debian keeps a current Rust beside its own, for the browsers it builds.
    install_packages rustc-web cargo-web
    rust_is_new_enough || fail "found no Rust $minimum_rust or newer; install one with rustup and run this again"
fi

if [ "${1:-}" = test ]; then
    command -v dialyzer >/dev/null 2>&1 || install_packages erlang-dialyzer
    command -v git >/dev/null 2>&1 || install_packages git
    command -v python3 >/dev/null 2>&1 || install_packages python3
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
    has_luerl || install_packages erlang-luerl
    # The fuzz targets' own runtime is C++.
    command -v c++ >/dev/null 2>&1 || install_packages g++
    command -v make >/dev/null 2>&1 || install_packages make
    command -v rg >/dev/null 2>&1 || install_packages ripgrep
    cargo fmt --version >/dev/null 2>&1 || install_packages rustfmt-web
    cargo clippy --version >/dev/null 2>&1 || install_packages rust-web-clippy
fi
