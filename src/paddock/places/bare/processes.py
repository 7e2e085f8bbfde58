"""The part of a script that starts and ends the processes of ranks. Text of bash, the same in each script.

A rank is a process group of its own, whose parent waits for its exit code and writes it to a file, in no group that a
terminal or ssh ends. PaddlePaddle's launcher makes its workers sessions of their own, so what a rank leaves is found by
a variable of its environment, PADDOCK_RANK, and ended as a container would end it.
"""

PROCESSES = r"""
# ---- processes: a rank is a process group, its parent writes its exit code ----

# When a process began, as /proc counts: a process id alone is used again, at the latest after a reboot.
find_beginning() {
    local line fields=()
    read -r line 2>/dev/null <"/proc/$1/stat" || return 0
    read -r -a fields <<<"${line##*) }"
    printf '%s' "${fields[19]}"
}

is_alive() {
    [[ -n $1 && -n $2 && $(find_beginning "$1") == "$2" ]]
}

# Reads the process ids of a rank: child is its program, keeper the parent of it. False where neither is running.
read_process() {
    local began='' keeper_began=''
    child='' keeper=''
    if [[ ! -f $logs/$1.pid ]]; then return 1; fi
    read -r child began keeper keeper_began <"$logs/$1.pid" || true
    if [[ -f $logs/$1.exit ]]; then return 1; fi # the last that the parent writes
    is_alive "$child" "$began" || is_alive "$keeper" "$keeper_began"
}

# The parent of a rank: runs its program, ends what it leaves, and writes its exit code.
keep() {
    local rank=$1 mark code=0 began own=$BASHPID own_began # in $(…) it is the id of a process of its own
    own_began=$(find_beginning "$own")
    mark="PADDOCK_RANK=$logs/$rank/$own.$own_began"
    cd "$(find_directory)"
    set -m # a process that is started here is a process group of its own
    become "$mark" "${program[@]}" </dev/null >"$logs/$rank.log" 2>&1 &
    child=$!
    began=$(find_beginning "$child")
    printf '%s %s %s %s\n' "$child" "${began:--}" "$own" "$own_began" >"$logs/$rank.pid.new"
    mv -f -- "$logs/$rank.pid.new" "$logs/$rank.pid"
    wait "$child" || code=$?
    end_marked "$mark"
    if declare -F end_container >/dev/null; then end_container; fi
    printf '%s\n' "$code" >"$logs/$rank.exit.new"
    mv -f -- "$logs/$rank.exit.new" "$logs/$rank.exit"
}

# Ends the processes that have this variable: at once for those that hear SIGTERM, after 10 s for the others.
end_marked() {
    local turn pid signal left
    for ((turn = 0; turn < 150; turn++)); do
        signal=0 left=0
        if ((turn == 0)); then signal=TERM; elif ((turn >= 100)); then signal=KILL; fi
        while IFS=/ read -r _ _ pid _; do
            if kill -s "$signal" "$pid" 2>/dev/null; then left=1; fi
        done < <(grep -lzxF -e "$1" /proc/[0-9]*/environ 2>/dev/null || true)
        if ((!left)); then return 0; fi
        sleep 0.1
    done
}

# Starts a rank in the background; exit 3 where that fails.
launch() {
    local rank=$1 turn
    read_rank "$rank"
    mkdir -p -- "$logs" || exit 3
    exec 9>"$logs/lock"
    if type -P flock >/dev/null; then flock -w 60 9; fi
    if read_process "$rank"; then refuse "$rank runs already, pid $child: bash $script_name stop ends it"; fi
    rm -f -- "$logs/$rank.pid" "$logs/$rank.exit"
    if [[ -f $logs/$rank.log ]]; then mv -f -- "$logs/$rank.log" "$logs/$rank.log.1"; fi
    : >"$logs/$rank.log"
    set -m
    keep "$rank" </dev/null >/dev/null 2>&1 9>&- &
    set +m
    for ((turn = 0; turn < 400; turn++)); do
        if [[ -f $logs/$rank.pid ]]; then break; fi
        sleep 0.05
    done
    exec 9>&-
    if [[ ! -f $logs/$rank.pid ]]; then
        printf '%s\n' "$rank was not started: $logs/$rank.log may say why" >&2
        exit 3
    fi
    read_process "$rank" || true
}

# SIGTERM to the process groups of ranks, SIGKILL after 10 s.
stop_ranks() {
    local rank turn left
    for rank in "$@"; do
        if read_process "$rank"; then kill -s TERM -- "-$child" 2>/dev/null || true; fi
    done
    for ((turn = 0; turn < 250; turn++)); do
        left=0
        for rank in "$@"; do
            if read_process "$rank"; then
                left=1
                if ((turn == 100)); then kill -s KILL -- "-$child" 2>/dev/null || true; fi
            fi
        done
        if ((!left)); then return 0; fi
        sleep 0.1
    done
    printf '%s\n' "some ranks do not end: bash $script_name status names them" >&2
    return 1
}
"""
