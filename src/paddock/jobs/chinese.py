"""The Chinese catalogue of causes: the same keys as `jobs.english`, in the words of PaddlePaddle's own documents.

作业 (job), 副本 (replica), 节点 (node), 参数服务器 (parameter server), 镜像 (image), 环境 (environment). Names of
ranks, fields, values and commands stay as they are. What the scheduler says is put into Chinese where its form is
known (`chinese_scheduler`). The phrases about manifests are in `jobs.chinese_phrases`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from paddock.jobs.chinese_scheduler import translate_scheduler
from paddock.jobs.english import Args, signal


def _of(args: Args, name: str) -> str:
    return str(args.get(name, "?"))


def _part(args: Args, name: str) -> str:
    """`4 个 Pod 中的 2 个`."""
    return f"{_of(args, 'wanted')} 个 Pod 中的 {_of(args, name)} 个"


def _said(args: Args) -> str:
    message = str(args.get("message") or "").strip().rstrip(".")
    return f"：{translate_scheduler(message)}" if message else ""


def _list(args: Args, name: str, joint: str = "和") -> str:
    """`a`, `a 和 b`, `a、b、c 等 9 个`."""
    found = args.get(name)
    items = [str(item) for item in found] if isinstance(found, Sequence) and not isinstance(found, str) else []
    if not items:
        return "?"
    if len(items) > 4:
        return f"{'、'.join(items[:3])} 等 {len(items)} 个"
    return items[0] if len(items) == 1 else f"{'、'.join(items[:-1])} {joint} {items[-1]}"


def _end(args: Args) -> str:
    code = args.get("code")
    if args.get("message"):
        return f"没有启动{_said(args)}"
    if args.get("memory"):
        return "内存不足，被系统终止（退出码 137）"
    if not isinstance(code, int) or code < 0:
        return "失败，没有退出码"
    if 128 < code < 160:
        return f"被信号 {signal(args)} 终止（退出码 {code}）"
    if code in (247, 250):
        return f"的训练进程被信号 {signal(args)} 终止（退出码 {code}）"
    return f"以退出码 {code} 结束"


def _failure(args: Args) -> str:
    early = "，此时各 worker 尚未训练完" if args.get("server") and not args.get("message") else ""
    return f"{_list(args, 'ranks', '或')} {_end(args)}{early}"


def _remedy(args: Args) -> str:
    if args.get("memory"):
        return "；请提高内存上限（limits.memory）或减小 batch size"
    if args.get("message") or signal(args) not in (0, 9):
        return ""
    return "；信号 9 往往是因为本机内存不足" if signal(args) else "；原因见它的日志"


def _lost_updates(args: Args) -> str:
    return "" if args.get("message") else "，此后学到的参数已丢失"


def _restart(args: Args) -> str:
    of = f"（最多 {args['limit']} 次）" if "limit" in args else ""
    delay = f"，{args['delay']} 秒后开始" if args.get("delay") else ""
    return f"第 {_of(args, 'restart')} 次重启{of}{delay}：{_failure(args)}"


def _words(args: Args, name: str) -> str:
    found = args.get(name)
    return " ".join(map(str, found)) if isinstance(found, list | tuple) and found else "?"


def _in_the_way(args: Args) -> str:
    if args.get("former"):
        return f"正在等待同名的前一个作业留下的对象消失：{_list(args, 'objects')}"
    return f"等待中：作业需要的名称已被不属于它的对象占用：{_list(args, 'objects')}；请删除这些对象，或给作业改名"


_AGAIN = "正在重新启动全部副本"
_UNCOUNTED = "；不计入重启次数"

CHINESE: Mapping[str, Callable[[Args], str]] = {
    "InvalidJob": lambda args: f"等待中：作业的配置有误：{_list(args, 'problems')}；请修改作业",
    "NoReplicas": lambda _: "等待中：作业没有要求任何 Pod；请把某个角色的 replicas 设为 1 或更大",
    "ObjectInTheWay": _in_the_way,
    "ObjectsRefused": lambda args: (
        f"等待中：API 服务器拒绝创建 {_list(args, 'objects')}{_said(args)}；一分钟之内会再试"
    ),
    "NoFreePort": lambda args: (
        f"等待中：本机 {_of(args, 'first')} 到 {_of(args, 'last')} 的端口都已被占用；请结束不再需要的作业"
    ),
    "WaitingForOldPods": lambda args: f"正在等待上一轮的 {_of(args, 'pods')} 个 Pod 结束",
    "WaitingForNode": lambda args: (
        f"正在等待 {_list(args, 'ranks')} 退出：所在节点 {_list(args, 'nodes')} 已失联；"
        f"失联且宽限期过后再等 {_of(args, 'seconds')} 秒即强制删除"
    ),
    "NodeNotReady": lambda args: (
        f"正在等待 {_list(args, 'ranks')} 退出：所在节点 {_list(args, 'nodes')} 未就绪，但未失联，应由其自行结束 Pod；"
        f"若一直不结束，请执行：kubectl -n {_of(args, 'namespace')} "
        f"delete pod --force --grace-period=0 {_words(args, 'pods')}"
    ),
    "NodeUnknown": lambda args: (
        f"正在等待 {_list(args, 'ranks')} 退出，早已超时；operator 无权查看所在节点 {_list(args, 'nodes')} 是否就绪；"
        f"若已失联，请执行：kubectl -n {_of(args, 'namespace')} "
        f"delete pod --force --grace-period=0 {_words(args, 'pods')}"
    ),
    "WaitingForPods": lambda args: f"正在等待创建 {_part(args, 'missing')}",
    "WaitingForScheduler": lambda args: f"{_part(args, 'pods')}正在等待资源{_said(args)}",
    "BuildingEnvironment": lambda args: f"{_part(args, 'pods')}正在等待环境构建完成{_said(args)}",
    "EnvironmentFailed": lambda args: f"{_of(args, 'rank')} 无法启动{_said(args)}",
    "ImageUnavailable": lambda args: f"正在等待 {_of(args, 'rank')} 的镜像{_said(args)}",
    "ConfigurationWrong": lambda args: f"等待中：{_of(args, 'rank')} 无法按现有配置启动{_said(args)}",
    "ContainerWaiting": lambda args: f"正在等待 {_of(args, 'rank')}：{_of(args, 'why')}{_said(args)}",
    "WaitingForAddresses": lambda args: f"正在等待 {_part(args, 'missing')}获得地址",
    "WaitingForConfigMap": lambda args: f"正在等待 ConfigMap {_of(args, 'name')}，各副本由它得知彼此的地址",
    "PodsStarting": lambda args: f"{_part(args, 'starting')}正在启动",
    "RankRestarted": _restart,
    "PodsDeleted": lambda args: f"{_AGAIN}：{_list(args, 'ranks')} 被删除{_UNCOUNTED}",
    "PodsLost": lambda args: f"{_AGAIN}：{_list(args, 'ranks')} 随节点丢失（{_of(args, 'why')}）{_UNCOUNTED}",
    "Resized": lambda args: f"{_AGAIN}：作业的规模已改为 {_of(args, 'wanted')} 个 Pod",
    "PortsDiffer": lambda args: f"{_AGAIN}：各 Pod 分到的端口不一致（{_list(args, 'ports')}），彼此无法连接",
    "AddressesChanged": lambda _: f"{_AGAIN}：有 Pod 的地址已改变，与其他副本得知的不同{_UNCOUNTED}",
    "Resumed": lambda _: f"作业已恢复：{_AGAIN}",
    "PodsAdopted": lambda args: f"已连同现有的 Pod 一起接管，处于第 {_of(args, 'attempt')} 轮",
    "Suspended": lambda _: "已暂停，不占用任何 Pod；把 runPolicy.suspend 设为 false 即可继续",
    "Deleting": lambda _: "正在删除作业及其 Pod",
    "Completed": lambda args: f"已完成：{_of(args, 'succeeded')} 个副本成功",
    "CompletedServersKept": lambda args: (
        f"已完成：{_of(args, 'succeeded')} 个副本成功；参数服务器不会自行结束，"
        f"cleanPodPolicy {_of(args, 'policy')} 让 {_list(args, 'kept')} 继续运行；删除作业即可结束它们"
    ),
    "RankFailed": lambda args: f"失败：{_failure(args)}{_remedy(args)}",
    "ServerEnded": lambda args: f"失败：{_failure(args)}{_lost_updates(args)}{_remedy(args)}",
    "BackoffLimitExceeded": lambda args: (
        f"失败：已重启 {_of(args, 'limit')} 次，达到 runPolicy.backoffLimit 的上限：{_failure(args)}{_remedy(args)}"
    ),
    "DeadlineExceeded": lambda args: (
        f"失败：开始 {_of(args, 'seconds')} 秒后仍未结束；请提高 runPolicy.activeDeadlineSeconds 或减少训练量"
    ),
}
