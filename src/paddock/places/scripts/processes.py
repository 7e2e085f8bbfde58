"""How a bare machine starts and ends a rank: a process in a session of its own, with files beside its log. Bash."""

from __future__ import annotations

PROCESSES = r"""
# ---- ranks as processes

# A rank has `RANK.log`, `RANK.pid` (its process and when that started, as numbers of processes are used again) and,
# when it has ended, `RANK.exit` in this directory.
files=$directory/paddock-$job

name_log() { echo "$files/$1.log"; }

check_rank() {
    if [ ! -d "$start_in" ]; then
        complain "$1: the directory $start_in is not on this machine: make it, or set PADDOCK_DIRECTORY"
        return
    fi
    command -v "${command[0]}" >/dev/null ||
        complain "$1: the program ${command[0]} is not on this machine, or not in PATH"
    if [ -n "$script" ] && [ ! -f "$(cd "$start_in" && realpath -m -- "$script")" ]; then
        complain "$1: $script is not in $start_in: copy the program there, or set PADDOCK_DIRECTORY"
    fi
    if [ "${#packages[@]}" -gt 0 ] && [ -z "$(find_versions)" ]; then
        complain "$1: ${command[0]} has no package ${packages[0]}: install it, or put the right Python first in PATH"
    fi
}

# The Python that the command starts, and the version of the framework that it has.
find_python() {
    case ${command[0]##*/} in
    python*) echo "${command[0]}" ;;
    *) command -v python || command -v python3 || echo python ;;
    esac
}

find_versions() {
    "$(find_python)" -c '
import importlib.metadata as metadata, sys
for name in sys.argv[1:]:
    try:
        print(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        pass
' "${packages[@]}" 2>/dev/null
}

# One line, so that the machines of a job can be compared.
show_versions() {
    load "${own_ranks[0]}"
    local python version
    python=$(find_python)
    version=$("$python" -c 'import platform; print(platform.python_version())' 2>/dev/null) || version=none
    echo "versions: python $version $(find_versions | tr '\n' ' ')"
}

start_rank() {
    local log
    log=$(name_log "$1")
    umask 077
    mkdir -p "$files"
    rm -f "$files/$1.exit" "$files/$1.pid"
    setsid "$BASH" "$self" supervise "$1" </dev/null >"$log" 2>&1 &
    until [ -s "$files/$1.pid" ] || [ -s "$files/$1.exit" ]; do
        kill -0 "$!" 2>/dev/null || break
        sleep 0.05
    done
}

# The process above a rank: it keeps the exit code, and hands a signal on.
supervise() {
    local code=0 program
    resolve
    load "$1"
    cd "$start_in"
    trap 'kill -TERM "$program" 2>/dev/null || true' TERM INT HUP
    env "${unset[@]}" "${environment[@]}" "${command[@]}" &
    program=$!
    echo "$$ $(read_start "$$")" >"$files/$1.pid"
    while kill -0 "$program" 2>/dev/null; do
        wait "$program" && code=0 || code=$?
    done
    echo "$code" >"$files/$1.exit"
}

# When a process started, in ticks since the machine did; empty if there is none.
read_start() {
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086 # the words of the line are wanted
    set -- ${stat##*) }
    echo "${20}"
}

is_running() {
    local pid start
    read -r pid start 2>/dev/null <"$files/$1.pid" || return 1
    [ ! -e "$files/$1.exit" ] && [ "$(read_start "$pid")" = "$start" ]
}

describe_running() {
    local pid
    read -r pid _ <"$files/$1.pid"
    echo "pid $pid"
}

# 137 for a rank whose process is gone without a word: it was killed, or the machine was started anew.
read_code() {
    if [ -e "$files/$1.exit" ]; then
        cat "$files/$1.exit"
    elif [ -e "$files/$1.pid" ]; then
        echo 137
    else
        return 1
    fi
}

# A process and all that it started, children last. Launchers start their programs in sessions of their own.
list_tree() {
    ps -e -o pid=,ppid= | awk -v root="$1" '
        { parent[$1] = $2 }
        END {
            for (pid in parent) {
                above = pid
                while (above in parent && above != root && above > 1) above = parent[above]
                if (above == root) print pid
            }
        }'
}

stop_rank() {
    local pid each tree=() count=0
    is_running "$1" || return 0
    read -r pid _ <"$files/$1.pid"
    for each in $(list_tree "$pid"); do
        tree+=("$each:$(read_start "$each" || true)")
    done
    kill -TERM "$pid" 2>/dev/null || true
    while is_running "$1" && [ "$count" -lt 100 ]; do
        sleep 0.1
        count=$((count + 1))
    done
    # What did not end in 10 s, or was left by a launcher that did.
    for each in "${tree[@]}"; do
        if [ "$(read_start "${each%%:*}" || true)" = "${each#*:}" ]; then
            kill -KILL "${each%%:*}" 2>/dev/null || true
        fi
    done
    if [ ! -e "$files/$1.exit" ]; then echo 137 >"$files/$1.exit"; fi
}

stop_all() {
    local rank
    for rank in "${own_ranks[@]}"; do
        if is_running "$rank"; then
            stop_rank "$rank" &
        fi
    done
    wait
    for rank in "${own_ranks[@]}"; do
        if is_running "$rank"; then fail "$rank does not end"; fi
    done
    echo "${own_ranks[*]}: ended"
}

print_log() {
    local pid
    [ -e "$(name_log "$1")" ] || fail "$1 has no log: it was not started"
    if [ -n "$2" ] && read -r pid _ 2>/dev/null <"$files/$1.pid" && is_running "$1"; then
        tail -n +1 -f --pid="$pid" -- "$(name_log "$1")"
    else
        cat -- "$(name_log "$1")"
    fi
}

# The command line of a rank of any machine. The interface is found where it is typed.
show_command() {
    local entry line=env name
    own=${addresses[$2]}
    interface=@interface@
    load "$1"
    for entry in "${unset[@]}" "${environment[@]}"; do
        name=${entry%%=*}
        case " ${unshown[*]+"${unshown[*]}"} " in
        *" $name "*) continue ;;
        esac
        line="$line $(printf '%q' "$entry")"
    done
    # shellcheck disable=SC2016 # it is for the shell of the other machine
    line=${line/@interface@/'"$(ip -4 -o address show to '"$own"' | awk '"'{ print \$2; exit }'"')"'}
    for entry in "${command[@]}"; do
        line="$line $(printf '%q' "$entry")"
    done
    echo "$line"
}

if [ "${1:-}" = supervise ]; then
    supervise "$2"
    exit
fi
"""
