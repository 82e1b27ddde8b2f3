#!/usr/bin/env bash
# Has a middlebox, with one worker and with two, live through minutes in which flows, configurations and programs come and go,
# and prints what memory it holds; ends with an error where that grows. Also prints how soon endless programs are stopped. As
# root. --seconds N of each, ten minutes by default. DOVETAIL_PROFILE=dev is what tests have built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
profile=${DOVETAIL_PROFILE:-release}
cargo build --profile "$profile" --package dovetail-bench-middlebox --features programs
program=target/${profile/dev/debug}/dovetail-bench-middlebox
"$program" --only runaway
"$program" --only churn --seconds 600 "$@"
