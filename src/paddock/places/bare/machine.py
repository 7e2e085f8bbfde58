"""The part of a script that looks at its machine: addresses, ports, programs. Text of bash, the same in each script.

PaddlePaddle's rendezvous opens at rank 0 only where it is told an address of that machine, and gloo connects to what
the own host name resolves to, which Debian makes 127.0.1.1. So each name is resolved here, to one IPv4 address, and a
rank is told its address (POD_IP) and its interface (GLOO_SOCKET_IFNAME): facts of 3.0.0 and 3.3.1.
"""

NETWORK = r"""
# ---- the machines: names become addresses, and this machine finds its own one ----

PATH=$PATH:/usr/sbin:/sbin # ip is there on some machines
HOSTNAME=$(uname -n) # an exported one may be that of another machine
addresses=() # of each machine of hosts
interface='' # the network interface of this machine that has its address
wrong=0

complain() {
    wrong=1
    printf '%s\n' "$*" >&2
}

refuse() {
    printf '%s\n' "$*" >&2
    exit 2
}

# Lines of an address and its interface.
list_addresses() {
    local address name python
    if type -P ip >/dev/null; then
        while read -r _ name _ address _; do
            printf '%s %s\n' "${address%%/*}" "${name%@*}"
        done < <(ip -4 -o address)
    elif python=$(type -P python3 || type -P python); then
        "$python" -c '
import array, fcntl, socket, struct
found = array.array("B", bytes(65536))
room = struct.pack("iL", len(found), found.buffer_info()[0])
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
size = struct.unpack("iL", fcntl.ioctl(probe, 0x8912, room))[0]  # SIOCGIFCONF
entries = found.tobytes()[:size]
for each in (entries[place:place + 40] for place in range(0, size, 40)):
    print(socket.inet_ntoa(each[20:24]), each[:16].split(b"\0")[0].decode())
'
    else
        refuse "the addresses of this machine cannot be read: install ip (package iproute2 or iproute), or Python"
    fi
}

# The IPv4 address of a name; one that is not of loopback, where it has one. Nothing where it does not resolve.
resolve() {
    local found='' address
    while read -r address _; do
        if [[ -z $found || $found == 127.* ]]; then found=$address; fi
    done < <(getent ahostsv4 "$1" || true)
    printf '%s' "$found"
}

# The address of this machine on the way to another one.
find_source() {
    local word before='' python
    if type -P ip >/dev/null; then
        for word in $(ip -4 -o route get "$1" 2>/dev/null || true); do
            if [[ $before == src ]]; then printf '%s' "$word"; fi
            before=$word
        done
    elif python=$(type -P python3 || type -P python); then
        "$python" -c '
import socket, sys
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
probe.connect((sys.argv[1], 9))
print(probe.getsockname()[0])
' "$1" 2>/dev/null || true
    fi
}

"""

_FIND = r"""
# Fills addresses and interface, and complains of what is wrong.
find_addresses() {
    local address name place other='' own here=''
    local -A interfaces=() seen=()
    while read -r address name; do
        interfaces[$address]=$name
        if [[ $address != 127.* ]]; then here="${here:+$here, }$address"; fi
    done < <(list_addresses)
    for place in "${!hosts[@]}"; do
        address=$(resolve "${hosts[place]}")
        addresses[place]=$address
        if ((place != index)) && [[ -n $address && $address != 127.* && -z $other ]]; then other=$address; fi
    done
    own=${addresses[index]}
    if [[ $own == 127.* ]] && ((${#hosts[@]} == 1)); then
        addresses[index]=127.0.0.1
    elif [[ $own == 127.* && -n $other ]]; then
        # Debian has 127.0.1.1 for the own name in /etc/hosts.
        addresses[index]=$(find_source "$other")
    fi
    own=${addresses[index]}
    interface=${interfaces[${own:-none}]:-}
    for place in "${!hosts[@]}"; do
        name=${hosts[place]}
        address=${addresses[place]}
        if [[ -z $address ]]; then
            complain "$name (machine $place) does not resolve on this machine, $HOSTNAME:" \
                "write it into /etc/hosts, or name the machines by their addresses (--hosts)"
        elif [[ $address == 127.* ]] && ((${#hosts[@]} > 1)); then
            complain "$name (machine $place) resolves to $address on this machine, $HOSTNAME," \
                "which is each machine's own address: name the machines by their addresses (--hosts)"
        elif [[ -n ${seen[$address]:-} ]]; then
            complain "${seen[$address]} and $name are one machine, $address: each machine is named once (--hosts)"
        elif ((place == index)) && [[ -z $interface ]]; then
            if [[ $name != "$own" ]]; then name="$name ($own)"; fi
            complain "this script is for $name, and this machine, $HOSTNAME, has ${here:-no address}:" \
                "take the script of this machine, or the right address (--hosts)"
        fi
        seen[${address:-none of $place}]=$name
    done
}
"""

ADDRESSES = NETWORK + _FIND

