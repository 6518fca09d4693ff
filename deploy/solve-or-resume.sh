#!/bin/sh
# Solve an instance on a cluster, or go on where an earlier try was cut off.
#
#   solve-or-resume.sh CHECKPOINT SCHEDULER INSTANCE [OPTION...]
#
# CHECKPOINT  folder that the scheduler saves the run in; this machine has to see it, too
# SCHEDULER   tcp://host:8786, or the path of a scheduler file (.json)
# INSTANCE    as for `dpbb solve`; the options too, but only a first try takes them all
#
# The exit code is dpbb's: 0 proved, 3 or 4 cut off with the state saved (call again), 1
# or 2 an error, 5 the scheduler was lost (call again). Whatever kills client or
# scheduler: call it again, and it goes on. The run of a client that was killed lives on
# in the scheduler: it is attached to.
set -eu

if [ $# -lt 3 ]; then
    echo "usage: $0 CHECKPOINT SCHEDULER INSTANCE [OPTION...]" >&2
    exit 2
fi
checkpoint=$1 scheduler=$2 instance=$3
shift 3

# the run that writes there, if its scheduler still has it
run=$(sed -n 's/.*"run_id": "\([^"]*\)".*/\1/p' "$checkpoint/owner.json" \
    2>/dev/null) || true
if [ -n "$run" ] && dpbb list --json --scheduler "$scheduler" |
    grep -q "\"run_id\": *\"$run\""; then
    echo "attaching to $run" >&2
    exec dpbb attach "$run" --scheduler "$scheduler"
fi

# a folder in which no checkpoint is complete yet is none
if [ -f "$checkpoint" ] || ls "$checkpoint"/checkpoint-*.dpbb >/dev/null 2>&1; then
    echo "resuming $checkpoint" >&2
    # of the options only the time limit belongs to this try, not to the run
    limit=
    for argument in "$@"; do
        case $argument in
            --time-limit=*) limit=${argument#--time-limit=} ;;
            *) [ "${previous-}" = --time-limit ] && limit=$argument ;;
        esac
        previous=$argument
    done
    exec dpbb resume "$checkpoint" --scheduler "$scheduler" \
        ${limit:+--time-limit "$limit"}
fi
exec dpbb solve "$instance" --scheduler "$scheduler" --checkpoint "$checkpoint" "$@"
