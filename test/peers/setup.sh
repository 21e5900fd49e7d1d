#!/usr/bin/env bash
# Installs the programs of others that the tests talk to, pinned, under .cache/:
# npm packages in .cache/npm, .cache/conformance and .cache/clients, a Python
# environment in .cache/venv, Go programs in .cache/bin. A stamp beside each holds
# the hash of its pin files and of the interpreter's version, so a second run does
# nothing and a changed pin installs anew.
# Any failure is one sentence on stderr, with the end of the installer's own output
# before it, and exit status 1.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(cd "$here/../.." && pwd)/.cache
log=$cache/setup.log

fail() {
  [ -s "$log" ] && tail -n 15 "$log" | cut -c1-300 >&2
  echo "setup: $1" >&2
  exit 1
}

need() { # program, what for
  command -v "$1" >/dev/null 2>&1 || fail "$1 is not installed and is needed for $2"
}

hash_of() { # version text, files...
  local version=$1
  shift
  if command -v sha256sum >/dev/null 2>&1; then
    { echo "$version"; cat "$@"; } | sha256sum | cut -d' ' -f1
  else
    { echo "$version"; cat "$@"; } | shasum -a 256 | cut -d' ' -f1
  fi
}

fresh() { # stamp file, hash
  [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

# retry runs a command up to three times: a registry that stumbles once is not a failure.
retry() {
  local try
  for try in 1 2 3; do
    "$@" >>"$log" 2>&1 && return 0
    sleep $((try * 2))
  done
  return 1
}

# install_npm installs the packages of a folder's pins into a folder under .cache.
install_npm() { # folder of the pins, folder under .cache, what for
  need node "$3"
  need npm "$3"
  local pins=$1 into=$cache/$2 version stamp=$cache/$2/.stamp want
  version=$(node --version)
  [ "$(echo "$version" | tr -d v | cut -d. -f1)" -ge 20 ] || fail "node is $version; version 20 or later is needed"
  want=$(hash_of "$version" "$pins/package.json" "$pins/package-lock.json" "$pins/.npmrc")
  fresh "$stamp" "$want" && return
  echo "setup: installing npm packages for $3"
  rm -rf "$into" && mkdir -p "$into" || fail "cannot write $into"
  cp "$pins/package.json" "$pins/package-lock.json" "$pins/.npmrc" "$into/" || fail "cannot copy the npm pins"
  retry npm ci --prefix "$into" || fail "npm could not install the packages of $pins/package-lock.json"
  echo "$want" >"$stamp"
}

install_python() {
  need python3 "moto and cfn-lint"
  local version stamp=$cache/venv/.stamp want
  version=$(python3 --version)
  want=$(hash_of "$version" "$here/requirements.txt")
  fresh "$stamp" "$want" && return
  echo "setup: installing Python packages"
  rm -rf "$cache/venv"
  python3 -m venv "$cache/venv" >>"$log" 2>&1 || fail "python3 could not make a virtual environment (is its venv module installed?)"
  retry "$cache/venv/bin/pip" install --disable-pip-version-check --no-deps -r "$here/requirements.txt" ||
    fail "pip could not install the packages of test/peers/requirements.txt"
  echo "$want" >"$stamp"
}

install_go() {
  need go "everything here"
  local version stamp=$cache/bin/.stamp want package
  version=$(go env GOVERSION)
  want=$(hash_of "$version" "$here/tools.txt")
  fresh "$stamp" "$want" && return
  echo "setup: building Go programs"
  rm -rf "$cache/bin" && mkdir -p "$cache/bin" || fail "cannot write $cache/bin"
  grep -v '^#' "$here/tools.txt" | while read -r package; do
    GOBIN=$cache/bin GOOS= GOARCH= retry go install "$package" || exit 1
  done || fail "go install could not build the programs of test/peers/tools.txt"
  echo "$want" >"$stamp"
}

mkdir -p "$cache" || fail "cannot write $cache"
# Two setups at once would remove each other's work.
if command -v flock >/dev/null 2>&1; then
  exec 9>"$cache/setup.lock" && flock 9 || fail "cannot lock $cache/setup.lock"
fi
: >"$log" || fail "cannot write $log"
install_npm "$here" npm "server-everything and dynalite"
install_npm "$here/../conformance" conformance "the conformance suite"
install_npm "$here/../clients" clients "the MCP clients"
install_python
install_go
