"""The Chinese catalogue of phrases: the English text of a `Phrase` to the Chinese one, with the same {places}.

In the words of PaddlePaddle's own documents: 作业, 副本, 参数服务器, 节点, 镜像, 容器. Field paths, values and
commands stay as they are. A test holds this table and the phrases in the code together. Causes of jobs are in
`jobs.chinese`.
"""

from __future__ import annotations

from collections.abc import Mapping

from paddock.jobs.chinese_commands import COMMANDS
from paddock.jobs.chinese_contexts import CONTEXTS

_FORMS: Mapping[str, str] = {
    "found {found}, {allowed} is allowed{advice}": "值为：{found}，应为{allowed}{advice}",
    "is missing: {allowed} is needed": "缺少该字段，需要{allowed}",
    "is missing: every job trains in its workers, with parameter servers too": (
        "缺少该字段：每个作业都由 worker 训练，使用参数服务器时也一样"
    ),
    "there is no field of this name": "没有这个字段",
    "a {kind} of {other} has this field, and this one is of {own}: keep to one of the two": (
        "这是 {other} 的 {kind} 的字段，而这个作业属于 {own}：两者只能选用一种"
    ),
    "there is no kind of this name{perhaps}": "没有这种 kind{perhaps}",
    "there is no field of this name{perhaps}": "没有这个字段{perhaps}",
    "there is no field of this name; there are {names}": "没有这个字段；这里可用的有 {names}",
    "there is no field of this name here; it belongs to {homes}": "这个字段不属于这一层；它的位置是 {homes}",
    '; did you mean "{suggestion}"?': "；是否应为 {suggestion}？",
    '; did you mean "{amount}Gi"?': "；是否应为 {amount}Gi？",
    "; write {text}": "；请写成 {text}",
    "; write {words}": "；请写成 {words}",
    "; write {number}, without quotes": "；请去掉引号，写成 {number}",
    "; write {text} (on, off, yes and no mean true and false, too, unless in quotes)": (
        "；请写成 {text}（不加引号的 on、off、yes、no 也表示 true 和 false）"
    ),
    '; write each as "- name: {name}" and, below it, "value: ..."': (
        "；每个变量请写成 - name: {name}，并在下一行写 value: ..."
    ),
    '; write "- " before its first field and indent the others by two': (
        '；请在第一个字段前加上 "- "，其余字段向右缩进两格'
    ),
    "{names}": " {names}",
    "{text} ({length} characters)": "{text}（共 {length} 个字符）",
    "warning": "警告",
    ", ": "、",
}

_VALUES: Mapping[str, str] = {
    "nothing": "空",
    "a mapping": "一个映射（键: 值）",
    "an empty mapping": "空映射",
    "a list": "一个列表",
    "an empty list": "空列表",
    "text": "文本",
    "a value": "一个值",
    "a number": "数字",
    "a number or text": "数字或文本",
    "a whole number": "整数",
    "a whole number from {low} to {high}": " {low} 到 {high} 之间的整数",
    "a number in JSON": "JSON 中的数字",
    "true or false": " true 或 false",
    "a list of mappings": "由映射组成的列表",
    "a list of texts": "由文本组成的列表",
    'an amount like 2, "500m" or "1Gi"': '数量，例如 2、"500m" 或 "1Gi"',
    "a manifest": "一份作业配置",
    "a mapping with apiVersion and kind": "含有 apiVersion 和 kind 的映射",
    'a text like "{example}"': '文本，例如 "{example}"',
    "{versions} for a {kind}": " {versions}（kind 为 {kind} 时）",
    "a name of a-z 0-9 - ., beginning and ending with a letter or digit, around dots too,": (
        "由 a-z、0-9、- 和 . 组成的名称，开头、结尾以及每个点的前后都是字母或数字"
    ),
    "a name of at most 63 of a-z 0-9 -, beginning and ending with a letter or digit": (
        "由 a-z、0-9 和 - 组成的名称，最多 63 个字符，以字母或数字开头和结尾"
    ),
    "a name of at most {most} characters": "最多 {most} 个字符的名称",
    "a name of at most 63 letters, digits and - _ ., with a domain and / before it at most": (
        "最多 63 个字符的名称，由字母、数字和 - _ . 组成，前面可以有域名和 /"
    ),
    "at most 63 letters, digits and - _ ., beginning and ending with a letter or digit,": (
        "最多 63 个字母、数字或 - _ .，以字母或数字开头和结尾"
    ),
    "a list with at least one container": "至少含有一个容器的列表",
    "a pod template with at least one container": "至少含有一个容器的 Pod 模板",
    "the name of an image": "镜像的名称",
    "a name like registry/name:tag without spaces": "形如 registry/name:tag、不含空格的名称",
    "the name of an environment variable": "环境变量的名称",
    "a name that no other container of the pod has": "同一 Pod 中其他容器没有用过的名称",
    "a name that no other volume of the pod has": "同一 Pod 中其他卷没有用过的名称",
    "a path where nothing else is mounted": "没有挂载其他卷的路径",
    "a path that begins with /": "以 / 开头的路径",
    "a whole number of devices": "整数个设备",
    "at most the limit, {limit},": "不超过上限 {limit} 的数量",
    "the same as the limit, {limit},": "与上限 {limit} 相同的数量",
    "a job of at most {most} pods in all": "总共不超过 {most} 个 Pod 的作业",
    "Never or OnFailure (a rank that has ended well must not start again)": (
        " Never 或 OnFailure（成功结束的副本不能再次启动）"
    ),
    "a mapping with Worker, and Master where there are parameter servers,": (
        "含有 Worker 的映射，使用参数服务器时还要有 Master"
    ),
}

