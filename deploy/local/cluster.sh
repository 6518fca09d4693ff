#!/usr/bin/env bash
# A Dask cluster on this machine that stays until Ctrl-C: a worker for each GPU, or one
# with all cores. For several solves on one cluster, and for solves that outlive a
# terminal (run it in tmux, or as a service). `dpbb solve` alone needs none of this.
#
#   cluster.sh [PORT]            default 8786
#   GPUS="0 2" cluster.sh        these GPUs; GPUS="" none
set -euo pipefail

port=${1:-8786}
here=$(cd "$(dirname "$0")" && pwd)
export DASK_CONFIG=${DASK_CONFIG:-$here/../dask.yaml}
export PYTHONUNBUFFERED=1

if [ -z "${GPUS+set}" ]; then
    GPUS=
    if command -v nvidia-smi >/dev/null; then
        GPUS=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null || true)
    fi
fi

set -m # a terminal's Ctrl-C is for this script alone
pids=()
# shellcheck disable=SC2317 # called by the trap
stop() {
    trap - EXIT
    trap '' INT TERM
    # workers first: they give their work back, and the scheduler saves it
    end 15 "${pids[@]:1}"
    end 30 "${pids[@]:0:1}"
}
# shellcheck disable=SC2317
end() { # SECONDS PROCESS...: asks processes to end, and kills those that do not
    local tenths=$((10 * $1))
    shift
    kill "$@" 2>/dev/null || true
    while [ $((tenths--)) -gt 0 ] && kill -0 "$@" 2>/dev/null; do sleep 0.1; done
    kill -KILL "$@" 2>/dev/null || true
}
trap stop EXIT
trap 'exit 0' INT TERM

dask scheduler --host 127.0.0.1 --port "$port" --dashboard-address 127.0.0.1:8787 \
    --preload dpbb.cluster.preload &
pids+=($!)
address=tcp://127.0.0.1:$port
# without a dashboard they answer HTTP all the same
here_alone=(--host 127.0.0.1 --no-dashboard --dashboard-address 127.0.0.1:0)

# one worker process for each GPU, with a few threads to feed it
for gpu in $GPUS; do
    CUDA_VISIBLE_DEVICES=$gpu DPBB_SEATS=gpu dask worker "$address" \
        --name "gpu-$gpu" --nworkers 1 --nthreads 1 "${here_alone[@]}" \
        --preload dpbb.cluster.preload &
    pids+=($!)
done
if [ -z "$GPUS" ]; then
    DPBB_SEATS=cpu dask worker "$address" --name cores --nworkers 1 \
        --nthreads "${THREADS:-$(nproc)}" "${here_alone[@]}" \
        --preload dpbb.cluster.preload &
    pids+=($!)
fi

echo "dpbb solve ta056 --scheduler $address"
wait -n "${pids[@]}" # whichever ends first ends all
echo "a process of the cluster has ended" >&2
exit 1
