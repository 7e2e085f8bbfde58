"""The part of a script that a user types. Text of bash, the same in each script."""

COMMANDS = r"""
# ---- what is typed ----

usage="bash $script_name COMMAND
  check             what this machine lacks
  start             check, then start its ranks in the background: ${ranks[*]}
  status            which ranks run, and how the others ended
  logs [RANK] [-f]  what the ranks wrote; -f goes on with what they write
  stop              end its ranks
  command [N]       the commands of the other machines, or of machine N, as one line for each rank
  run RANK          one rank in the foreground; it ends with the standard input"

check_machine() {
    local rank
    told='' wrong=0
    find_addresses
    for rank in "$@"; do check_rank "$rank"; done
    if ((wrong)); then exit 2; fi
}

start() {
    local rank
    check_machine "${ranks[@]}"
    for rank in "${ranks[@]}"; do
        launch "$rank"
        printf '%s  started  pid %s  log %s\n' "$rank" "$child" "$logs/$rank.log"
    done
    if ((index == 0 && ${#hosts[@]} > 1)); then
        printf '\n%s\n' 'Copy the following command to other nodes to run.'
        print_commands
    fi
}

# One line for each rank of a machine, or of all the others.
print_commands() {
    local wanted=${1:-} rank line='--------------------------------------------------------------------------------'
    printf '%s\n' "$line"
    for rank in "${all_ranks[@]}"; do
        read_rank "$rank"
        if [[ $host == "$wanted" || (-z $wanted && $host != "$index") ]]; then
            printf '# %s, on %s:\n' "$rank" "${hosts[host]}"
            print_command
        fi
    done
    printf '%s\n' "$line"
}

# The command of the rank that was read, for a shell of its machine.
print_command() {
    local each name place text=''
    if [[ -n $directory ]]; then printf -v text 'cd %q && ' "$directory"; fi
    text+='env'
    for each in "${stray[@]}"; do text+=" -u $each"; done
    for each in "${variables[@]}"; do
        name=${each%%=*}
        if [[ " ${hidden[*]+"${hidden[*]}"} " == *" $name "* ]]; then
            text+=" $name=\"\${$name:?}\"" # of a Secret: it is not printed
        elif [[ $each == "GLOO_SOCKET_IFNAME=$interface" ]]; then
            text+=" GLOO_SOCKET_IFNAME=\"\$(ip -4 -o address show to ${addresses[host]}/32 | awk '{print \$2}')\""
        elif [[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]]; then
            printf -v each ' %s=%q' "$name" "${each#*=}"
            text+=$each
        else
            printf -v each ' %q' "$each"
            text+=$each
        fi
    done
    for ((place = 0; place < ${#asked[@]}; place += 2)); do
        name=${asked[place]}
        if [[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]]; then text+=" $name=\"\${$name:?}\""; fi
    done
    printf -v each ' %q' "${program[@]}"
    printf '%s\n' "$text$each"
}

command_of() {
    local place wanted=''
    wrong=0
    find_addresses
    if ((wrong)); then exit 2; fi
    if (($#)); then
        for place in "${!hosts[@]}"; do
            if [[ $1 == "$place" || $1 == "${hosts[place]}" ]]; then wanted=$place; fi
        done
        if [[ -z $wanted ]]; then refuse "there is no machine $1: 0 to $((${#hosts[@]} - 1)) are ${hosts[*]}"; fi
    fi
    print_commands "$wanted"
}

status() {
    local rank code answer=0 any=0
    for rank in "${ranks[@]}"; do
        if read_process "$rank"; then
            printf '%s  running  pid %s\n' "$rank" "$child"
        elif [[ -f $logs/$rank.exit ]]; then
            read -r code <"$logs/$rank.exit"
            printf '%s  ended  exit code %s\n' "$rank" "$code"
            if ((code)); then answer=1; fi
        elif [[ -f $logs/$rank.pid ]]; then
            printf '%s  ended  exit code unknown: the machine or its parent process ended first\n' "$rank"
            answer=1
        else
            printf '%s  not started\n' "$rank"
            continue
        fi
        any=1
    done
    if ((!any)); then answer=3; fi
    return "$answer"
}

stop() {
    local rank running=()
    for rank in "${ranks[@]}"; do
        if read_process "$rank"; then running+=("$rank"); fi
    done
    if ((${#running[@]} == 0)); then
        printf '%s\n' "no rank of $job runs on this machine"
        return 0
    fi
    stop_ranks "${running[@]}"
    printf '%s  stopped\n' "${running[@]}"
}

logs_of() {
    local rank each follow='' wanted=() files=()
    for each in "$@"; do
        if [[ $each == -f ]]; then
            follow=-F
        else
            check_name "$each"
            wanted+=("$each")
        fi
    done
    if ((${#wanted[@]} == 0)); then wanted=("${ranks[@]}"); fi
    for rank in "${wanted[@]}"; do
        if [[ -f $logs/$rank.log ]]; then files+=("$logs/$rank.log"); fi
    done
    if ((${#files[@]} == 0)); then
        printf '%s\n' "there are no logs in $logs: nothing was started" >&2
        exit 3
    fi
    tail -n +1 ${follow:+"$follow"} -- "${files[@]}"
}

# In the foreground: what the rank writes, then how it ended. The end of the input and each signal stop it.
run_rank() {
    local rank=$1 reader follower code=unknown
    stopped=''
    check_machine "$rank" >&2
    trap 'stopped=1; stop_ranks "$rank" || true' TERM HUP INT
    launch "$rank"
    if [[ -n $stopped ]]; then stop_ranks "$rank" || true; fi
    {
        trap - TERM HUP INT
        while read -r _; do :; done
        kill -s TERM "$$"
    } <&0 >/dev/null 2>&1 &
    reader=$!
    tail -n +1 -s 0.1 --pid="$keeper" -f -- "$logs/$rank.log" &
    follower=$!
    while kill -0 "$follower" 2>/dev/null; do wait "$follower" || true; done
    # Nobody reads any more, if it still runs.
    if read_process "$rank"; then stop_ranks "$rank" || true; fi
    kill "$reader" 2>/dev/null || true
    if [[ -f $logs/$rank.exit ]]; then read -r code <"$logs/$rank.exit"; fi
    if [[ -n $(tail -c 1 -- "$logs/$rank.log" | tr '\n' ' ' | tr -d ' ') ]]; then printf '\n'; fi
    printf 'paddock-end %s %s\n' "$rank" "$code"
    [[ $code == 0 ]]
}

check_name() {
    local rank
    for rank in "${ranks[@]}"; do
        if [[ $rank == "$1" ]]; then return 0; fi
    done
    refuse "there is no rank $1 on this machine: it has ${ranks[*]}"
}

# Refuses more words than a command takes.
take() {
    local most=$1
    shift
    if (($# > most)); then refuse "$usage"; fi
}

main() {
    local command=${1:-}
    if (($#)); then shift; fi
    case $command in
    check)
        take 0 "$@"
        check_machine "${ranks[@]}"
        ;;
    start)
        take 0 "$@"
        start
        ;;
    status)
        take 0 "$@"
        status
        ;;
    stop)
        take 0 "$@"
        stop
        ;;
    logs) logs_of "$@" ;;
    command)
        take 1 "$@"
        command_of "$@"
        ;;
    run)
        if (($# != 1)); then refuse "$usage"; fi
        check_name "$1"
        run_rank "$1"
        ;;
    help | -h | --help) printf '%s\n' "$usage" ;;
    *) refuse "$usage" ;;
    esac
}

main "$@"
exit
"""