_OF_JOBS: Mapping[str, str] = {
    'found {found}, a name of at most {most} characters is allowed: with "{suffix}" it names a pod, in at most 253': (
        '值为：{found}，应为最多 {most} 个字符的名称：加上 "{suffix}" 就是 Pod 的名称，后者最多 253 个字符'
    ),
    "on a cluster its pods cannot start: in what a node calls the directory of their logs there is room for {most} "
    "characters of this name": "在集群上，它的 Pod 无法启动：节点上日志目录的名称只能容纳此名称的 {most} 个字符",
    '"," before "{end}" is not allowed in JSON: kubectl refuses it': (
        '"{end}" 之前不能有 ","，这不符合 JSON 语法：kubectl 会拒绝它'
    ),
    "the number of replicas does not change by itself; all that this line does is restart what fails: write "
    "restartPolicy: OnFailure in the template's spec in its place, or remove the line": (
        "副本数不会自动变化；这一行的唯一作用是重启失败的 Pod：请改为在 template 的 spec 中写 "
        "restartPolicy: OnFailure，或删除这一行"
    ),
    "does nothing here: the number of replicas does not change by itself; remove it": (
        "在这里不起作用：副本数不会自动变化；请删除它"
    ),
    'the field is called "cleanPodPolicy"; it is read as if it were': "这个字段的名称是 cleanPodPolicy；这里按它来读取",
    "is not read: the one beside the template counts, which is {restart}": (
        "此处不生效：以 template 旁边的为准，即 {restart}"
    ),
    "`launch run_check` waits for a second node for ever, and this job has one pod: the check that one pod can do "
    'is run instead, python -c "import paddle; paddle.utils.run_check()"; two replicas run it as written, and so '
    'does the annotation paddock.dev/substitute: "false" on the job': (
        "`launch run_check` 会一直等待第二个节点，而这个作业只有一个 Pod：因此改为运行单个 Pod 能完成的检查，"
        'python -c "import paddle; paddle.utils.run_check()"；设为两个副本，或给作业加上注解 '
        'paddock.dev/substitute: "false"，即按原样运行'
    ),
    "a {kind} of this name stands in line {line} already": "第 {line} 行已有同名的 {kind}",
    "nothing belongs to it: the lines below have lost their indentation; what belongs to a field begins two "
    "columns to the right of it": "它下面没有内容：后面各行的缩进丢失了；属于一个字段的内容应比它向右缩进两格",
    "a cluster wrote this, as `kubectl get -o yaml` prints it; {fields} are left out": (
        "这是集群写入的内容，由 `kubectl get -o yaml` 输出；以下字段会被忽略：{fields}"
    ),
    "{kind} runs programs that never end, and is not served here: training is a PaddleJob, whose spec.worker has "
    "the same replicas and template": (
        "{kind} 用于运行永不结束的程序，这里不支持：训练请用 PaddleJob，它的 spec.worker 同样含有 replicas 和 template"
    ),
    "{kind} is not served here: a PaddleJob with one worker runs a program to its end as well; the template goes "
    "to spec.worker.template": (
        "这里不支持 {kind}：只有一个 worker 的 PaddleJob 同样会把程序运行到结束；template 请写到 spec.worker.template"
    ),
    "{kind} is of an operator that PaddlePaddle has given up: write a PaddleJob of batch.paddlepaddle.org/v1, with "
    "pserver as spec.ps and trainer as spec.worker": (
        "{kind} 属于 PaddlePaddle 已停止维护的 operator：请改写为 batch.paddlepaddle.org/v1 的 PaddleJob，pserver "
        "对应 spec.ps，trainer 对应 spec.worker"
    ),
    "{kind} trains with a framework that does not run here; what runs is {kinds}": (
        "{kind} 所用的框架不能在这里运行；可以运行的有 {kinds}"
    ),
    "{device} trains in {modes} mode alone, and this job is of {mode} mode, which PaddlePaddle has on {devices}": (
        "{device} 只支持 {modes} 模式，而这个作业是 {mode} 模式；PaddlePaddle 的 {mode} 模式支持 {devices}"
    ),
    "nothing is mounted at /dev/shm: Kubernetes gives 64 MiB of it, and DataLoader's workers and NCCL want more; "
    "mount a volume {volume} at /dev/shm, with emptyDir: medium: Memory": (
        "没有挂载 /dev/shm：Kubernetes 只提供 64 MiB，DataLoader 的工作进程和 NCCL 需要更多；请把卷 "
        "{volume}（emptyDir 的 medium 为 Memory）挂载到 /dev/shm"
    ),
    "port {port} of a machine can be had once: {replicas} pods need as many nodes, and the others wait": (
        "一台机器的端口 {port} 只能使用一次：{replicas} 个 Pod 需要同样多的节点，其余的会等待"
    ),
    "port {port} is taken already, by {other}: containers of one pod share one address": (
        "端口 {port} 已被 {other} 使用：同一 Pod 的容器共用一个地址"
    ),
    "found {found}, and with hostNetwork it must be the containerPort, {port}": (
        "值为：{found}，使用 hostNetwork 时必须与 containerPort 相同，即 {port}"
    ),
    "found {found}, whose quotes are full-width and a part of the value: write {plain}": (
        "值为：{found}，其中的引号是全角的，会成为值的一部分：请写成 {plain}"
    ),
    "today's PaddlePaddle, 3.3, has no heterogeneous parameter servers any more: these pods are told what PaddlePaddle "
    "2.3 to 3.0 read, and later ones ignore it": (
        "现在的 PaddlePaddle（3.3）已经没有异构参数服务器：这些 Pod 得到的是 PaddlePaddle 2.3 至 3.0 所读的环境变量，"
        "更新的版本不会读取"
    ),
    "is not read, and no version of paddle-operator read it: the number of pods is replicas, and what a pod may use "
    "is in resources of its containers": (
        "不会被读取，paddle-operator 的任何版本也没有读过：Pod 的数量由 replicas 决定，"
        "Pod 可用的资源写在其容器的 resources 中"
    ),
    "there is no resource of this name; there are {names}, and devices like nvidia.com/gpu{perhaps}": (
        "没有这种资源；可用的有 {names}，以及 nvidia.com/gpu 这样的设备{perhaps}"
    ),
    "a program of the name {first} is looked for, spaces included; did you mean {words}?": (
        "这样会去找名称为 {first} 的程序（连同空格）；是否应为 {words}？"
    ),
    "a volume comes from one source alone: {sources}": "一个卷只能有一个来源：{sources}",
    "the name of the label is {name}, {allowed} is allowed": "标签的名称为 {name}，应为{allowed}",
    "{name} is set already, by {other}: the later one wins": "{name} 已由 {other} 设置：以后面的为准",
    "there is no volume {name}: {path} is empty": "没有名称为 {name} 的卷：{path} 为空",
    "{amount} is less than 1 MiB, in which nothing trains{advice}": "{amount} 字节不到 1 MiB，无法训练{advice}",
    "devices need a limit: write the same under limits, which is enough alone": (
        "设备必须写在 limits 中：请在 limits 下写相同的数量，只写 limits 即可"
    ),
    "value stands beside it: one of the two is allowed": "旁边已有 value：两者只能写一个",
}

