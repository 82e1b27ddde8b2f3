#!/usr/bin/env bash
# Builds the module against the ns3 wheel, runs its test suite and its examples, and compares it with `dovetail compare`.
#
#   test.sh [FOLDER]     FOLDER is that of build.sh
#
# Ends well, with a message, where the wheel or a compiler is not to be had; with DOVETAIL_ALL_MUST_RUN=1 that is a failure.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}
out=${1:-$target/ns3}

status=0
"$here/build.sh" "$out" || status=$?
if [ "$status" = 77 ]; then
  echo "skipped: the ns-3 module's tests need what is missing above"
  [ -z "${DOVETAIL_ALL_MUST_RUN:-}" ]
  exit
fi
[ "$status" = 0 ] || exit "$status"

"$out/test-runner" --suite=dovetail-queue-disc --verbose

# What test.py does with a module's list of examples.
python3 - "$here/contrib/dovetail/test/examples-to-run.py" <<'LIST' | while read -r example; do
import runpy, sys
for command, is_run, _ in runpy.run_path(sys.argv[1])["cpp_examples"]:
    if is_run == "True":
        print(command)
LIST
  # shellcheck disable=SC2086
  "$out"/$example >"$out/example.txt" || { echo "FAIL $example"; exit 1; }
  echo "PASS $example"
done

# With a dovetail command at hand: every packet at the same nanosecond.
dovetail=${DOVETAIL:-}
for profile in try release debug; do
  [ -n "$dovetail" ] || [ ! -x "$target/$profile/dovetail" ] || dovetail=$target/$profile/dovetail
done
if [ -n "$dovetail" ]; then
  DOVETAIL=$dovetail DOVETAIL_NS3=$out python3 "$here/cross-checks/open_loop.py" 2000
else
  echo "no dovetail command is built: the open loop is not compared"
fi