CHECKS = r"""
# ---- what a rank needs on this machine ----

# The directory where the program of the rank starts, which read_rank has read.
find_directory() {
    printf '%s' "${PADDOCK_DIRECTORY:-${directory:-$script_directory}}"
}

# Becomes a program, with the environment of the rank that read_rank has read: for a subshell.
become() {
    local name stray_options=()
    for name in "${stray[@]}"; do stray_options+=(-u "$name"); done
    exec env "${stray_options[@]}" "${variables[@]}" "$@"
}

check_rank() {
    local rank=$1 place
    read_rank "$rank"
    place=$(find_directory)
    if read_process "$rank"; then
        complain "$rank runs already, pid $child: bash ${script_name} stop ends it"
        return
    fi
    if [[ ! -d $place || ! -w $place ]]; then
        complain "$rank: $place is no directory of this machine in which files can be written:" \
            "make it, or name another one: export PADDOCK_DIRECTORY=…"
        return
    fi
    check_values "$rank"
    check_own_name "$rank"
    check_ports "$rank"
    if declare -F check_container >/dev/null; then
        check_container "$rank"
    else
        check_program "$rank" "$place"
    fi
}

# Values of Secrets and ConfigMaps that are not in the file: each is said once.
check_values() {
    local name source place
    for ((place = 0; place < ${#asked[@]}; place += 2)); do
        name=${asked[place]} source=${asked[place + 1]}
        if [[ $told == *"<$name>"* ]] || printenv "$name" >/dev/null; then continue; fi
        told+="<$name>"
        if [[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]]; then
            complain "$name is not set: the cluster has it in $source; export $name=… before the start"
        else
            complain "$name is not set: the cluster has it in $source; no shell can have this name, so start with" \
                "env '$name=…' bash $script_name start"
        fi
    done
}

# In PS mode gloo takes what the own host name stands for, and no variable changes that (3.0.0).
check_own_name() {
    local rank=$1 each gloo=0 servers=0 named
    for each in "${variables[@]}"; do
        case $each in
        PADDLE_WITH_GLOO=[1-9]*) gloo=1 ;;
        PADDLE_PSERVERS_IP_PORT_LIST=*) servers=1 ;;
        esac
    done
    if ((!gloo || !servers || ${#hosts[@]} == 1)); then return 0; fi
    named=$(resolve "$HOSTNAME")
    if [[ -z $named || $named == 127.* ]]; then
        complain "$rank: the name of this machine, $HOSTNAME, stands for ${named:-nothing}, and with withGloo" \
            "PaddlePaddle tells its peers that address: write \"${addresses[index]} $HOSTNAME\" into /etc/hosts here," \
            "or withGloo: 0 into the manifest"
    fi
}

check_ports() {
    local rank=$1 port hex local_address state holder
    for port in ${ports[@]+"${ports[@]}"}; do
        printf -v hex '%04X' "$port"
        while read -r _ local_address _ state _; do
            # 0A: it listens
            if [[ $state != 0A || ${local_address##*:} != "$hex" ]]; then continue; fi
            holder='a program'
            if [[ $(ss -Hltnp "sport = :$port" 2>/dev/null) =~ \(\(\"([^\"]+)\",pid=([0-9]+) ]]; then
                holder="${BASH_REMATCH[1]}, pid ${BASH_REMATCH[2]},"
            fi
            complain "$rank: port $port of this machine is taken: $holder listens there; end it, or render with" \
                "another --port"
            break
        done < <(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    done
}

# The program, its script, and the framework's version for that Python.
check_program() {
    local rank=$1 place=$2 path=$PATH each found python file answer version
    for each in "${variables[@]}"; do
        if [[ $each == PATH=* ]]; then path=${each#PATH=}; fi
    done
    found=$(cd "$place" && PATH=$path type -P -- "${program[0]}" || true)
    if [[ -z $found ]]; then
        complain "$rank: there is no program ${program[0]} on this machine: it is looked for in ${path}"
        return
    fi
    file=$script
    if [[ -n $file && $file != /* ]]; then file=$place/$file; fi
    if [[ -n $file && ! -f $file ]]; then
        complain "$rank: there is no file $file on this machine: copy the program there, or start in another" \
            "directory: export PADDOCK_DIRECTORY=…"
    fi
    case ${program[0]##*/} in
    python*) python=${program[0]} ;;
    torchrun | fleetrun) python=${found%/*}/python ;;
    *) return 0 ;;
    esac
    if [[ $python == /* && ! -x $python ]]; then return 0; fi # it is elsewhere, where nobody tells
    if [[ $told == *"<$place $python $module>"* ]]; then return 0; fi
    told+="<$place $python $module>"
    if ! answer=$(cd "$place" && become "$python" -c "$question" "$module" "${packages[@]}" 2>/dev/null); then
        complain "$rank: $python does not run on this machine ($found)"
        return
    fi
    version=${answer#*$'\n'}
    if [[ $version != missing ]]; then
        printf '%s\n' "$answer"
    elif ((launched)) || grep -Eqs "^[[:space:]]*(import|from)[[:space:]]+$module\\b" -- "$file"; then
        complain "$rank: $found has no module $module: install ${packages[0]} for it, or put the right Python first" \
            "in PATH"
    else
        printf '%s\n' "${answer%%$'\n'*}"
    fi
}

# Two lines: the version of Python, and that of the framework, or "missing". One where there is no framework.
question='
import importlib.util, platform, sys
print("python " + platform.python_version())
module, packages = sys.argv[1], sys.argv[2:]
if not module:
    sys.exit()
if importlib.util.find_spec(module) is None:
    print("missing")
    sys.exit()
found = "of an unknown version"
try:
    from importlib.metadata import PackageNotFoundError, version
except ImportError:
    packages = []
for package in packages:
    try:
        found = version(package)
        break
    except PackageNotFoundError:
        pass
print(module + " " + found)
'
"""
