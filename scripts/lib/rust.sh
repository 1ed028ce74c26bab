# Finds the Rust toolchain. Sourced by the other scripts with the repository's root as the current folder.

# rustup's folder, for a shell that was opened before rustup was installed.
use_rust() {
    local folder=${CARGO_HOME:-$HOME/.cargo}/bin
    if ! command -v cargo >/dev/null && [[ -x $folder/cargo ]]; then
        PATH=$folder:$PATH
    fi
}

# The version that Cargo.toml asks for.
needed_rust() { sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml; }

# The version that is there, or nothing.
found_rust() { rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9.]*\).*/\1/p'; }

is_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

use_rust
