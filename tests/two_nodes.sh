#!/bin/sh
# Two nodes on one machine: `two_nodes.sh COMMAND ...` runs the command on host `one`, beside a host `two`. Each has a name
# and a network of its own, in namespaces that need no rights; a pair of virtual interfaces joins them. An MPI launcher
# reaches host `two` by the agent $AGENT: `two_nodes.sh HOST COMMAND ...` there.
if [ -n "$TWO" ]; then
    shift
    exec nsenter --target "$TWO" --net --uts sh -c "$*"
fi

if [ -z "$AGENT" ]; then
    export AGENT="$0"
    exec unshare --user --map-root-user --mount --net --uts "$0" "$@"
fi

set -e
names=$(mktemp)
printf '127.0.0.1 localhost\n10.77.0.1 one\n10.77.0.2 two\n' >"$names"
mount --bind "$names" /etc/hosts

unshare --net --uts sleep 600 &
two=$!
trap 'kill $two; rm -f $names' EXIT
until [ "$(readlink /proc/$two/ns/uts)" != "$(readlink /proc/$$/ns/uts)" ]; do sleep 0.02; done

hostname one
ip link add wire type veth peer name wire netns $two
ip link set lo up
ip addr add 10.77.0.1/24 dev wire
ip link set wire up
export TWO=$two
"$AGENT" two "hostname two; ip link set lo up; ip addr add 10.77.0.2/24 dev wire; ip link set wire up"
"$@"
