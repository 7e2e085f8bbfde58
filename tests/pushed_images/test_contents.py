"""What the files of an image tell: its Python, its packages, its libc; and for which machines it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.images.contents import Contents, add_entry, find_packages, find_python, is_wanted, join
from paddock.images.platforms import Platform, Wheels, choose_platform, read_glibc


def lay(*entries: str | tuple[str, str]) -> Contents:
    """A layer: names, and pairs of a name with the target of a link (`->`) or its text."""
    contents = Contents()
    for each in entries:
        path, value = (each, None) if isinstance(each, str) else each
        is_link = value is not None and value.startswith("->")
        link = value[2:] if value is not None and is_link else None
        add_entry(contents, path, link, value if not is_link else None)
    return contents


CONDA = {"PATH": "/opt/conda/bin:/usr/bin"}


@pytest.mark.parametrize(
    ("layers", "variables", "program", "python"),
    [
        ([lay("usr/local/bin/python3.11", ("usr/local/bin/python", "->python3.11"))], {}, "python", "3.11"),
        ([lay("usr/bin/python3.10", ("usr/bin/python3", "->python3.10"))], {}, "python", "3.10"),
        (
            [lay("usr/bin/python3.10", ("usr/bin/python3", "->python3.10"), ("bin", "->usr/bin"))],
            {"PATH": "/bin"}, "", "3.10",
        ),
        (
            [lay("usr/bin/python3.8", "opt/conda/bin/python3.12", ("opt/conda/bin/python", "->python3.12"))],
            CONDA, "", "3.12",
        ),
        (
            [lay("usr/bin/python3.9", ("usr/bin/python", "->/etc/alternatives/python"),
                 ("etc/alternatives/python", "->/usr/bin/python3.9"))],
            {}, "python", "3.9",
        ),
        ([lay("usr/bin/python3.9", "usr/bin/python3.12", ("usr/bin/python", "->python3.9"))], {}, "python3.12", "3.12"),
        ([lay(("usr/bin/python", "->python"))], {}, "python", ""),  # a circle
        ([lay(("usr/bin/python", "->../../../../usr/bin/python3.9"), "usr/bin/python3.9")], {}, "python", "3.9"),
        ([lay("usr/bin/python")], {}, "python", ""),  # a program of that name, of no version
        ([lay("srv/bin/python3.9", ("srv/bin/python", "->python3.9"))], {}, "python", ""),  # not on the PATH
        ([lay()], {}, "python", ""),
        (
            [lay("usr/bin/python3.9", ("usr/bin/python", "->python3.9")), lay("usr/bin/.wh.python")], {}, "python", "",
        ),
        (
            [lay("usr/bin/python3.9", ("usr/bin/python", "->python3.9")),
             lay("usr/bin/.wh..wh..opq", "usr/bin/python3.12", ("usr/bin/python", "->python3.12"))],
            {}, "python", "3.12",
        ),
        ([lay("usr/bin/python3.9", ("usr/bin/python", "->python3.9")), lay(".wh.usr")], {}, "python", ""),
    ],
)  # fmt: skip
def test_the_python_is_the_one_that_a_command_finds(
    layers: list[Contents], variables: dict[str, str], program: str, python: str
) -> None:
    assert find_python(join(layers), variables, program) == python


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["bin", "usr/bin", "usr/bin/python", "bin/python3", "etc/alternatives/python"]),
            st.sampled_from(["->bin", "->../bin", "->/usr/bin", "->python", "->/etc/alternatives/python", "->../.."]),
        )
    )
)
def test_links_of_any_sort_end(entries: list[tuple[str, str]]) -> None:
    assert find_python(lay(*entries), {}, "python") == ""


def metadata(name: str, version: str) -> str:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: x\n\nName: of the text\n"


_NAMES = st.lists(st.sampled_from(["a", "b", "bin"]), min_size=1, max_size=4).map("/".join)


@given(_NAMES, st.lists(st.tuples(_NAMES, st.sampled_from(["", "/"])).map("".join)))
def test_a_layer_hides_what_lies_in_what_it_names(path: str, hidden: list[str]) -> None:
    there = join([Contents(links={path: ""}), Contents(hidden=hidden)]).links
    gone = any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in hidden)
    assert (path not in there) == gone


def test_layers_of_many_names_and_many_whiteouts_are_joined() -> None:
    """One by one they would be compared ten thousand million times."""
    links = {f"opt/{number}/bin/python": "" for number in range(100_000)}
    hidden = [f"opt/{number}/bin" for number in range(100_000, 199_999)] + ["opt/7"]
    assert len(join([Contents(links=links), Contents(hidden=hidden)]).links) == 99_999


def test_the_packages_are_those_that_this_python_imports() -> None:
    place = "usr/lib/python3.11/site-packages"
    below = lay(
        (f"{place}/torch-2.5.1+cu121.dist-info/METADATA", metadata("torch", "2.5.1+cu121")),
        (f"{place}/old-1.dist-info/METADATA", metadata("old", "1")),
        ("opt/lib/python3.9/site-packages/other-1.dist-info/METADATA", metadata("other", "1")),
        ("usr/lib/python3/dist-packages/Py_YAML-6.dist-info/METADATA", metadata("Py_YAML", "6")),
        (f"{place}/broken-1.dist-info/METADATA", "no fields"),
        (f"{place}/torch/METADATA", metadata("no", "1")),
    )
    above = lay(f"{place}/.wh.old-1.dist-info")
    found = find_packages(join([below, above]), "3.11")
    assert [(each.name, each.version) for each in found] == [("py-yaml", "6"), ("torch", "2.5.1+cu121")]
    assert "of the text" not in found[1].metadata


def test_only_small_files_that_tell_something_are_read() -> None:
    assert is_wanted("a/site-packages/x-1.dist-info/METADATA") and is_wanted("etc/os-release")
    assert not is_wanted("a/site-packages/x/METADATA") and not is_wanted("etc/shadow")


@pytest.mark.parametrize(
    ("release", "names", "glibc"),
    [
        ('ID=debian\nVERSION_ID="12"\n', [], (2, 36)),
        ('NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="22.04"\n', [], (2, 35)),
        ('ID="rocky"\nVERSION_ID="9.4"\n', [], (2, 34)),
        ("ID=debian\nVERSION_ID=99\n", [], None),
        ("", [], None),
        ('ID=debian\nVERSION_ID="12"\n', ["libc-2.31.so"], (2, 31)),
    ],
)
def test_the_glibc_is_told_by_its_library_or_by_the_distribution(
    release: str, names: list[str], glibc: tuple[int, int] | None
) -> None:
    assert read_glibc(release, names) == glibc


@pytest.mark.parametrize(
    ("wheels", "uv"),
    [
        (Wheels(Platform()), "x86_64-manylinux_2_28"),
        (Wheels(Platform("arm64")), "aarch64-manylinux_2_28"),
        (Wheels(Platform(), glibc=(2, 36)), "x86_64-manylinux_2_36"),
        (Wheels(Platform(), glibc=(2, 27)), "x86_64-manylinux_2_17"),
        (Wheels(Platform(), glibc=(2, 12)), "x86_64-manylinux_2_17"),
        (Wheels(Platform(), glibc=(2, 29)), "x86_64-manylinux_2_28"),
        (Wheels(Platform(), glibc=(2, 42)), "x86_64-manylinux_2_40"),
        (Wheels(Platform(), musl=True), "x86_64-unknown-linux-musl"),
        (Wheels(Platform("ppc64le")), ""),
    ],
)
def test_the_wheels_are_those_that_run_in_the_image(wheels: Wheels, uv: str) -> None:
    assert wheels.uv == uv


@pytest.mark.parametrize(
    ("nodes", "wanted", "platform", "said"),
    [
        (["arm64", "arm64"], "", "linux/arm64", ""),
        (["amd64"], "arm64", "linux/arm64", ""),
        (None, "", "linux/amd64", "the architecture of the cluster's nodes is not known: linux/amd64 is taken"),
        ([], "", "linux/amd64", "is not known"),
        (
            ["arm64", "amd64"],
            "",
            "linux/amd64",
            "the cluster has nodes of amd64 and arm64: the image is for linux/amd64",
        ),
    ],
)
def test_the_platform_is_that_of_the_nodes(nodes: list[str] | None, wanted: str, platform: str, said: str) -> None:
    chosen, told = choose_platform(nodes, wanted)
    assert str(chosen) == platform
    assert said in str(told) if said else told is None


def test_the_names_of_libraries_that_tell_are_kept() -> None:
    contents = lay("lib/ld-musl-x86_64.so.1", "lib/x86_64-linux-gnu/libc-2.31.so", "lib/libm-2.31.so")
    assert contents.libraries == ["ld-musl-x86_64.so.1", "libc-2.31.so"]
