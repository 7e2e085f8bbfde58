{{/* What several templates ask of the values. Lists are JSON: a template gives back text alone. */}}

{{/* The namespaces whose jobs are run; [] is all of them. */}}
{{- define "paddock.watched" -}}
{{- if eq (toJson .Values.namespaces) "\"all\"" -}}
[]
{{- else if .Values.namespaces -}}
{{- toJson .Values.namespaces -}}
{{- else -}}
{{- toJson (list .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{/* The kinds that are run, as names of definitions, each once; a group is all its kinds. */}}
{{- define "paddock.kinds" -}}
{{- $known := (.Files.Get "files/rights.json" | fromJson).kinds -}}
{{- $found := list -}}
{{- range $name := .Values.kinds -}}
{{- range $kind := $known -}}
{{- if or (eq $name $kind.name) (eq $name $kind.group) -}}
{{- $found = append $found $kind.name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson (uniq $found) -}}
{{- end -}}

{{/* The same, each with its group, version and plural. */}}
{{- define "paddock.resources" -}}
{{- $known := (.Files.Get "files/rights.json" | fromJson).kinds -}}
{{- $found := list -}}
{{- range $name := include "paddock.kinds" . | fromJsonArray -}}
{{- range $kind := $known -}}
{{- if eq $name $kind.name -}}
{{- $found = append $found $kind -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* Whether the release has what is the cluster's own: "yes" or nothing. */}}
{{- define "paddock.whole" -}}
{{- if eq .Values.scope "cluster" -}}yes{{- end -}}
{{- end -}}

{{/* The name of an object of the whole cluster, (list $ NAME): two installations do not collide. */}}
{{- define "paddock.clusterName" -}}
{{- $namespace := (index . 0).Release.Namespace -}}
{{- $name := index . 1 -}}
{{- if eq $namespace "paddle-system" -}}{{ $name }}{{- else -}}{{ $name }}-{{ $namespace }}{{- end -}}
{{- end -}}

{{/* The name of an object in a watched namespace, (list $ NAMESPACE NAME). */}}
{{- define "paddock.nameIn" -}}
{{- $namespace := (index . 0).Release.Namespace -}}
{{- $name := index . 2 -}}
{{- if eq $namespace (index . 1) -}}{{ $name }}{{- else -}}{{ $name }}-{{ $namespace }}{{- end -}}
{{- end -}}

{{- define "paddock.consoleNamespace" -}}
{{- .Values.console.namespace | default .Release.Namespace -}}
{{- end -}}

{{/* Labels of every object of a component, (list $ COMPONENT). */}}
{{- define "paddock.labels" -}}
app.kubernetes.io/name: paddock
app.kubernetes.io/component: {{ . }}
{{- end -}}

{{/* Combinations that no schema can refuse. */}}
{{- define "paddock.check" -}}
{{- if ne .Values.scope "cluster" -}}
{{- if eq (toJson .Values.namespaces) "\"all\"" -}}
{{- fail "namespaces=all needs rights in all of them, which scope=namespace does not give: name the namespaces, or set scope=cluster" -}}
{{- end -}}
{{- if .Values.crds -}}
{{- fail "crds=true installs definitions, which are the cluster's own, and scope=namespace leaves out what is: set crds=false, and let an administrator apply `paddock manifests crd`" -}}
{{- end -}}
{{- if and .Values.console.enabled (eq .Values.console.namespace "paddle-console") -}}
{{- fail "console.namespace=paddle-console makes that Namespace, which is the cluster's own, and scope=namespace leaves out what is: set console.namespace to the empty text for the release's namespace, or to one that exists" -}}
{{- end -}}
{{- if .Values.webhook.enabled -}}
{{- fail "webhook.enabled=true: a webhook is the cluster's own, which scope=namespace leaves out" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.console.keep.claim (eq .Values.scope "namespace") -}}
{{- fail "console.keep reads the jobs of all namespaces, which scope=namespace gives nobody the right to: leave console.keep.claim empty" -}}
{{- end -}}
{{- if ne (empty .Values.console.oidc.issuer) (empty .Values.console.oidc.clientId) -}}
{{- fail "console.oidc.issuer and console.oidc.clientId belong together: set both, or none" -}}
{{- end -}}
{{- if and .Values.datasets.image (not .Values.datasets.enabled) -}}
{{- fail (printf "datasets.image=%s needs datasets.enabled=true" .Values.datasets.image) -}}
{{- end -}}
{{- if and (gt (int .Values.operator.shards) 1) (eq (len (include "paddock.watched" . | fromJsonArray)) 1) -}}
{{- fail (printf "operator.shards=%d shares several namespaces out, and here is one: set namespaces=all, or name them, or leave operator.shards out" (int .Values.operator.shards)) -}}
{{- end -}}
{{- if and .Values.gangScheduler.name (not .Values.gangScheduler.podGroups) -}}
{{- fail (printf "gangScheduler.name=%s needs gangScheduler.podGroups: volcano, scheduler-plugins, coscheduling or kubernetes" .Values.gangScheduler.name) -}}
{{- end -}}
{{- end -}}
