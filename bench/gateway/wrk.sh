#!/usr/bin/env bash
# What a proxy forwards on loopback, and its CPU time a request: this gateway beside Squid, one thread each, wrk with 32 connections
# and responses of 1 kB. Pairs one after the other; the last lines are the medians' ratios. Needs wrk, squid and two cores; other work
# on the machine spoils it.
#
#   bench/gateway/wrk.sh [PAIRS [SECONDS]]        DOVETAIL=… and ORIGIN=… are programs that are built already
set -euo pipefail
cd "$(dirname "$0")/../.."
pairs=${1:-3} seconds=${2:-8}
for tool in wrk squid taskset; do command -v $tool >/dev/null || { echo "there is no $tool" >&2; exit 1; }; done
target=${CARGO_TARGET_DIR:-target}/release
if [ -z "${DOVETAIL:-}" ]; then cargo build --release --locked -p dovetail-cli; fi
if [ -z "${ORIGIN:-}" ]; then cargo build --release --locked -p dovetail-gateway --example origin; fi
dovetail=${DOVETAIL:-$target/dovetail} origin=${ORIGIN:-$target/examples/origin}

work=$(mktemp -d)
started=()
finish() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# The proxy has one core, the load and the server the other.
mkfifo "$work/open"
taskset -c 1 "$origin" 1024 <"$work/open" >"$work/origin" &
started+=($!)
exec 7>"$work/open"
until [ -s "$work/origin" ]; do sleep 0.1; done
server=$(cat "$work/origin")
echo "request = function() return wrk.format('GET', 'http://$server/x') end" > "$work/ask.lua"

cat > "$work/gateway.toml" <<TOML
[proxy]
listen = "127.0.0.1:23128"
[downlink]
rate = "10Gbps"
probe = "off"
policy = "POLICY"
[access]
clients = ["127.0.0.1"]
destinations = { allow = ["127.0.0.1"] }
TOML
for policy in grants none; do sed "s/POLICY/$policy/" "$work/gateway.toml" > "$work/$policy.toml"; done
cat > "$work/squid.conf" <<CONF
http_port 127.0.0.1:23128
pid_filename none
workers 1
memory_pools off
pinger_enable off
max_filedescriptors 4096
visible_hostname gateway
cache deny all
cache_mem 0
access_log none
cache_log /dev/null
cache_store_log none
shutdown_lifetime 0 seconds
http_access allow all
coredump_dir $work
CONF

# CPU time of a process and its children, in ticks.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 + $14 + $15 }' "/proc/$1/stat"; }
measure() { # NAME COMMAND…
  local name=$1; shift
  taskset -c 0 "$@" >"$work/$name.said" 2>&1 &
  local pid=$! tries=0
  started+=($pid)
  until (exec 3<>/dev/tcp/127.0.0.1/23128) 2>/dev/null; do
    sleep 0.1; tries=$((tries + 1))
    [ $tries -lt 200 ] || { echo "$name does not listen: $(cat "$work/$name.said")" >&2; exit 1; }
  done
  taskset -c 1 wrk -t1 -c32 -d1s -s "$work/ask.lua" http://127.0.0.1:23128 >/dev/null
  local before; before=$(ticks $pid)
  taskset -c 1 wrk -t1 -c32 -d"${seconds}s" -s "$work/ask.lua" http://127.0.0.1:23128 >"$work/wrk"
  local after; after=$(ticks $pid)
  kill $pid; wait $pid 2>/dev/null || true
  ! grep -q 'Non-2xx\|Socket errors' "$work/wrk" || { cat "$work/wrk" >&2; exit 1; }
  awk -v name="$name" -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" '
    / requests in / { requests = $1 } /Requests\/sec/ { rate = $2 }
    END { printf "%-8s %8.0f requests/s  %6.1f us of CPU a request\n", name, rate, ticks / hz / requests * 1e6 }' "$work/wrk" | tee -a "$work/all"
}
for _ in $(seq "$pairs"); do
  measure squid squid -N -f "$work/squid.conf"
  measure grants "$dovetail" gateway --config "$work/grants.toml"
  measure none "$dovetail" gateway --config "$work/none.toml"
done
median() { awk -v name="$1" -v field="$2" '$1 == name { print $field }' "$work/all" | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
for policy in grants none; do
  awk -v policy=$policy -v ours="$(median $policy 2)" -v theirs="$(median squid 2)" -v cpu="$(median $policy 4)" -v their_cpu="$(median squid 4)" \
    'BEGIN { printf "%s: %.2f of Squid'"'"'s rate, %.2f of its CPU a request\n", policy, ours / theirs, cpu / their_cpu }'
done
