# Prepares tests in Python. Source it in the directory with the requirements:
#   . python-tests.sh TITLE REQUIREMENTS
# Installs REQUIREMENTS into .venv. Without Python or the package index, prints one line and succeeds.
# PYTHON selects another interpreter than python3, and MEMORY_SERVICE_CLI another main.js than dist/main.js.
title=$1 requirements=$2
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

skip() { echo "$title skipped: $1"; exit 0; }
fail() { echo "$title failed: $1"; exit 1; }

build_service() {
  [ -n "${MEMORY_SERVICE_CLI:-}" ] && return
  echo "== build of the service"
  node "$repository/scripts/build.mjs" || fail 'npm run build (after npm ci?)'
}

python=${PYTHON:-python3}
version=$("$python" --version 2>/dev/null) || skip "there is no $python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  skip "the packages of $requirements need Python 3.11, and $python is $version"
"$python" -c 'import ensurepip, venv' 2>/dev/null || skip "$python has no venv (Debian: apt-get install python3-venv)"

stamp=$("$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.version.encode() + open(sys.argv[1], "rb").read()).hexdigest())' "$requirements")
pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet)
if [ "$(cat .venv/stamp 2>/dev/null)" != "$stamp" ]; then
  echo "== packages"
  rm -rf .venv
  "$python" -m venv .venv || skip "$python cannot make a virtual environment"
  # Downloads the smallest package first, to distinguish an unreachable index from unavailable packages.
  "${pip[@]}" download --no-deps --no-cache-dir --retries 1 --timeout 20 --dest .venv/probe \
    "$(grep -m1 -E '^(iniconfig|pyproject_hooks)==' "$requirements")" >.venv/probe.log 2>&1 || skip 'the Python package index cannot be reached'
  "${pip[@]}" install -r "$requirements" || fail "pip install -r $requirements"
  echo "$stamp" >.venv/stamp
fi
