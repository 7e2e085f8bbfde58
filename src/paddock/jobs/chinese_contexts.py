"""What the command line says of a Kubernetes that others run, in Chinese: a part of `jobs.chinese_phrases`."""

from __future__ import annotations

from collections.abc import Mapping

CONTEXTS: Mapping[str, str] = {
    "waiting for the pods of that job to end": "正在等待那个作业的 Pod 结束",
    "{file}: {why}": "{file}：{why}",
    "outputs: the job has no volume that outlives its pods, so what they wrote goes with them": (
        "输出：该作业没有能在 Pod 之后保留的卷，写入的内容随 Pod 一起消失"
    ),
    "an Environment stands for an image on the local cluster alone; on a cluster the image itself is "
    "run: leave it out": ("Environment 只在本地集群上代替镜像；在 Kubernetes 上直接运行镜像：请去掉它"),
    "the annotation {name} names a directory of this machine, which a cluster's nodes do not have: "
    "remove it, and --workdir {directory} sends the directory": (
        "注解 {name} 指向本机的目录，集群的节点上没有它：请去掉该注解，用 --workdir {directory} 发送这个目录"
    ),
    "PADDOCK_OUTPUT_DIR and PADDOCK_CHECKPOINT_DIR are not set on a cluster: mount a volume, for example "
    "a persistentVolumeClaim, and write there": (
        "在 Kubernetes 上没有 PADDOCK_OUTPUT_DIR 和 PADDOCK_CHECKPOINT_DIR：请挂载卷（例如 persistentVolumeCl"
        "aim）并写到那里"
    ),
    "{role}: the environment {name} is one of the local cluster; here the image {image} itself is run, "
    "which must have the same packages": (
        "{role}：环境 {name} 属于本地集群；这里直接运行镜像 {image}，镜像中须有同样的软件包"
    ),
    "not yours to read": "无权查看",
    "{operator} in namespace {namespace}, led by {leader}": ("{operator}，在命名空间 {namespace}，由 {leader} 主持"),
    "{said}, watching {names} alone": "{said}，只处理 {names}",
    "nobody acts on jobs here: {why}": "这里没有 operator 处理作业：{why}",
    "paddock {version}": "paddock {version}",
    "another operator": "另一种 operator",
    "{ready} of {count} ready": "{count} 个中有 {ready} 个就绪",
    "{path} cannot be read: {why}": "无法读取 {path}：{why}",
    "{path} holds more than {most} files: name the directory of the program with --workdir, or list the "
    "others in its .gitignore": (
        "{path} 中的文件超过 {most} 个：请用 --workdir 指定程序所在的目录，或把其他文件写入 .gitignore"
    ),
    "{path} is a link to {target}, which is not there: remove it or list it in .gitignore": (
        "{path} 是指向 {target} 的链接，而目标不存在：请删除它，或写入 .gitignore"
    ),
    "{path} is a link to {target}, outside of {root}, and only what is inside is sent: copy it here, or "
    "list it in .gitignore": (
        "{path} 是指向 {target} 的链接，目标在 {root} 之外，而只发送目录之内的文件：请把它复制进来，或写入 .gitignore"
    ),
    "the name {path} is no UTF-8, as an API wants it: rename the file": ("文件名 {path} 不是 API 所需的 UTF-8：请改名"),
    "{path} is a link to a directory that it lies in: remove it": "{path} 是指向其上级目录的链接：请删除它",
    "{directory} is too large to travel as a ConfigMap: {count} files, {size}, and at most {most}. The "
    "largest are:{listed}\nPut data into a volume, programs into an image, or list in .gitignore what "
    "the program does not need": (
        "{directory} 太大，无法作为 ConfigMap 发送：{count} 个文件，{size}，上限为 {most}。最大的是：{listed}"
        "\n请把数据放入卷，把程序放入镜像，或把程序不需要的文件写入 .gitignore"
    ),
    "sending 1 file, {size}, of {directory} as a ConfigMap{left}\n  {names}": (
        "以 ConfigMap 发送 {directory} 中的 1 个文件，{size}{left}\n  {names}"
    ),
    "sending {count} files, {size}, of {directory} as a ConfigMap{left}\n  {names}": (
        "以 ConfigMap 发送 {directory} 中的 {count} 个文件，{size}{left}\n  {names}"
    ),
    "; left out: {ignored} by .gitignore, {hidden} hidden": (
        "；未发送：.gitignore 排除 {ignored} 项，隐藏 {hidden} 项"
    ),
    "; left out by .gitignore: {count}": "；.gitignore 排除 {count} 项",
    "; left out as hidden: {count}": "；隐藏的 {count} 项未发送",
    "the largest: {names}": "最大的是：{names}",
    "{directory} is itself left out by a .gitignore above it, in {repository}, so nothing of it is sent; its own "
    ".gitignore may take files back, for example with !*.py": (
        "{directory} 本身已被上级（{repository} 中）的 .gitignore 排除，因此不发送任何文件；可在它自己的 .gitignore 中"
        "取回文件，例如 !*.py"
    ),
    "{directory} holds what looks like a secret (a private key, a kubeconfig, a token), and who may read the ConfigMap "
    "could read it:{listed}\nNothing was sent. List it in {directory}/.gitignore, or, where it is meant to travel, "
    "take it back there: !{name}": (
        "{directory} 中有疑似机密的文件（私钥、kubeconfig、令牌），能读取该 ConfigMap 的人都能看到其内容：{listed}"
        "\n没有发送任何文件。请把它写入 {directory}/.gitignore；若确实要发送，请在其中用 !{name} 取回"
    ),
    "{script} is in no image, and {directory}, where it lies, is sent only where --workdir names it: put the program "
    "into a directory of its own and call paddock there, or --workdir DIR": (
        "镜像中没有 {script}，而它所在的 {directory} 只有用 --workdir 指明才会发送：请把程序放入单独的目录并在那里"
        "运行 paddock，或使用 --workdir DIR"
    ),
    "the ConfigMap {name} in namespace {namespace} may be left behind ({why}): delete it if no job uses it": (
        "命名空间 {namespace} 中的 ConfigMap {name} 可能被遗留（{why}）：若没有作业使用它，请删除"
    ),
    "it is not known whether the job was created": "不知道作业是否已创建",
    "there is no file to send in {directory}{left}": "{directory} 中没有可发送的文件{left}",
    "{directory} holds {count} files, and at most {most} travel: put them into a volume or an image, or "
    "list in .gitignore what the program does not need": (
        "{directory} 中有 {count} 个文件，最多发送 {most} 个：请把它们放入卷或镜像，或把程序不需要的文件写入 .gitignore"
    ),
    "environments belong to the local cluster: on a cluster the image itself is run; leave --context out": (
        "环境属于本地集群：在 Kubernetes 上直接运行镜像；请去掉 --context"
    ),
    "no operator has taken the job yet: {why}": "还没有 operator 接手这个作业：{why}",
    "this command is paddock {version}; the operator: {operator}": ("本命令是 paddock {version}；operator：{operator}"),
    "{operator} leads in namespace {where} and has not acted on it; its log says why: `{kubectl} -n "
    "{where} logs deploy/{deployment}`": (
        "{operator} 在命名空间 {where} 中运行，但没有处理它；原因见其日志：`{kubectl} -n {where} logs deploy/"
        "{deployment}`"
    ),
    "the operator in namespace {where} has not been heard of for {age}: `{look}` shows whether it runs": (
        "命名空间 {where} 中的 operator 已有 {age} 没有消息：`{look}` 可看它是否在运行"
    ),
    "you may not read Leases, so whether one runs is not known here. Ask who administers the cluster, or "
    "look whether it watches namespace {namespace}": (
        "你无权查看 Lease，这里无从得知是否有 operator 在运行。请询问集群管理员，或确认它是否处理命名空间 {namespace}"
    ),
    "none seems to run, as nobody holds the Lease {lease}. `paddock manifests operator | {kubectl} "
    "create -f -` starts one": (
        "看来没有 operator 在运行，因为无人持有 Lease {lease}。`paddock manifests operator | {kubectl} create"
        " -f -` 可启动一个"
    ),
    "the operator in namespace {where} watches {watched} alone, not {namespace}: submit the job there, "
    "or have its --namespace changed": (
        "命名空间 {where} 中的 operator 只处理 {watched}，不处理 {namespace}：请把作业提交到那里，或让管理员"
        "修改它的 --namespace"
    ),
    "the operator in namespace {where} serves {kinds} alone: have {kind} added to its --kinds": (
        "命名空间 {where} 中的 operator 只处理 {kinds}：请让管理员在它的 --kinds 中加上 {kind}"
    ),
    "the operator in namespace {where} has stopped (`{look}`)": ("命名空间 {where} 中的 operator 已停止（`{look}`）"),
    "not known": "不清楚",
    "the pods of {job} are gone, and their logs with them": "{job} 的 Pod 已删除，日志也随之消失",
    "the pod of {rank} of {job} is gone, and its log with it": "{job} 的 {rank} 的 Pod 已删除，日志也随之消失",
    "{missing}: runPolicy.cleanPodPolicy (cleanPodPolicy) Never keeps pods": (
        "{missing}：把 cleanPodPolicy 设为 Never 可保留 Pod"
    ),
    "{job} has no pods: its manifest is wrong; `{command}` says where": (
        "{job} 没有 Pod：它的配置有误；`{command}` 会指出错在哪里"
    ),
    "{job} cannot be followed: its manifest is wrong (`{command}` says where); without -f its pods' output so far is "
    "printed": "无法跟踪 {job}：它的配置有误（`{command}` 会指出错在哪里）；去掉 -f 可打印它的 Pod 目前的输出",
    "{command}  # where a node NODE has what the label says": "{command}  # NODE 为确实具备该标签所指条件的节点",
    "no {kind} with labels {selector}": "没有标签为 {selector} 的 {kind}",
    "no {kind} with labels {selector} in namespace {namespace}": (
        "命名空间 {namespace} 中没有标签为 {selector} 的 {kind}"
    ),
    "the log of {pod} cannot be read: {why}": "无法读取 {pod} 的日志：{why}",
    "{server} does not know who you are ({why}): the token or certificate of {source} is wrong or has "
    "expired. Get a new kubeconfig from who administers the cluster, or name another --context": (
        "{server} 无法确认你的身份（{why}）：{source} 的令牌或证书有误或已过期。请向集群管理员索取新的 kubeco"
        "nfig，或换一个 --context"
    ),
    "{verb} {resource}": "{verb} {resource}",
    "{user} may not {right}. Who administers the cluster can allow what paddock needs there:\n\n{first}\n{second}": (
        "{user} 没有权限 {right}。集群管理员可以授予 paddock 所需的权限：\n\n{first}\n{second}"
    ),
    "{server} does not accept the client certificate of {source}: it expired at {time}. Get a new "
    "kubeconfig from who administers the cluster": (
        "{server} 不接受 {source} 的客户端证书：它已于 {time} 过期。请向集群管理员索取新的 kubeconfig"
    ),
    "{verb} {resource} in namespace {namespace}": ("{verb} {resource}（命名空间 {namespace}）"),
    "--sandbox is for the local cluster: on a cluster pods run in containers of their images; leave it out": (
        "--sandbox 只用于本地集群：在 Kubernetes 上 Pod 运行在镜像的容器中；请去掉它"
    ),
    "logs: gone with the pods (cleanPodPolicy {policy})": ("日志：已随 Pod 删除（cleanPodPolicy {policy}）"),
    "the job goes on: the cluster's definition of {kind} is another operator's and knows no "
    "runPolicy.suspend (`paddock manifests crd` prints ours)": (
        "作业继续运行：集群中 {kind} 的定义来自另一种 operator，没有 runPolicy.suspend（`paddock manifests cr"
        "d` 输出我们的定义）"
    ),
    "the job starts in it, read-only, at {path} (ConfigMap {name})": (
        "作业在 {path} 中以只读方式使用它（ConfigMap {name}）"
    ),
    "{job} starts in {own}, its container's workingDir, and --workdir would have it start in the sent "
    "directory: remove one of the two": (
        "{job} 的容器以 workingDir {own} 为起始目录，而 --workdir 要求以发送的目录为起始目录：请去掉其中一个"
    ),
    "{script} is expected in the image {image}; --workdir . sends the one that is here": (
        "{script} 应在镜像 {image} 中；--workdir . 可发送本目录中的这个文件"
    ),
    "the ConfigMap {name} will not go with the job ({why}): delete it yourself then": (
        "ConfigMap {name} 不会随作业删除（{why}）：届时请自行删除"
    ),
    "{server} knows no PaddleJob: no operator is installed there. Who administers it installs one with "
    "`paddock manifests all | {kubectl} create -f -`": (
        "{server} 没有 PaddleJob：那里没有安装 operator。集群管理员可用 `paddock manifests all | {kubectl} cr"
        "eate -f -` 安装"
    ),
    "the cluster says: {why}": "集群的答复：{why}",
    "the cluster serves no {kind} of {version}: `{command}` installs the kind, and the operator takes it with "
    "--kinds={name}": ("集群不提供 {version} 的 {kind}：用 `{command}` 安装该类型，并以 --kinds={name} 启动 operator"),
    "the cluster serves no {kind} of {version}: leave it out, or have it installed (`{command}` shows what there is)": (
        "集群没有 {version} 的 {kind}：请去掉它，或请管理员安装（`{command}` 列出已有的种类）"
    ),
    "there is no namespace {name}: `{command}` makes it, -n names another": (
        "没有命名空间 {name}：`{command}` 可创建它，-n 可另选一个"
    ),
    "computed by this command, paddock {version}, from the nodes and pods that it may read: the "
    "cluster's own scheduler decides": (
        "由本命令（paddock {version}）根据它能看到的节点和 Pod 得出：最终由集群的调度器决定"
    ),
    "{job} would be accepted; whether its pods fit is not known: you may not list nodes": (
        "{job} 会被接受；Pod 能否放下无从得知：你无权列出节点"
    ),
}
