#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts where there is one: network namespaces with names of their own, joined by a bridge. Starts a program
# on them with Open MPI's mpirun, and takes everything down again.
#
# usage: network_hosts.sh [--rate RATE] RANKS,RANKS[,...] PROGRAM [ARGUMENT...]
#   RANKS,RANKS   ranks on each host: 2,1 is two hosts, with 2 and 1
#   --rate RATE   of every host's link, as tc has it (1gbit); else as fast as it goes
# Environment: MPIRUN (mpirun.openmpi or mpirun), MPIRUN_OPTIONS: more words for it.
# Exit: the program's; 77 where namespaces cannot be made, with one line that says why.
set -uo pipefail

skip() {
  echo "skipped: no hosts can be made: $1"
  exit 77
}

rate=
if [[ ${1:-} == --rate ]]; then
  rate=$2
  shift 2
fi
[[ $# -ge 2 ]] || { sed -n '5,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
IFS=, read -r -a ranks <<<"$1"
shift
count=${#ranks[@]}

[[ $(id -u) -eq 0 ]] || skip "that takes root"
for tool in ip nsenter unshare hostname; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done
mpirun=${MPIRUN:-$(command -v mpirun.openmpi || command -v mpirun)} || skip "mpirun is not installed"

name=rs$$
bridge=${name}b
folder=$(mktemp -d)
clean_up() {
  for ((i = 1; i <= count; ++i)); do ip netns del "$name-$i" 2>/dev/null; done
  ip link del "$bridge" 2>/dev/null
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# A range that no other such script uses at the same time.
net=10.$((100 + $$ / 250 % 100)).$(($$ % 250))
make_hosts() {
  ip link add "$bridge" type bridge && ip link set "$bridge" up || return
  for ((i = 1; i <= count; ++i)); do
    ip netns add "$name-$i" &&
      ip link add "${name}v$i" type veth peer name eth0 netns "$name-$i" &&
      ip link set "${name}v$i" master "$bridge" up &&
      ip -n "$name-$i" addr add "$net.$i/24" dev eth0 &&
      ip -n "$name-$i" link set eth0 up && ip -n "$name-$i" link set lo up || return
    [[ -z $rate ]] || ip netns exec "$name-$i" tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 100ms || return
  done
}
why=$(make_hosts 2>&1) || skip "${why//$'\n'/; }"

# What mpirun calls instead of ssh: the address of a host, then a command line.
cat >"$folder/agent" <<AGENT
#!/bin/sh
number=\${1##*.}
shift
exec nsenter --net=/run/netns/$name-\$number unshare --uts sh -c "hostname host\$number; \$*"
AGENT
chmod +x "$folder/agent"

list=
for ((i = 1; i <= count; ++i)); do list+=${list:+,}$net.$i:${ranks[i - 1]}; done
total=$((${ranks[*]/%/+}0))

# shellcheck disable=SC2086 # words
nsenter --net="/run/netns/$name-1" unshare --uts sh -c 'hostname host1; exec "$@"' sh \
  "$mpirun" --allow-run-as-root --bind-to none --host "$list" -n "$total" \
  --mca plm_rsh_agent "$folder/agent" --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" \
  $(env | sed -nE 's/^((RINGSIDE|FAKECUDA)_[A-Z0-9_]*|LD_LIBRARY_PATH)=.*/-x \1/p') ${MPIRUN_OPTIONS:-} "$@"
