"""Sentences of a Dataset's `status.message`, as texts of the catalogues: `words.known_messages` says what for.

Each sentence that `paddock.datasets` can write is here, as it is put together there: a predicate with its subject, a
part with what it is a part of. What another program says in it, as git or a server, stays as it was said.
"""

from __future__ import annotations


def _sentence(text: str) -> str:
    return text


DATASETS = (
    _sentence("about to be fetched"),
    _sentence("listing what is there"),
    _sentence("listing what is there: {count} files so far"),
    _sentence("fetching, {percent} %, {part} of {whole}"),
    _sentence("fetching, {percent} %, {part} of {whole}, {speed}/s"),
    _sentence("fetching, {percent} %, {part} of {whole}, {speed}/s, {time} left"),
    _sentence("fetching, {size}, {speed}/s"),
    _sentence("{why}: trying again, {part} of {whole} are there"),
    _sentence("{size} in {count} file"),
    _sentence("{size} in {count} files"),
    _sentence(
        "{size} in {count} file; the server did not tell its length, so only a checksum says whether it is whole"
    ),
    _sentence(
        "{size} in {count} file; an ETag of the bucket looks like an MD5 and is none of what came, twice alike, so "
        "only the sizes were compared"
    ),
    _sentence(
        "{size} in {count} files; an ETag of the bucket looks like an MD5 and is none of what came, twice alike, so "
        "only the sizes were compared"
    ),
    _sentence(
        'spec.source.secretName: found "{name}", a token of {account}, the service account of Paddock itself in '
        "namespace {namespace}, which is sent to no source; any other Secret is allowed"
    ),
    _sentence("{uri}, as it is there"),
    _sentence("deleted when no pod mounts it any more: {pods}"),
    _sentence("waiting for other datasets: {count} are fetched at the same time"),
    _sentence("the claim {name} is being made"),
    _sentence("its pod is about to be made"),
    _sentence("{host} cut the connection"),
    _sentence("{host} sent nothing for {seconds} s"),
    _sentence("the name {host} is not known"),
    _sentence("{host} cannot be reached ({why})"),
    _sentence("{why}; tried {count} times without getting further"),
    _sentence("{host} has no {uri} ({why}): correct spec.source.uri"),
    _sentence(
        "{uri} has the checksum {algorithm} {found}, and {field} says {wanted}: the file is another "
        "one, or the checksum is; what was fetched of it is removed"
    ),
    _sentence(
        "{host} refuses {uri} ({why}): spec.source.secretName names a Secret with username and password, or a token"
    ),
    _sentence(
        '{uri} has {name}, which cannot be a file: a part of its name is empty, "." or "..", or a '
        "character of it is not allowed; rename it there, or name a prefix without it"
    ),
    _sentence("there is no bucket {name} at {host}: correct spec.source.uri, or the endpoint"),
    _sentence('there is no Secret "{name}" in {where}, which spec.source.secretName names'),
    _sentence("there is no directory {path} on this machine"),
    _sentence(
        "{host}: its certificate is not trusted here ({why}): name the file of its authority in the "
        "variable SSL_CERT_FILE, or correct the address"
    ),
    _sentence('there is no PersistentVolumeClaim "{name}" in {where}, which has {names}'),
    _sentence('Secret "{name}" has none of the keys that this source reads: {keys}'),
    _sentence("{uri} has no objects: correct spec.source.uri; a prefix ends where a name does"),
    _sentence("the process that fetches ended by signal {signal}, without a word; what it printed is in {path}"),
    _sentence("{why}: trying again, {size} are there"),
    _sentence(
        "{uri} has no branch, tag or commit {name}; it has {names}: correct spec.source.revision; a "
        "commit has 40 characters"
    ),
    _sentence('found "{uri}", which begins with no scheme: allowed: {schemes}'),
    _sentence('found "{uri}": a directory of this machine is {address}'),
    _sentence('found "{uri}": a repository by ssh is {address}'),
    _sentence(
        'found "{scheme}": write {address} and the endpoint that speaks S3 (spec.source.endpoint, '
        "--endpoint), as {example}"
    ),
    _sentence('found "{scheme}": allowed: {schemes}'),
    _sentence('found "{scheme}": did you mean "{meant}"? allowed: {schemes}'),
    _sentence("{path}: the disk is full: free some space; what was fetched is kept"),
    # how far it is
    _sentence("{why}: trying again, {percent} %, {part} of {whole} are there"),
    _sentence("{count} days"),
    _sentence("the source was cut"),
    _sentence("{host} sends {file} from its first byte again"),
    _sentence("{uri} has changed"),
    _sentence("the fetch was ended; what has come is kept, and it goes on from there"),
    # spec.source
    _sentence("spec.source.{field}: {why}"),
    _sentence('found "{scheme}": write claim://{name}'),
    _sentence('found "{scheme}": write hf://{name}'),
    _sentence('found "{scheme}": write modelscope://{name}'),
    _sentence('found "{scheme}": write git+ssh://{name} or {address}'),
    _sentence('found "{uri}", with a space or a control character: write %20 for a space'),
    _sentence(
        'found "{uri}" behind an "@" with "/", "?" or "#" before it, where a password may end: put a name and a '
        'password into a Secret (spec.source.secretName), and write %40 for an "@" of a path'
    ),
    _sentence(
        'found "{uri}" with a password, which ssh takes from no address: put ssh-privatekey into a Secret '
        "(spec.source.secretName)"
    ),
    _sentence('endpoint has an "@": a name and a password belong into a Secret (spec.source.secretName)'),
    _sentence('found "{uri}", which names no host: write https://HOST/FILE'),
    _sentence('found "{uri}", which names no file: write the address of one file, as in https://HOST/DIRECTORY/FILE'),
    _sentence('found "{uri}", and "{bucket}" is no name of a bucket: write s3://BUCKET/PREFIX'),
    _sentence('found "{uri}", which names no repository: write git+https://HOST/REPOSITORY.git'),
    _sentence('found "{uri}", which names no repository: write git+file:///DIRECTORY'),
    _sentence(
        'found "{uri}": write {scheme}://datasets/OWNER/NAME for a dataset, {scheme}://OWNER/NAME for a model; a '
        "revision is spec.source.revision (--revision)"
    ),
    _sentence('found "{uri}": a directory has a whole path, without "..": write file:///data/words'),
    _sentence('found "{uri}": write claim://NAME, the PersistentVolumeClaim of the same namespace'),
    _sentence('found "{uri}", whose host has a character that no host has'),
    _sentence('found "{uri}", which is no address: its host or its port cannot be one'),
    _sentence("the token of the Secret has a character that no header can have: correct it"),
    # what a server says of a file
    _sentence("the bucket"),
    _sentence("{uri}: the bucket"),
    _sentence('"{file}" of {endpoint}'),
    _sentence("s3://{file} at {endpoint}"),
    _sentence("Hugging Face at {endpoint}"),
    _sentence("ModelScope at {endpoint}"),
    _sentence("{host} answers {code}"),
    _sentence("{host} answers {code} {why}"),
    _sentence("{host} answers {code}, which is no file"),
    _sentence("{host} answers {code} for {uri}, which is no file: correct spec.source.uri"),
    _sentence("{host} answers {code} {why} for {uri}, which is no file: correct spec.source.uri"),
    _sentence("{host} tells a length of {number} bytes, and {most} are the most"),
    _sentence("{host} sent more bytes than it told"),
    _sentence("{host} sent {part} of {whole} bytes"),
    _sentence("{host} sent {part} of {whole} bytes of {file}"),
    _sentence("{host} sends it packed by {name}, though it was asked not to: have it send the file as it is"),
    _sentence("{host} tells a length and sends chunks, so that nobody knows which of them counts: correct the server"),
    _sentence("{host} tells a length of {number} bytes, and 0 to {most} are possible"),
    _sentence("{host} sends another content than was asked for"),
    _sentence("{host} tells a length of {number} bytes, and has told {whole} for the same content"),
    _sentence("{host} sends a part of it (206), though all of it was asked for: correct the server"),
    _sentence("{host} does not say which part it sends"),
    _sentence("{host} sends the part {positions} of {size}, and was asked for that from {number}"),
    _sentence("{host} tells a length of {number} bytes for the part {positions}"),
    _sentence("{host} does not say that the rest is of the same content"),
    _sentence("{host} sends the part {positions} of {whole} bytes"),
    _sentence("{host} has no such part (416), though all of it was asked for: correct the server"),
    _sentence("{host} has no such part"),
    _sentence("{host} tells a length of {number} bytes, and the listing says {whole}"),
    _sentence("{host} sent parts that do not belong together"),
    _sentence("{host} has no such object"),
    _sentence("{host} has another object of this name"),
    _sentence("{uri} changes while it is fetched: wait until it does not ({why})"),
    _sentence("{uri} was cut: the bucket sent {part} of {whole} bytes"),
    _sentence("{uri} was not sent"),
    _sentence("{uri} was removed while the dataset was fetched: fetch it again"),
    _sentence(
        "{uri} has the checksum md5 {found}, and the bucket says {wanted}: its bytes change on the way; fetch it again"
    ),
    # how a server cannot be asked
    _sentence("{uri} leads from one address to the next without end: correct it"),
    _sentence("{uri} leads to {address}, which is no http(s) address"),
    _sentence("{uri} leads to an address that cannot be asked for ({why})"),
    _sentence("{host} sends an answer that cannot be read ({why})"),
    _sentence("the proxy of {host} answers {code}"),
    _sentence("the proxy of {host} answers {code} {why}"),
    _sentence("the proxy {host} cannot be reached"),
    _sentence("{host} cannot be reached"),
    # buckets
    _sentence(
        "{uri} leads to {host}: objects of another host are not taken, and it gets no credentials; if it is the "
        "right one, name it (spec.source.endpoint, or spec.source.region)"
    ),
    _sentence(
        "{uri} is refused ({why}): spec.source.secretName names a Secret with accessKeyID and secretAccessKey that "
        "may list and read it"
    ),
    _sentence("access denied"),
    _sentence(
        "{uri} lists an object with the size {size}, and a file has 0 to {most} bytes: correct it there, or leave it "
        "out (spec.source.exclude)"
    ),
    _sentence("{uri} sends a list that cannot be read ({why})"),
    _sentence("an object"),
    _sentence("there is no {uri} at {endpoint}: correct spec.source.uri, or the endpoint"),
    _sentence("{uri}: {why}: correct spec.source (uri, endpoint, region, secretName)"),
    _sentence("{uri} is in another region: name it (spec.source.region)"),
    _sentence("{uri}: its certificate is not trusted here: name the file of its authority in SSL_CERT_FILE"),
    _sentence("{uri} has {count} objects, and spec.source.include and exclude leave none of them"),
    # hubs
    _sentence(
        "{host} refuses {uri}: accept the terms on its page, if it has some, and give a token by a Secret that "
        "spec.source.secretName names"
    ),
    _sentence(
        "{host} refuses {uri} ({why}): accept the terms on its page, if it has some, and give a token by a Secret "
        "that spec.source.secretName names"
    ),
    _sentence("{host} cannot list {uri} ({why})"),
    _sentence("{uri} has {count} files: correct spec.source"),
    _sentence("{uri} has {count} files, and spec.source.include and exclude leave none of them: correct spec.source"),
    _sentence("the library of the hub cannot be installed: {why}"),
    _sentence("{uri} needs the library {library}: name a Python that has it in the variable {variable}"),
    _sentence("the Python of {variable} cannot use {library} ({why}): install it there"),
    _sentence(
        "{host} has no dataset {uri} that anybody may see: correct spec.source.uri (a dataset begins with "
        "{address}), or give a token by spec.source.secretName"
    ),
    _sentence(
        "{host} has no model {uri} that anybody may see: correct spec.source.uri (a dataset begins with {address}), "
        "or give a token by spec.source.secretName"
    ),
    _sentence("{uri} at {host} has no revision {name}: correct it"),
    # git
    _sentence("spec.source.revision is {found}, which is no name of a branch, a tag or a commit"),
    _sentence("{uri} has no branch, tag or commit {name}: correct spec.source.revision; a commit has 40 characters"),
    _sentence("the source has a link {file} to {found}, which leads out of the dataset: remove it there"),
    _sentence("the source has a link {file} into Paddock's own directory: remove it there"),
    _sentence(
        "the file {file} is kept in Git LFS, and git-lfs is not installed on this machine: install it (apt-get "
        "install git-lfs)"
    ),
    _sentence("git is not installed on this machine: install it (apt-get install git)"),
    _sentence("git cannot fetch {uri}: {why}"),
    _sentence("git cannot fetch {uri} ({why})"),
    _sentence("it said nothing"),
    _sentence(
        "{uri} refuses ({why}): spec.source.secretName names a Secret with username and password, a token, or "
        "ssh-privatekey"
    ),
    _sentence(
        "the key of the host of {uri} is not the one that is known: give the right one as known_hosts in the Secret "
        "that spec.source.secretName names"
    ),
    _sentence(
        "the certificate of {uri} is not trusted here ({why}): name the file of its authority in the variable "
        "SSL_CERT_FILE"
    ),
    _sentence("there is no repository {uri} ({why}): correct spec.source.uri"),
    _sentence("the disk is full: free some space"),
    # names and sizes of files
    _sentence(
        "the source has a file {one} and a file {other}, and a file cannot be a directory as well: rename one there, "
        "or leave it out (spec.source.exclude)"
    ),
    _sentence(
        "the source lists {file} with the size {size}, and a file has 0 to {most} bytes: correct it there, or leave "
        "it out (spec.source.exclude)"
    ),
    _sentence(
        "the source has a file {file}, which has no name: rename it there, or leave it out (spec.source.exclude)"
    ),
    _sentence(
        'the source has a file {file}, whose name begins with "/": rename it there, or leave it out '
        "(spec.source.exclude)"
    ),
    _sentence(
        'the source has a file {file}, whose name has a part "{found}": rename it there, or leave it out '
        "(spec.source.exclude)"
    ),
    _sentence(
        'the source has a file {file}, whose name has a part "": rename it there, or leave it out (spec.source.exclude)'
    ),
    _sentence(
        "the source has a file {file}, whose name has a control character: rename it there, or leave it out "
        "(spec.source.exclude)"
    ),
    _sentence(
        "the source has a file {file}, whose name is no text in UTF-8: rename it there, or leave it out "
        "(spec.source.exclude)"
    ),
    _sentence(
        "the source has a file {file}, whose name has a part of {number} bytes, and {most} are allowed: rename it "
        "there, or leave it out (spec.source.exclude)"
    ),
    _sentence(
        "the source has a file {file}, whose name has {number} bytes, and {most} are allowed: rename it there, or "
        "leave it out (spec.source.exclude)"
    ),
    _sentence(
        'the source has a file {file}, and "{found}" is the name of Paddock\'s own directory in a dataset: rename '
        "it there, or leave it out (spec.source.exclude)"
    ),
    # the machine
    _sentence("{path}: the quota of the disk is used up: free some space; what was fetched is kept"),
    _sentence(
        "{path}: a file is larger than this machine allows: raise the limit (ulimit -f), or use another disk; what "
        "was fetched is kept"
    ),
    _sentence("{path} cannot be written ({why}): make it writable"),
    _sentence("{path}: needs {wanted}, and {free} are free on its disk: free some space, or leave files out"),
    _sentence("{path}: there is no program ({name})"),
    _sentence("another process fetches into {path}: wait for its end"),
    _sentence("the directory {path} cannot be read by user {number}"),
    _sentence("a fault of Paddock: {why}; its log has where"),
    _sentence("a fault of Paddock: the request to fetch cannot be read ({why})"),
    _sentence("fetching failed, by a fault of Paddock: {why}"),
    _sentence("the process that fetches ended with exit code {code}, without a word; what it printed is in {path}"),
    _sentence("{uri} is where it is: nothing of a {kind} is fetched"),
    _sentence('PersistentVolumeClaim "{name}" is not bound after {seconds} s'),
    _sentence('PersistentVolumeClaim "{name}" is not bound to a volume yet'),
    _sentence(
        'PersistentVolumeClaim "{name}" is there already and belongs to somebody else: delete it, or give the '
        "dataset another name"
    ),
    _sentence('there is no PersistentVolumeClaim "{name}" in {where}, which has none'),
    _sentence('Secret "{name}" has a value that is no text'),
    # a cluster
    _sentence("the claim {name} is being removed; it goes when no pod mounts it"),
    _sentence("the claim {name} of an earlier dataset is about to be removed"),
    _sentence(
        "the claim {name} is there and was not made for this dataset, so nothing is written into it: mount it as it "
        "is, by the source claim://{name}, or give the dataset another name"
    ),
    _sentence("the volume of the claim {name} is gone, and its files with it: delete the claim"),
    _sentence("the claim {name} has no volume yet"),
    _sentence("the claim {name} has no volume of class {storage} yet"),
    _sentence('there is no claim "{name}" in namespace {namespace}: did you mean "{near}"?'),
    _sentence('there is no claim "{name}" in namespace {namespace}; there is {names}'),
    _sentence('there is no claim "{name}" in namespace {namespace}; there are {names}'),
    _sentence('there is no claim "{name}" in namespace {namespace}, and no other'),
    _sentence("the cluster does not take spec.storage: {why}"),
    _sentence("the cluster refuses it: {why}"),
    _sentence("the pod that fetched what was wanted before is being ended"),
    _sentence(
        "{uri} is on one machine, and the pods of a cluster run on many: copy it into a claim and name that, as "
        "claim://NAME, or into a bucket, as s3://BUCKET/PREFIX"
    ),
    _sentence(
        "the image {image}, in which datasets are fetched, has not got git: the operator's option --datasets-image "
        "names one that has (docs/kubernetes.md, Datasets on a cluster)"
    ),
    _sentence(
        "the image {image}, in which datasets are fetched, has not got the libraries of hubs: the operator's option "
        "--datasets-image names one that has (docs/kubernetes.md, Datasets on a cluster)"
    ),
    _sentence("its pod is starting"),
    _sentence("its pod cannot start: {why}"),
    _sentence("its pod cannot start yet: {why}"),
    _sentence("its pod has no place: {why}"),
    _sentence("its pod cannot be made: {why}"),
    _sentence("its pod was lost, and another one goes on: {why}"),
    _sentence("the Job {name} has given up: {why}"),
    _sentence("the pod that fetches was ended before its work was done; the last one: {why}"),
    _sentence("the pod that fetches was ended before its work was done, {count} times; the last one: {why}"),
    _sentence("it was deleted"),
    _sentence("{why}: no message"),
    _sentence("it used more memory than its limit"),
    _sentence("it was ended by signal {signal}"),
    _sentence("it ended with exit code {code}"),
    _sentence("it ended with exit code {code}: {why}"),
)
