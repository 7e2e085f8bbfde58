"""The tracebacks that were printed for one rank alone are told, but for those that say nothing."""

from __future__ import annotations

from paddock.views.folded import explain_again


def test_that_a_launchers_process_failed_is_no_error_of_its_own() -> None:
    launcher = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
    again = {launcher: ["master-0"], "ValueError: bad": ["worker-0", "worker-1"]}
    assert [str(each) for each in explain_again(again)] == ["the same error in worker-0, worker-1: ValueError: bad"]
