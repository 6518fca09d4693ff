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

# of the options of a run that goes on, these belong to this try: its time, and the files
limit= certificate= optima= previous=
for argument in "$@"; do
    case $previous in
        --time-limit | --certificate | --optima-file) argument=$previous=$argument ;;
    esac
    case $argument in
        --time-limit=*) limit=${argument#*=} ;;
        --certificate=*) certificate=${argument#*=} ;;
        --optima-file=*) optima=${argument#*=} ;;
    esac
    previous=$argument
done
command=
# the run that writes there, if its scheduler still has it
run=$(sed -n 's/.*"run_id": "\([^"]*\)".*/\1/p' "$checkpoint/owner.json" \
    2>/dev/null) || true
if [ -n "$run" ] && dpbb list --json --scheduler "$scheduler" |
    grep -q "\"run_id\": *\"$run\""; then
    command=attach limit=
    echo "attaching to $run" >&2
# a folder in which no checkpoint is complete yet is none
elif [ -f "$checkpoint" ] || ls "$checkpoint"/checkpoint-*.dpbb >/dev/null 2>&1; then
    command=resume run=$checkpoint
    echo "resuming $checkpoint" >&2
fi
if [ -n "$command" ]; then
    exec dpbb "$command" "$run" --scheduler "$scheduler" \
        ${limit:+--time-limit "$limit"} \
        ${certificate:+--certificate "$certificate"} ${optima:+--optima-file "$optima"}
fi
exec dpbb solve "$instance" --scheduler "$scheduler" --checkpoint "$checkpoint" "$@"
