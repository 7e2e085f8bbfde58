"""The parts of a machine's script that are the same for every job: bash from 4.2 on, with getent, awk and ip.

What they must hold was measured with PaddlePaddle 3.0.0 and 3.3.1 and torch 2.13, on hosts with own network namespaces:
the own address is POD_IP and its interface GLOO_SOCKET_IFNAME, because a host name stands for 127.0.1.1 on Debian, and
both frameworks would tell their peers that address. Exit codes: 0 good, 1 a rank failed, 2 wrong use, or a machine that
is not fit, 3 not started.
"""

from __future__ import annotations

ADDRESSES = r"""
# ---- addresses

# Fills `addresses` with those of all machines, `own` with this machine's, `interface` with the one that has it.
resolve() {
    local name address
    addresses=()
    for name in "${hosts[@]}"; do
        address=$(getent ahostsv4 "$name" | awk 'NR == 1 { print $1 }') || address=''
        [ -n "$address" ] || fail "$name: this machine does not know this name; render with addresses," \
            "or add the name to /etc/hosts of every machine"
        addresses+=("$address")
    done
    own=${addresses[machine]}
    if [ "${#hosts[@]}" -gt 1 ]; then
        resolve_loopbacks
    fi
    command -v ip >/dev/null || fail "the program ip is missing: install iproute2"
    interface=$(find_interface "$own")
    [ -n "$interface" ] || fail "this script is for ${hosts[machine]} ($own), and this machine has" \
        "$(list_addresses): start the script of this machine here"
}

# A host name of Debian stands for 127.0.1.1 on its own machine: the address is the one by which a peer is reached.
resolve_loopbacks() {
    local index other
    for index in "${!hosts[@]}"; do
        if [ "$index" -ne "$machine" ] && is_loopback "${addresses[index]}"; then
            fail "${hosts[index]} is ${addresses[index]} on this machine, which is each machine's own address:" \
                "render with addresses, or mend /etc/hosts"
        fi
    done
    if is_loopback "$own"; then
        other=$((machine == 0 ? 1 : 0))
        own=$(ip -4 route get "${addresses[other]}" |
            awk '{ for (i = 1; i < NF; i++) if ($i == "src") print $(i + 1) }')
        [ -n "$own" ] || fail "${hosts[other]} (${addresses[other]}) cannot be reached from here: there is no route"
        addresses[machine]=$own
    fi
    for index in "${!hosts[@]}"; do
        if [ "$index" -ne "$machine" ] && [ "${addresses[index]}" = "$own" ]; then
            fail "${hosts[index]} and ${hosts[machine]} are the same address, $own: two machines are wanted"
        fi
    done
}

is_loopback() {
    case $1 in 127.*) return 0 ;; esac
    return 1
}

find_interface() {
    ip -4 -o address show | awk -v own="$1" '
        { split($4, parts, "/") }
        parts[1] == own { sub(/@.*/, "", $2); print $2; exit }'
}

list_addresses() {
    ip -4 -o address show scope global | awk '
        { split($4, parts, "/"); printf "%s%s", separator, parts[1]; separator = ", " }'
}
"""

CHECKS = r"""
# ---- checks: every sentence at once, on standard error

fail() {
    echo "$me: $*" >&2
    exit 2
}

wrong=0
complain() {
    echo "$me: $*" >&2
    wrong=1
}

# The port is taken if somebody on this machine listens at it, at any address.
check_port() {
    local hexadecimal holder
    hexadecimal=$(printf '%04X' "$1")
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port=":$hexadecimal" '
        $4 == "0A" && substr($2, length($2) - 4) == port { found = 1 }
        END { exit !found }' || return 0
    holder=$(ss -Hltnp "sport = :$1" 2>/dev/null |
        sed -n '1s/.*users:((\("[^"]*"\),pid=\([0-9]*\).*/ by \1, pid \2/p') || holder=''
    complain "port $1, which $2 needs, is taken$holder: end that program, or render with another --port"
}

check_asked() {
    local entry name
    for entry in "${asked[@]+"${asked[@]}"}"; do
        name=${entry%%=*}
        if ! printenv "$name" >/dev/null; then
            complain "$name is not set: the cluster has it in ${entry#*=}; type \`export $name=...\`"
        fi
    done
}

check_machine() {
    local rank port
    resolve
    for rank in "${own_ranks[@]}"; do
        load "$rank"
        check_asked
        check_rank "$rank"
        if ! is_running "$rank"; then
            for port in "${listens[@]+"${listens[@]}"}"; do
                check_port "$port" "$rank"
            done
        fi
    done
    [ "$wrong" -eq 0 ] || exit 2
}
"""

