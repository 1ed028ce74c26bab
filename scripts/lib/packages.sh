# Installs Debian packages. Sourced by scripts that define `step` and `fail`.

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    else
        command -v sudo >/dev/null || fail "this needs root and there is no sudo; run as root: $*"
        sudo "$@"
    fi
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Installs those of the named packages that are missing.
install_packages() {
    if ! command -v apt-get >/dev/null; then
        step "not a Debian-like system: please see to it that these or their like are there: $*"
        return
    fi
    local missing=() package
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    if [[ ${#missing[@]} -eq 0 ]]; then
        step "system packages are there"
        return
    fi
    step "installing ${missing[*]}"
    as_root apt-get update -qq || fail "apt-get update failed: is the package mirror reachable?"
    if [[ " ${missing[*]} " == *" postgresql "* ]]; then without_cluster_of_system; fi
    apt_install "${missing[@]}"
    if [[ " ${missing[*]} " == *" pgbouncer "* && -d /run/systemd/system ]]; then
        as_root systemctl disable --quiet --now pgbouncer || true
    fi
}

# In this run level no package starts a server, where systemd does not decide about that.
apt_install() {
    as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" ||
        fail "apt-get could not install $*"
}

# The first PostgreSQL on a system makes and starts a database for all, unless it is told not to before.
without_cluster_of_system() {
    if is_installed postgresql-common; then return; fi
    apt_install postgresql-common
    as_root sed -i 's/^#\? *create_main_cluster *=.*/create_main_cluster = false/' \
        /etc/postgresql-common/createcluster.conf
}