_OF_TEXTS: Mapping[str, str] = {
    "there is no manifest here: the text is empty": "这里没有作业配置：内容为空",
    "this is no manifest: it is nested hundreds of levels deep": "这不是作业配置：嵌套了数百层",
    "aliases stand for more than {most} values, which is refused: write out what is needed": (
        "别名展开后超过 {most} 个值，不予接受：请直接写出需要的内容"
    ),
    "an alias refers to what it is a part of": "别名指向了包含它自身的内容",
    "<< takes the fields of a mapping, like <<: *name, and there is none": (
        "<< 用来引入一个映射的字段，例如 <<: *name，而这里不是映射"
    ),
    "a key is nothing, a list or a mapping; a key is text": "键为空、列表或映射；键应为文本",
    "found {found}, which is not {kind}": "值为：{found}，它不是 {kind}",
    "is given twice, first in line {line}": "重复出现，第一次在第 {line} 行",
    "a second manifest begins here: a line with --- stands between two": "从这里开始是第二份配置：两份之间应有一行 ---",
    "a file that begins with {brace} is JSON, and this is none: kubectl refuses it": (
        "以 {brace} 开头的文件是 JSON，而此处不符合 JSON 语法：kubectl 会拒绝它"
    ),
    "this line stands before the manifest and is no part of it: remove all that comes before apiVersion": (
        "这一行在作业配置之前，不属于它：请删除 apiVersion 之前的内容"
    ),
    "this line is a command of a terminal: remove it, and leave the manifest alone": (
        "这一行是终端中的命令：请删除它，只保留作业配置"
    ),
    "this is a web page: where it shows the manifest, take the link called Raw": (
        "这是一个网页：请在显示该配置的页面上使用 Raw 链接下载"
    ),
    "this is a server's answer that it has no such file: the address it was fetched from is wrong": (
        "这是服务器返回的“没有这个文件”：下载所用的地址有误"
    ),
    'this is a shell script: a manifest names it in command of a container, like ["bash", "train.sh"]': (
        '这是一个 shell 脚本：应在作业配置中由容器的 command 运行它，例如 ["bash", "train.sh"]'
    ),
    'this is a Python program: a manifest names it in command of a container, like ["python", "-m", '
    '"paddle.distributed.launch", "train.py"]': (
        '这是一个 Python 程序：应在作业配置中由容器的 command 运行它，例如 ["python", "-m", '
        '"paddle.distributed.launch", "train.py"]'
    ),
    "this is what `kubectl describe` prints, for people to read: `kubectl get paddlejob NAME -o yaml` prints the "
    "manifest": "这是 `kubectl describe` 的输出，供人阅读：`kubectl get paddlejob NAME -o yaml` 才会输出作业配置",
    "this is what `kubectl get` prints, for people to read: `kubectl get paddlejob NAME -o yaml` prints the "
    "manifest": "这是 `kubectl get` 的输出，供人阅读：`kubectl get paddlejob NAME -o yaml` 才会输出作业配置",
    "this is a file of docker-compose: in a PaddleJob each service that trains is a role (worker, ps), with its "
    "image and command in spec.worker.template.spec.containers": (
        "这是 docker-compose 文件：在 PaddleJob 中，每个参与训练的服务是一个角色（worker、ps），镜像和命令写在 "
        "spec.worker.template.spec.containers 中"
    ),
    "this line belongs to Markdown, not to the manifest: remove it, and the one that closes it": (
        "这一行属于 Markdown，不属于作业配置：请删除它以及与它对应的结束行"
    ),
    "this is a template of Helm, whose braces are not filled in yet: `helm template CHART | paddock validate -` "
    "fills them in": "这是尚未渲染的 Helm 模板：`helm template CHART | paddock validate -` 会先渲染它",
    "this is a difference between two files, with + and - before its lines: give the file itself": (
        "这是两个文件的差异（diff），各行前面有 + 和 -：请使用文件本身"
    ),
    "numbers of lines stand before the lines: copy the text without them": "各行前面带有行号：复制时请不要带上行号",
    "a full-width colon (：) stands here: YAML wants a colon and a space (: )": (
        "这里是全角冒号（：）：YAML 需要半角冒号加一个空格（: ）"
    ),
    "the byte {byte} stands here, which is not UTF-8: save the file as UTF-8": (
        "这里的字节 {byte} 不是 UTF-8：请把文件另存为 UTF-8"
    ),
    "the file is written in {name}, as PowerShell's > writes it: save it as UTF-8": (
        "文件的编码是 {name}（PowerShell 的 > 会这样写）：请另存为 UTF-8"
    ),
    "a zero byte stands here: this is no text file, or a damaged one": "这里有一个零字节：这不是文本文件，或文件已损坏",
    "the file is written in GBK (GB2312), not in UTF-8: save it as UTF-8": (
        "文件的编码是 GBK（GB2312），不是 UTF-8：请另存为 UTF-8"
    ),
    'in double quotes "\\" begins an escape, and this one is none: write \\\\, or use single quotes': (
        '双引号中的 "\\" 表示转义，而这里不是有效的转义：请写成 \\\\，或改用单引号'
    ),
    "a tab stands here; YAML is indented by spaces: replace each tab by two of them": (
        "这里是制表符（Tab）；YAML 只能用空格缩进：请把每个制表符换成两个空格"
    ),
    "a colon stands here that begins no field: the line may be indented too far, or hang on the line above; a text "
    'with ": " in it needs quotes': (
        "这里的冒号不能构成字段：可能是这一行缩进过深，或接在了上一行之后；含有“: ”的文本需要加引号"
    ),
    "a line is neither `name: value` nor a part of the text above it: a colon or its indentation is missing": (
        "这一行既不是 `name: value`，也不属于上面的文本：缺少冒号或缩进"
    ),
    "the indentation of this line fits nothing above it: fields of one mapping begin in the same column": (
        "这一行的缩进与上面任何一层都不一致：同一映射的字段应从同一列开始"
    ),
    "a quote that begins in line {line} is never closed": "第 {line} 行开始的引号没有结束",
    "a list that begins with [ in line {line} is not closed by ], or lacks a comma before this place": (
        "第 {line} 行以 [ 开始的列表没有用 ] 结束，或在此处之前缺少逗号"
    ),
    "a mapping that begins with {brace} in line {line} is not closed, or lacks a comma before this place": (
        "第 {line} 行以 {brace} 开始的映射没有结束，或在此处之前缺少逗号"
    ),
    "the alias *{name} is used here, and nothing above is marked &{name}": "这里使用了别名 *{name}，但前面没有 &{name}",
    "no value begins with {character}: put the value into quotes": "值不能以 {character} 开头：请给它加上引号",
    "the text ends in the middle of a value": "内容在一个值的中间就结束了",
    "what stands before this line is complete by itself: `---` separates two manifests": (
        "这一行之前的内容已经完整：两份配置之间用 `---` 分隔"
    ),
    "the character {code} stands here, which no text file holds: remove it": (
        "这里有字符 {code}，文本文件中不应出现：请删除它"
    ),
    "this is not YAML: {complaint}": "这不是 YAML：{complaint}",
    "the value before this is complete: quotes are unpaired here, or in a line above": (
        "此处之前的值已经完整：这一行或上面某一行的引号没有成对"
    ),
    "no space stands behind the colon: write `{name}: `, then the value": (
        "冒号后面缺少空格：请写成 `{name}: ` 再加上值"
    ),
    "this line is indented deeper than {name} above it, which has a value already: begin both in one column": (
        "这一行比上面的 {name} 缩进更深，而后者已经有值：两者应从同一列开始"
    ),
}

CHINESE_PHRASES: Mapping[str, str] = {**_FORMS, **_VALUES, **_OF_JOBS, **_OF_TEXTS, **COMMANDS, **CONTEXTS}
