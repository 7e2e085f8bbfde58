"""What is read of a script is what bash starts: a real one runs the same scripts, and its programs tell their words."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from paddock.launches.launch import Launch
from paddock.launches.reading import read_script
from paddock.launches.words import Word
from support.tiers import keep_light

BASH = shutil.which("bash") or ""
PROGRAMS = ("torchrun", "python", "python3", "train", "ssh", "cat", "accelerate")
TOLD = ("A", "B", "N", "CUDA_VISIBLE_DEVICES")
SCRIPTS = [
    "torchrun --nproc_per_node 2 train.py",
    "A=1 B='x y' torchrun train.py --name=\"$A\"",
    "A=1; torchrun $A ${A} \"$A\" '$A' \\$A a'b'\"c\"\\ d",
    "export A=1 B; B=2; torchrun $A$B",
    "A='--lr 0.1  --name x'; torchrun $A; torchrun \"$A\"; torchrun pre$A$A",
    'A=; torchrun $A "$A" x; torchrun ${A:-d} ${A-d} "${A:-e f}" ${B:-\'g h\'} ${B-i j}',
    'A=(a \'b c\' d); torchrun "${A[@]}" ${A[1]} "${A[1]}" $A x"${A[@]}"y; A+=(e); torchrun ${A[@]}',
    "A=1; A+=2; torchrun $A",
    "A=old\nif true; then torchrun yes; else torchrun yes; fi | cat",
    "torchrun a > out.log 2>&1; torchrun b 2>/dev/null >x c; torchrun d | cat - e",
    "torchrun a &\ntorchrun b\nwait",
    'f() { torchrun "$@" $1 $#; }; torchrun x',
    'f() { torchrun "$@" "$1"; }; f \'a b\' c; function g { shift; torchrun "$@"; }; g 1 2 3',
    'set -- a \'b c\'; torchrun "$@" "$2"; shift; torchrun $*',
    "set -euo pipefail\ntorchrun x",
    'CMD=\'torchrun --n 2 "a b"\'; eval $CMD; eval "$CMD"; $CMD',
    'bash -c \'torchrun "$0" "$1"\' zero one',
    "A=1; bash -c \"torchrun $A \\$A\"; export A; sh -ec 'torchrun $A'",
    "cat <<END > f\n$A 'x'\nEND\ntorchrun x",
    "python - <<END\nprint(1)\nEND",
    "python - <<'END' | cat\nprint($A)\nEND\ntorchrun x",
    "torchrun \\\n  --a 1 \\\n  --b 2 # why\n# torchrun no\ntorchrun y",
    "cd /tmp && torchrun x || torchrun y",
    "(A=1; torchrun $A); A=2; { torchrun $A; }",
    "case x in x) torchrun a;; esac; torchrun b",
    "for i in 1; do torchrun x; done; torchrun y",
    "exec torchrun a\ntorchrun never",
    "torchrun a; exit 0; torchrun never",
    "[ 1 = 2 ] && exit 1\ntorchrun x",
    "declare -x A=5; local_a=1; torchrun $A $local_a",
    "unset A; torchrun ${A:-none} ${A-none}",
    "A=$'a\\tb'; torchrun \"$A\" $'x\\ny'",
    "torchrun --a={1,2} x{y}z 2>&1",
    'torchrun "a\\"b" \'c"d\' "e\\\\f" "g\\h" i\\j',
    'torchrun é 中文 "中 文"',
    "torchrun '' \"\" x",
    "A=1 ; torchrun a$A'b'$A\"c$A\"",
    "torchrun a;torchrun b&&torchrun c",
    "if [ 1 = 1 ]; then A=1; fi; torchrun x",
    "A=x; A=y torchrun $A",
    "python3 -c 'import sys; print(\"a b\")' x",
    "accelerate launch --num_processes 2 \\\n\tt.py\n",
    "env A=3 torchrun x",
    'A=(a b); A=("${A[@]}" \'c d\'); N=${#A[@]}; torchrun "${A[@]}" --n $N',
    'while read A; do torchrun "$A"; done < /dev/null\ntorchrun y',
    'A=$(echo x y); torchrun $A "$A"',
    "A=`echo x`; torchrun pre-$A",
    "M=`echo x`; bash -c \"torchrun --master '$M' --d \\\"$M\\\" --e 'a $M b' t.py # it's $M\ntorchrun '$M'\"",
    "N=2; test -f /nowhere && N=1; torchrun --nnodes $N t.py",
    "N=2; test -d / && N=1 && export M=3; torchrun --nnodes $N $M t.py",
    'N=1; eval "$(echo N=3)"; torchrun --nnodes $N t.py',
    "N=1; export $(echo N=4); torchrun --nnodes $N t.py",
    'K=N; N=1; export "$K=7"; torchrun --nnodes $N t.py',
    "for ((i=0;i<2;i++)); do torchrun $i$i; done; torchrun $i",
    "p=1; : $((p+=2)); torchrun $p; torchrun $((p++)) $((--p)); torchrun $p",
    "IFS=,; A=1,2; torchrun $A",
    "A='a[b]* c'; torchrun $A \"$A\" x[1,2] --y=['p','q'] what?",
    "i=0; until [ $i = 1 ]; do let i++; torchrun $i; done; torchrun $i",
    "env -u HOME X=$UNSET torchrun t.py",
    "A=( --lr 1 # note\n# whole line\n --b 2 #\n'#' a#b \\# c )\ntorchrun t.py \"${A[@]}\"",
    "torchrun --nnodes=`echo 2` `echo a.py` `echo b` --lr=1 `echo c`",
    "N=2; torchrun --n $((N+1)) $[1+1]",
    "function run_it() {\n  local A=7\n  torchrun --a $A $@\n}\nrun_it x y",
    "trap 'echo bye' EXIT; torchrun x",
    "A=${1:-def}; torchrun $A",
    "torchrun <<< 'some text' x",
    "cat > f.sh <<'END'\ntorchrun inner $1\nEND\nbash f.sh a",
    "A='a;b'; torchrun \"$A\" 'c|d' e\\;f",
    "torchrun x | torchrun y 2>&1 | cat",
    "{ torchrun a; torchrun b; } > log 2>&1",
    "until true; do torchrun no; done; torchrun x",
    'test -z "$N" && A=1 || A=2\ntorchrun $A',
    'if [ -z "$N" ]; then A=1; B=3; else A=2; B=3; fi\ntorchrun $A $B',
    "export CUDA_VISIBLE_DEVICES=0,1\nunset CUDA_VISIBLE_DEVICES\ntorchrun x",
    "A=~; torchrun ~/x a~b",
    "torchrun *.none x?y",
    'A=x\ntorchrun "${A%%x}" ${A/x/y} ${A^^}',
    "time torchrun x; ! torchrun y",
    "source /dev/null; . /dev/null; torchrun x",
    "torchrun a # comment ' with quote\ntorchrun b",
    "A=1 # note\ntorchrun $A#b '#c'",
    "nohup torchrun x > /dev/null 2>&1 &\nwait",
    'A=1; B=2; torchrun "$A $B" "x $A ${B} y"',
    "N=7; A=$((2*N - 3)); torchrun $A $((A / 2)) $((-A / 2)) $((A % 4)) $(( (1+N)*2 ))",
    "A=/data/models/net.v1.pt; torchrun ${A##*/} ${A#*/} ${A%.*} ${A%%.*} ${A%/*} ${A%x} ${A##*[0-9]}",
    'A=a/b.py; torchrun $(basename $A .py) $(dirname $A) "$(dirname a)" $(dirname /x/) $(basename a/) `basename $A`',
    "torchrun $(dirname a b) $(basename -s .py a.py) $(dirname a; echo x)",
    "torchrun <path>\ntorchrun y",
    "exec 3>&1\nexec > log 2>&1\ntorchrun x",
    "f() { if true; then return 0; else return 1; fi; }; f; torchrun x",
    "A=1; printf -v A '%s:%s' x 8000; torchrun $A; printf 'y\n' > in; read -r A < in; torchrun $A",
    'A=1; mapfile -t A < /dev/null; torchrun "${A[@]}"; N=1; let N=N+1; torchrun $N; ((N++)); torchrun $N',
    "unset A; : ${A:=y}; torchrun $A; A=; : ${A:=z} ${B=q}; torchrun $A $B; : ${A:=w}; torchrun $A",
    "N=4; f() { local N=1; torchrun $N; }; f; torchrun $N; g() { N=5; declare B=2; torchrun $N$B; }; g; torchrun $N$B",
    "N=1; f() { torchrun $N; }; N=2 f; torchrun $N; f",
    "f() { shift; torchrun $1; }; set -- a b c; f x y; torchrun $1; shift 2; torchrun $1 $#",
    'set -- --n 2 train.py; while [ "$1" != train.py ]; do N=$2; shift 2; done; torchrun --nnodes $N "$@"',
    "set -- a b; [ 1 = 1 ] && shift; torchrun $1; if [ 1 = 2 ]; then shift; fi; torchrun $1",
    'set -- 4 a b; torchrun "${@:2}" ${@:2:1}; A=(x y z); torchrun "${A[@]:1}" "${A[@]/%/.py}" ${#A[@]} "${A[@]: -1}"',
    "X='p q'; A=($X a b); torchrun ${A[1]}; Y=; A=($Y a); torchrun ${A[0]}; A=($(echo 1 2) c); torchrun ${A[1]}",
    "i=0; n() { i=$((i+1)); }; for x in 1 2; do torchrun --rank $i; n; done; torchrun $i",
    "for ((i=0; i<2; i++)); do torchrun $i; done; i=0; while [ $i -lt 2 ]; do torchrun $i; ((i+=1)); done",
    "mkdir -p b; pushd b > /dev/null; torchrun x; popd > /dev/null; torchrun y",
    "torchrun $(realpath --relative-to=/a /a/b) $(basename -a x/y z/w) $'\\x41.py' $'\\101\\u00e9\\'q'",
    "set -o allexport; A=1; set +o allexport; B=2; torchrun $A",
    "declare -n R=A; R=5; torchrun $A; typeset -i N=1+1; torchrun $N",
    "for N in 0 1; do\nbash -s x <<END &\ntorchrun $N\nEND\ndone\nwait\ntorchrun y",
    "bash <<'END' && torchrun z\ntorchrun $N\nEND",
]
PLACES = [
    'cd "$(dirname "$0")" && torchrun "$PWD" $(pwd) "$0"',
    'DIR="$( cd "$( dirname "${BASH_SOURCE[0]}" )" >/dev/null 2>&1 && pwd )"\ncd "$DIR/.."; torchrun "$DIR/train.py"',
    'torchrun ${0%/*}/train.py "$(realpath "$0")" "$(readlink -f -- "$0")" $(realpath .)',
    "cd ${BASH_SOURCE%/*}; torchrun $(basename $0) $BASH_SOURCE ${BASH_SOURCE[0]}",
    'HERE=$(dirname "$(readlink -f "$0")"); bash -c "torchrun $HERE $0"',
    "cd ..; torchrun $PWD; cd /tmp; torchrun $PWD",
    "pushd sub > /dev/null; torchrun $PWD; pushd /tmp > log; torchrun $PWD; popd > log; popd; torchrun $PWD",
    "echo 'torchrun $0 $BASH_SOURCE $(dirname $0)' > other.sh; bash other.sh; . ./other.sh",
]
"""Run as `bash sub/run.sh`."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with programs that write their words and some variables, a line each."""
    place = tmp_path_factory.mktemp("programs")
    for name in PROGRAMS:
        file = place / name
        file.write_text(
            f"#!{sys.executable}\nimport json, os, sys\n"
            "line = [os.path.basename(sys.argv[0]), *sys.argv[1:]]\n"
            f"found = {{name: os.environ[name] for name in {TOLD!r} if name in os.environ}}\n"
            "with open(os.environ['LOG'], 'a') as log: log.write(json.dumps([line, found]) + '\\n')\n"
        )
        file.chmod(0o755)
    return place


