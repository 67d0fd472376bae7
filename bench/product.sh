#!/bin/sh
# The built product as a bench target: fills a database from $BENCH_FIXTURE, then becomes the product, so
# that this process id is the product's alone. Wants PORT, BENCH_FIXTURE, BENCH_JWT_PEM (bench/keys.mjs);
# BENCH_PRODUCT_FLAGS goes to node (--cpu-prof …).
set -eu
: "${PORT:?}" "${BENCH_FIXTURE:?}" "${BENCH_JWT_PEM:?make one with node bench/keys.mjs}"
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
# Twice apart: the database is nobody's child, and is not counted as the product's memory or CPU time.
(node bench/prepare.mjs "$dir" "$$" </dev/null >"$dir/log" 2>&1 &)
while [ ! -f "$dir/env" ]; do
  if [ -f "$dir/failed" ]; then
    cat "$dir/log" >&2
    rm -rf "$dir"
    exit 1
  fi
  sleep 0.1
done
. "$dir/env"
# shellcheck disable=SC2086 # several flags are several words
exec node ${BENCH_PRODUCT_FLAGS:-} dist/main.js
