{{/*
Whether somebody else's operator of these jobs is there. Two that run one kind both act on each of its jobs.

`lookup` finds nothing where no cluster is asked (`helm template`, `--dry-run`). Who installs with scope=namespace may look
into the release's namespace alone, and at no definition.
*/}}
{{- define "paddock.look" -}}
{{- if ne .Values.foreignOperator "ignore" -}}
{{- $found := concat (include "paddock.foreignDeployments" . | fromJsonArray) (include "paddock.foreignDefinitions" . | fromJsonArray) -}}
{{- if $found -}}
{{- fail (printf "\n\nSomebody else's operator of training jobs seems to be on this cluster, and nothing was installed:\n\n%s\n\nTwo operators that run one kind of job both act on each of its jobs. What to do:\n%s" (join "\n" $found) (include "paddock.advice" .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "paddock.advice" }}
* to put Paddock in its place: stop it, then install with --set foreignOperator=takeOver --take-ownership; jobs stay
* to leave it some kinds: give Paddock the others, as in --set 'kinds={pytorchjobs.kubeflow.org}'
* where this is a mistake: --set foreignOperator=ignore, and nobody looks
docs/kubernetes.md ("By Helm") and docs/kubeflow.md have more.
{{ end -}}

{{/* A sentence for each Deployment that runs one of the kinds, as JSON. */}}
{{- define "paddock.foreignDeployments" -}}
{{- $table := .Files.Get "files/foreign.json" | fromJson -}}
{{- $kinds := include "paddock.kinds" . | fromJsonArray -}}
{{- $where := ternary "" .Release.Namespace (eq (include "paddock.whole" .) "yes") -}}
{{- $found := list -}}
{{- range $deployment := (lookup "apps/v1" "Deployment" $where "").items -}}
{{- $name := $deployment.metadata.name -}}
{{- $namespace := $deployment.metadata.namespace -}}
{{- $images := list -}}
{{- $schemes := list -}}
{{- range $deployment.spec.template.spec.containers -}}
{{- $images = append $images .image -}}
{{- range .args | default list -}}
{{- if hasPrefix $table.schemes . -}}{{- $schemes = append $schemes (trimPrefix $table.schemes . | lower) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $ours := eq "paddock" (get ($deployment.metadata.labels | default dict) "app.kubernetes.io/name") -}}
{{- range $images -}}{{- $ours = or $ours (regexMatch $table.ours .) -}}{{- end -}}
{{- /* With --take-ownership this Deployment becomes Paddock's. */ -}}
{{- $replaced := and (eq $.Values.foreignOperator "takeOver") $.Values.operator.enabled (eq $namespace $.Release.Namespace) (eq $name "paddle-controller-manager") -}}
{{- $stopped := eq 0 (int $deployment.spec.replicas) -}}
{{- if not (or $ours $replaced $stopped) -}}
{{- $known := dict -}}
{{- range $candidate := $table.known -}}
{{- $matches := regexMatch $candidate.name $name -}}
{{- range $images -}}{{- $matches = or $matches (regexMatch $candidate.image .) -}}{{- end -}}
{{- if and $matches (not $known) -}}{{- $known = $candidate -}}{{- end -}}
{{- end -}}
{{- $both := list -}}
{{- range $known.kinds | default list -}}
{{- $scheme := trimSuffix "s" (splitList "." . | first) -}}
{{- if and (has . $kinds) (or (not $schemes) (has $scheme $schemes)) -}}{{- $both = append $both . -}}{{- end -}}
{{- end -}}
{{- if $both -}}
{{- $found = append $found (printf "* Deployment %s in namespace %s (image %s) seems to be %s; it may run %s. To stop it: kubectl -n %s scale deployment %s --replicas=0" $name $namespace (join ", " $images) $known.title (join ", " $both) $namespace $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* A sentence for each definition of these kinds that is not Paddock's, as JSON. */}}
{{- define "paddock.foreignDefinitions" -}}
{{- $table := .Files.Get "files/foreign.json" | fromJson -}}
{{- $found := list -}}
{{- if and (eq .Values.foreignOperator "refuse") (include "paddock.whole" .) -}}
{{- range $kind := include "paddock.kinds" . | fromJsonArray -}}
{{- $definition := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $kind -}}
{{- if $definition -}}
{{- $ours := false -}}
{{- range $definition.spec.versions -}}
{{- $ours = or $ours (dig "schema" "openAPIV3Schema" "properties" "status" "properties" $table.ownField false .) -}}
{{- end -}}
{{- if not $ours -}}
{{- $found = append $found (printf "* CustomResourceDefinition %s is not Paddock's (%s): whoever put it there may run these jobs, also from outside the cluster, as Baidu CCE's Deep Learning Frameworks Operator may%s" $kind (include "paddock.owner" $definition) (include "paddock.release" $definition)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* A sentence on the Helm release of somebody else's definition. `helm uninstall` deletes what its release has made,
whoever owns it since, and with a definition all its jobs. */}}
{{- define "paddock.release" -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- with get $annotations "meta.helm.sh/release-name" -}}
. Never uninstall that release, or all jobs are deleted; once Paddock has taken over, have Helm forget it: kubectl -n {{ get $annotations "meta.helm.sh/release-namespace" }} delete secret -l owner=helm,name={{ . }}
{{- end -}}
{{- end -}}

{{/* Whose an object is by its labels and annotations. */}}
{{- define "paddock.owner" -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $said := list -}}
{{- with get $annotations "meta.helm.sh/release-name" -}}
{{- $said = append $said (printf "Helm release %s in namespace %s" . (get $annotations "meta.helm.sh/release-namespace")) -}}
{{- end -}}
{{- range $label := list "app.kubernetes.io/part-of" "app.kubernetes.io/name" "app.kubernetes.io/managed-by" "app" "addonmanager.kubernetes.io/mode" -}}
{{- with get $labels $label -}}{{- $said = append $said (printf "%s: %s" $label .) -}}{{- end -}}
{{- end -}}
{{- with get $annotations "controller-gen.kubebuilder.io/version" -}}{{- $said = append $said (printf "made by controller-gen %s" .) -}}{{- end -}}
{{- $said = append $said (printf "since %s" .metadata.creationTimestamp) -}}
{{- join ", " $said -}}
{{- end -}}
