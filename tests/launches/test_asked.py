"""Which variables a command reads that come from outside: by name, before anything in it has set them."""

from __future__ import annotations

import pytest

from paddock.launches.reading import read_script, read_typed
from support.steps import count_steps

ROWS = [
    ('python t.py $LR ${N:-3} "$Q"', "LR N Q"),
    ("LR=1; echo $LR", ""),
    ("LR=$LR python t.py", "LR"),
    ("A+=:more", "A"),
    (": ${LR:=1}; echo $LR", "LR"),
    ('if [ -z "${LR+x}" ]; then LR=1; fi; echo $LR', "LR"),
    ("[[ $V ]] && echo 1", "V"),
    ("case $X in a) ;; esac", "X"),
    ("for each in $Q; do echo $each; done", "Q"),
    ("for ((i=0;i<$N;i++)); do echo $i; done", "N"),
    ("until [ $U ]; do :; done", "U"),
    ("while read -r L; do echo $L; done < $F", "F"),
    ("mapfile -t M; echo ${M[0]}", ""),
    ('while getopts "ab:" o; do case $o in a) A=$OPTARG;; esac; done; echo $A', ""),
    ("export B; python t.py", "B"),
    ("export B=1; python t.py $B", ""),
    ("echo $((M*2)) $((16#ff)) $((0x1F+N)) a$P*", "M N P"),
    ("cat <<E\n$H\nE", "H"),
    ("cat <<'E'\n$H\nE", ""),
    ("echo '$NO' \\$NO # $NO", ""),
    ("echo $1 $@ $# $? $$ $RANDOM $UID $PWD $BASH_SOURCE", ""),
    ("echo $(date +$FMT)", "FMT"),
    ("f() { local x=$1; echo $x $Y; }", "Y"),
    ("f() { LR=1; }; f; echo $LR", ""),
    ("bash -c 'echo $C'", "C"),
    ("C=1; bash -c 'echo $C'", "C"),
    ("export C=1; bash -c 'echo $C'", ""),
    ("env LR=2 bash -c 'echo $LR'", ""),
    ("unset D; echo $D; bash -c 'echo $D'", ""),
    ('ssh host "echo $A \\$B"', "A"),
    ("docker run image sh -c 'echo $B'", ""),
    ("ssh host 'echo $B'; echo $C", "C"),
]


@pytest.mark.parametrize(("text", "asked"), ROWS)
def test_a_variable_that_nothing_has_set_is_asked_for(text: str, asked: str) -> None:
    assert sorted(read_script(text).asked) == asked.split()


def test_what_a_file_sets_is_not_asked_for_and_one_that_is_not_here_may_set_anything() -> None:
    files = {"env.sh": "LR=1", "run.sh": ". env.sh; echo $LR $N", "other.sh": ". gone.sh; echo $LR"}
    assert read_typed(["bash", "run.sh"], files.get).asked == {"N"}
    assert read_typed(["bash", "other.sh"], files.get).asked == set()
    assert read_script("[ -f gone.sh ] && . gone.sh\necho $LR").asked == set()
    assert read_script("source .venv/bin/activate; source ~/c/etc/profile.d/conda.sh; echo $LR").asked == {"LR"}


def test_a_script_without_an_ending_is_read_where_its_first_line_names_a_shell() -> None:
    files = {"go": "#!/usr/bin/env bash\necho $LR", "prog": "\x7fELF $LR", "make": "#!/bin/sh\necho $LR"}
    assert read_typed(["./go"], files.get).asked == {"LR"}
    assert read_typed(["./prog"], files.get).asked == set()
    assert read_typed(["make"], files.get).asked == set(), "a program of PATH"


def test_words_that_no_shell_reads_ask_for_nothing() -> None:
    assert read_typed(["python", "t.py", "$LR", "${N}"]).asked == set()


def test_a_test_of_many_variables_is_within_the_budget() -> None:
    many = " ".join(f"$A{n}" for n in range(3_000))
    called = f"f() {{ [[ {many} ]]; }}\n" + "f\n" * 500
    for text in (f"[[ {many} ]]", f"case {many} in a) ;; esac", f"for x in {many}; do f; done", called):
        assert count_steps(lambda text=text: read_script(text)) < 3_000_000  # type: ignore[misc]
