"""What the command line says of its own, in Chinese: a part of `jobs.chinese_phrases`, with the same rules.

Names of phases, roles, fields and commands stay as they are, and so do the words of a progress line (epoch, loss).
"""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    "{kinds}, no problems": "{kinds}，没有问题",
    "{kinds}, 1 warning": "{kinds}，1 个警告",
    "{kinds}, {count} warnings": "{kinds}，{count} 个警告",
    "{count} problems": "共 {count} 个问题",
    "{count} {kind}": "{count} 个 {kind}",
    "{count} {kind}s": "{count} 个 {kind}",
    "cannot be read: {why}": "无法读取：{why}",
    "No such file or directory": "没有这个文件",
    "Is a directory": "这是一个目录",
    "Permission denied": "没有读取权限",
    "larger than {most} MiB: this is no manifest": "超过 {most} MiB：这不是作业配置",
    "computed by this command: the operator records a cause only where something is to be told": (
        "由本命令得出：operator 只在有情况需要说明时才记录原因"
    ),
    "no operator has looked at the job yet": "还没有 operator 处理这个作业",
    "recorded by the operator in status.cause: {reason}, {age} ago": (
        "由 operator 记录在 status.cause：{reason}，{age} 前"
    ),
    "all of its pods run": "它的全部 Pod 都在运行",
    "it completed": "已完成",
    "it failed, and whoever ran it left no reason; its events may have one": (
        "已失败，运行它的 operator 没有记录原因；事件中可能有"
    ),
    "nothing is recorded: {why}": "没有记录原因：{why}",
    "{job} would start now: all of its {count} pods fit": "{job} 现在即可启动：它的 {count} 个 Pod 都放得下",
    "{job} would wait: {why}": "{job} 将会等待：{why}",
    "the manifest is wrong; edit the job:": "作业的配置有误，请修改作业：",
    "next: {step}": "下一步：{step}",
    "then: {step}": "然后：{step}",
    "{job} would be refused: {why}": "{job} 将会被拒绝：{why}",
    "{job}: paddock submit would wait: {why}; paddock run would train on the CPU ({devices})": (
        "{job}：paddock submit 将会等待：{why}；paddock run 会改用 CPU 训练（{devices}）"
    ),
    "{count} problems; nothing was submitted": "共 {count} 个问题；没有提交任何内容",
    "1 problem; nothing was submitted": "共 1 个问题；没有提交任何内容",
    "nothing was submitted": "没有提交任何内容",
    "a {kind} of this name stands in {place} already": "{place} 已有同名的 {kind}",
    # paddock run: the head, the live line, the end
    "{kind} {job}: {mode} mode, {roles}": "{kind} {job}：{mode} 模式，{roles}",
    "{count} server": "{count} 个参数服务器",
    "{count} servers": "{count} 个参数服务器",
    "{count} worker": "{count} 个 worker",
    "{count} workers": "{count} 个 worker",
    "{count} heter worker": "{count} 个 heter worker",
    "{count} heter workers": "{count} 个 heter worker",
    "Submitted": "已提交",
    "restarts {count}": "已重启 {count} 次",
    "environment {name}: {what}": "环境 {name}：{what}",
    "environment {name}: ready ({what})": "环境 {name}：已就绪（{what}）",
    "built": "已构建",
    "building": "正在构建",
    "Completed in {time}: {roles}.{said}": "已完成，用时 {time}：{roles}。{said}",
    "{role} {count}/{wanted} succeeded": "{role} 成功 {count}/{wanted}",
    "Failed after {time}: {why}": "运行 {time} 后失败：{why}",
    "Not completed in {time} (--timeout): {why}": "{time} 内未完成（--timeout）：{why}",
    "no cause is recorded": "没有记录原因",
    "{phase}, all of its pods run": "{phase}，它的全部 Pod 都在运行",
    "logs: {command}": "日志：{command}",
    "outputs: {path}": "输出：{path}",
    "the last lines of {rank}:": "{rank} 最后的输出：",
    "{rank} says what went wrong: {line}": "{rank} 的出错原因：{line}",
    "warning: {rank} printed “{line}” and still ended with 0: look at its log before you trust the result": (
        "警告：{rank} 输出了“{line}”，却仍以 0 退出：请先查看它的日志，再采用训练结果"
    ),
    "{rank} was not started: {why}": "{rank} 没有启动：{why}",
    "{rank} printed nothing": "{rank} 没有任何输出",
    # paddock run, logs, submit: on the way
    "interrupted: nothing was submitted": "已中断：没有提交任何内容",
    "the job asks for {amount} {device} and this machine has none: training on the CPU (--without {device})": (
        "作业要求 {amount} 个 {device}，而本机没有：改用 CPU 训练（--without {device}）"
    ),
    "`paddock run` gave the job up for it and suspended it: {reason}, {age} ago": (
        "`paddock run` 因此放弃并暂停了该作业：{reason}，{age} 前"
    ),
    "Not started after {time}: {why}": "{time} 后仍未启动：{why}",
    "paddock down  # the local cluster was started with other settings: {names}": (
        "paddock down  # 本地集群启动时的设置与当前 shell 不同：{names}"
    ),
    "the job is suspended, some of its pods have not ended yet: the next `paddock run` replaces it, `{delete}` "
    "removes it": "作业已暂停，部分 Pod 尚未结束：下一次 `paddock run` 会替换它，`{delete}` 可删除它",
    "replacing {job}, whose environment could not be built ({age} old)": "替换 {job}，它的环境未能构建（{age} 前创建）",
    "the job is suspended, it holds no pods: the next `paddock run` replaces it, `{delete}` removes it": (
        "作业已暂停，不再占用 Pod：下一次 `paddock run` 会替换它，`{delete}` 可删除它"
    ),
    "replacing {job}, which --timeout suspended ({age} old)": "替换 {job}，它已被 --timeout 暂停（{age} 前创建）",
    "replacing {job}, {phase} ({age} old)": "替换 {job}，{phase}（{age} 前创建）",
    "it has failed alike {count} times: once more, and the job is given up": (
        "它已有 {count} 次同样的失败：再失败一次就不再重试"
    ),
    "(paddock run gives up after three failures alike; runPolicy.backoffLimit in the manifest sets another limit)": (
        "（paddock run 在三次同样的失败后不再重试；可在作业配置中用 runPolicy.backoffLimit 设置其他上限）"
    ),
    "stopping the job (Ctrl-C again kills it)": "正在结束作业（再按一次 Ctrl-C 立即终止）",
    "waiting up to {time} s for its ranks to end; --now kills them": (
        "最多等待 {time} 秒，让各副本自行结束；--now 立即终止它们"
    ),
    "killing it": "正在强制终止",
    "interrupted: the job and its pods are gone": "已中断：作业及其 Pod 已删除",
    "interrupted: the job and its pods are gone; its outputs are kept": "已中断：作业及其 Pod 已删除；输出保留",
    "interrupted: the job is deleted, some of its pods have not ended yet": "已中断：作业已删除，部分 Pod 尚未结束",
    "the job is suspended, it holds no pods: `{logs}` shows what it printed, `{delete}` removes it": (
        "作业已暂停，不占用任何 Pod：`{logs}` 可查看它的输出，`{delete}` 可删除它"
    ),
    "the job is suspended, some of its pods have not ended yet: `{logs}` shows what it printed, `{delete}` removes "
    "it": "作业已暂停，部分 Pod 尚未结束：`{logs}` 可查看它的输出，`{delete}` 可删除它",
    "its servers are kept running (cleanPodPolicy: Never): {command}": (
        "它的参数服务器继续运行（cleanPodPolicy: Never）：{command}"
    ),
    "{script} is in no image: taken from {directory}": "镜像中没有 {script}：取自 {directory}",
    "{script} is not in the image {image} nor in {directory}: call paddock where it lies, or mount a volume that has "
    "it and name its place in workingDir": (
        "镜像 {image} 和目录 {directory} 中都没有 {script}：请在它所在的目录中运行 paddock，或挂载含有它的存储卷，"
        "并用 workingDir 指明它的位置"
    ),
    "the build goes on; `{command}` shows it": "构建继续进行；`{command}` 可查看",
    "the job goes on; `{command}` ends it": "作业继续运行；`{command}` 可结束它",
    "{job} has printed nothing yet": "{job} 还没有任何输出",
    "{follow}     follows it; {describe}": "{follow}     跟踪它；{describe}",
    "no {kind}": "没有 {kind}",
    "no {kind} in namespace {namespace}": "命名空间 {namespace} 中没有 {kind}",
    # paddock describe
    "Name": "名称",
    "Kind": "类型",
    "Mode": "模式",
    "Status": "状态",
    "Why": "原因",
    "Created": "创建",
    "Started": "开始",
    "Finished": "结束",
    "Attempt": "轮次",
    "Clean-up": "清理",
    "Without": "不使用",
    "Outputs": "输出",
    "Role": "角色",
    "Pods": "Pod",
    "Events": "事件",
    "none": "无",
    "{time} ({age} ago)": "{time}（{age} 前）",
    "{attempt}, restarts {restarts} ({limit})": "{attempt}，已重启 {restarts} 次（{limit}）",
    "no limit": "不限",
    "at most {count}": "最多 {count} 次",
    "as it stood at the end: {counts}": "结束时：{counts}",
    "no pods yet": "还没有 Pod",
    "{wanted} wanted: {pending} pending, {starting} starting, {running} running, {succeeded} succeeded, {failed} "
    "failed": (
        "共 {wanted} 个：{pending} 个等待，{starting} 个正在启动，{running} 个运行，{succeeded} 个成功，{failed} 个失败"
    ),
    "{role}, {counts}; restartPolicy {policy}": "{role}，{counts}；restartPolicy {policy}",
}