def run(script: str, programs: Path, place: Path) -> list[tuple[list[str], dict[str, str]]]:
    log = place / "log"
    log.touch()
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "LOG": str(log), "LC_ALL": "C.UTF-8"}
    subprocess.run([BASH, "-c", script], env=environment, cwd=place, check=False, timeout=20, stdin=subprocess.DEVNULL)
    return [(words, found) for words, found in map(json.loads, log.read_text().splitlines())]


def build_pattern(words: Sequence[Word]) -> str:
    """The words that these may become, each ended by a NUL."""
    return "".join(rf"(?:{_pattern(word)}\x00)*" if word.splits else rf"{_pattern(word)}\x00" for word in words)


def _pattern(word: Word) -> str:
    anything = ".*" if word.splits else r"[^\x00]*"
    return "".join(re.escape(piece) if isinstance(piece, str) else anything for piece in word.pieces)


def fits(launch: Launch, words: Sequence[str], variables: Mapping[str, str]) -> bool:
    told = {name: launch.environment[name].text for name in TOLD if name in launch.environment}
    same = all(value is None or variables.get(name) == value for name, value in told.items())
    return same and re.fullmatch(build_pattern(launch.words), "".join(f"{word}\x00" for word in words)) is not None


@pytest.mark.skipif(not BASH, reason="there is no bash")
@pytest.mark.parametrize("script", keep_light(SCRIPTS, SCRIPTS[::3]))
def test_what_is_read_is_what_bash_starts(script: str, programs: Path, tmp_path: Path) -> None:
    """Each program that bash has started was read, with its words and variables as far as they are known; and each that
    was read was started, unless a condition decides."""
    started = run(script, programs, tmp_path)
    read = [each for each in read_script(script).launches if each.words and each.words[0].text in PROGRAMS]
    assert not [each for each in started if not any(fits(launch, *each) for launch in read)], read
    sure = [launch for launch in read if not launch.command.may_run]
    assert not [launch for launch in sure if not any(fits(launch, *each) for each in started)], started


@pytest.mark.skipif(not BASH, reason="there is no bash")
@pytest.mark.parametrize("script", keep_light(PLACES, PLACES[::3]))
def test_where_a_script_stands_is_what_bash_says(script: str, programs: Path, tmp_path: Path) -> None:
    """All of it is known."""
    place = tmp_path.resolve() / "w"
    (place / "sub").mkdir(parents=True)
    (place / "sub" / "run.sh").write_text(script)
    started = run("bash sub/run.sh", programs, place)
    reading = read_script(
        script,
        read_file=lambda path: (place / path).read_text() if (place / path).is_file() else None,
        name="sub/run.sh",
        start=str(place),
    )
    read = [each for each in reading.launches if each.words[0].text in PROGRAMS]
    assert [[word.text for word in each.words] for each in read] == [words for words, _ in started]
