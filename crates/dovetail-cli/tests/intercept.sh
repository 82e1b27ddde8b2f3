# intercept.sh DOVETAIL FOLDER: a client, a gateway and a server in network namespaces. What the client sends to the server's
# port 80 or 443 comes to the gateway, by redirect and then by TPROXY. Prints what the client got; the gateway's log is in FOLDER.
set -eu
dovetail=$1 folder=$2 id=dvi$$
names="$id-c $id-g $id-s"
end() {
  for n in $names; do
    ip netns pids "$n" 2>/dev/null | xargs -r kill 2>/dev/null || true
    ip netns del "$n" 2>/dev/null || true
  done
}
trap end EXIT
for n in $names; do ip netns add "$n"; ip -n "$n" link set lo up; done
join() { # NAMESPACE ADDRESS NAMESPACE ADDRESS
  ip -n "$1" link add "to-$5" type veth peer name "to-$6" netns "$3"
  ip -n "$1" addr add "$2" dev "to-$5"; ip -n "$1" link set "to-$5" up
  ip -n "$3" addr add "$4" dev "to-$6"; ip -n "$3" link set "to-$6" up
}
join "$id-c" 10.1.0.2/24 "$id-g" 10.1.0.1/24 g c
join "$id-g" 10.9.0.1/24 "$id-s" 10.9.0.2/24 s g
ip -n "$id-c" route add default via 10.1.0.1
ip -n "$id-s" route add default via 10.9.0.1
ip netns exec "$id-g" sysctl -qw net.ipv4.ip_forward=1
echo from-the-server >"$folder/a.txt"
for port in 80 443; do
  ip netns exec "$id-s" python3 -m http.server "$port" --bind 10.9.0.2 --directory "$folder" >/dev/null 2>&1 &
done
ip netns exec "$id-g" "$dovetail" gateway --config "$folder/gateway.toml" 2>"$folder/gateway.err" &

fetch() { ip netns exec "$id-c" curl -s --max-time 5 "$@"; }
for _ in $(seq 50); do grep -q listening "$folder/gateway.err" && break; sleep 0.1; done
for port in 80 443; do
  for _ in $(seq 100); do ip netns exec "$id-s" curl -s -o "$folder/probe" "http://10.9.0.2:$port/a.txt" && break; sleep 0.1; done
done
look() {
  fetch http://10.9.0.2/a.txt -H "Host: elsewhere.example"
  # The server speaks no TLS: what counts is where the greeting went.
  fetch -k --resolve x.example:443:10.9.0.2 https://x.example/ || true
}
ip netns exec "$id-g" nft -f - <<N
table ip t {
  chain p {
    type nat hook prerouting priority dstnat
    iifname "to-c" tcp dport { 80, 443 } redirect to :3129
  }
}
N
look
ip netns exec "$id-g" nft -f - <<N
flush ruleset
table ip t {
  chain p {
    type filter hook prerouting priority mangle
    iifname "to-c" tcp dport { 80, 443 } tproxy to :3130 meta mark set 1 accept
  }
}
N
ip -n "$id-g" rule add fwmark 1 lookup 100
ip -n "$id-g" route add local 0.0.0.0/0 dev lo table 100
look
# Who asks the port itself meant nobody else.
fetch http://10.1.0.1:3129/a.txt || echo nobody