COMMANDS = r"""
# ---- commands

usage() {
    cat <<END
bash $me COMMAND

  check            what this machine lacks for ${own_ranks[*]}
  start            start ${own_ranks[*]} in the background
  status           how they are
  logs [RANK] [-f] what a rank printed
  stop             end them
  command [N]      the command line of machine N, or of all other machines
  run RANK         run one rank in the foreground; the end of the input stops it
END
}

start_all() {
    local rank
    for rank in "${own_ranks[@]}"; do
        if is_running "$rank"; then
            fail "$rank runs already: \`bash $me stop\` ends it"
        fi
    done
    check_machine
    for rank in "${own_ranks[@]}"; do
        load "$rank"
        start_rank "$rank"
        echo "$rank is started; its log is $(name_log "$rank")"
    done
    if [ "$machine" -eq 0 ] && [ "${#hosts[@]}" -gt 1 ]; then
        echo
        echo "Copy the following command to other nodes to run."
        show_commands
    fi
}

show_commands() {
    local index rank
    for index in "${!hosts[@]}"; do
        if [ -n "${1:-}" ] && [ "$1" != "$index" ]; then continue; fi
        if [ -z "${1:-}" ] && [ "$index" -eq "$machine" ]; then continue; fi
        for rank in "${ranks[@]}"; do
            if [ "$(find_machine "$rank")" -eq "$index" ]; then
                echo "--------------------------------------------------------------------------------"
                echo "# ${hosts[index]}: $rank"
                show_command "$rank" "$index"
            fi
        done
    done
    echo "--------------------------------------------------------------------------------"
}

show_status() {
    local rank code result=0 is_started=0
    for rank in "${own_ranks[@]}"; do
        if is_running "$rank"; then
            is_started=1
            printf '%-12s running  %s\n' "$rank" "$(describe_running "$rank")"
        elif code=$(read_code "$rank"); then
            is_started=1
            printf '%-12s ended    exit code %s\n' "$rank" "$code"
            if [ "$code" != 0 ]; then result=1; fi
        else
            printf '%-12s not started\n' "$rank"
        fi
    done
    if [ "$is_started" -eq 0 ]; then exit 3; fi
    exit "$result"
}

show_logs() {
    local rank='' follow='' word
    for word in "$@"; do
        case $word in
        -f) follow=-f ;;
        *) rank=$word ;;
        esac
    done
    rank=${rank:-${own_ranks[0]}}
    check_name "$rank"
    print_log "$rank" "$follow"
}

# For a program that starts ranks from afar: one session for each rank. Its last line tells the exit code, as the
# session's own may be of another program.
run_rank() {
    local rank=$1 line follower code
    check_name "$rank"
    if is_running "$rank"; then
        fail "$rank runs already: \`bash $me stop\` ends it"
    fi
    resolve
    load "$rank"
    trap 'stop_rank "$rank"' TERM HUP INT
    start_rank "$rank"
    print_log "$rank" -f &
    follower=$!
    while is_running "$rank"; do
        if read -r -t 0.5 line; then
            : "$line"
        elif [ $? -le 128 ]; then
            stop_rank "$rank"
        fi
    done
    wait "$follower" || true
    code=$(read_code "$rank") || code=137
    echo "paddock-end $rank $code"
}

check_name() {
    local each
    for each in "${own_ranks[@]}"; do
        if [ "$each" = "$1" ]; then return 0; fi
    done
    fail "$1 does not run on this machine, which has ${own_ranks[*]}"
}

# The ranks of this machine.
own_ranks=()
for each in "${ranks[@]}"; do
    if [ "$(find_machine "$each")" -eq "$machine" ]; then own_ranks+=("$each"); fi
done

case ${1:-} in
check) check_machine; show_versions ;;
start) start_all ;;
status) show_status ;;
logs) shift; show_logs "$@" ;;
stop) stop_all ;;
command) resolve; show_commands "${2:-}" ;;
run) run_rank "${2:?a rank is wanted}" ;;
-h | --help | help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
"""
