{{/* Rules of RBAC. They are those of src/paddock/install/rights.py, which tests/chart writes into files/rights.json. */}}

{{/* What the operator may do where jobs are: the jobs' own rules, those of their pods, of datasets, and of autoscalers. */}}
{{- define "paddock.jobRules" -}}
{{- $rights := .Files.Get "files/rights.json" | fromJson -}}
{{- $resources := include "paddock.resources" . | fromJsonArray -}}
{{- $rules := list -}}
{{- $groups := list -}}
{{- $scaled := false -}}
{{- range $resources -}}
{{- $groups = append $groups .group -}}
{{- $scaled = or $scaled .scaled -}}
{{- end -}}
{{- range $group := uniq $groups -}}
{{- range $right := $rights.jobs -}}
{{- $plurals := list -}}
{{- range $resources -}}
{{- if eq .group $group -}}{{- $plurals = append $plurals (print .plural $right.suffix) -}}{{- end -}}
{{- end -}}
{{- $rules = append $rules (dict "apiGroups" (list $group) "resources" $plurals "verbs" $right.verbs) -}}
{{- end -}}
{{- end -}}
{{- $rules = concat $rules (ternary $rights.childrenAndDatasets $rights.children .Values.datasets.enabled) -}}
{{- if $scaled -}}{{- $rules = concat $rules $rights.scaling -}}{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* What users may do with jobs and datasets, (list $ VERBS). */}}
{{- define "paddock.userRules" -}}
{{- $verbs := index . 1 -}}
{{- $rules := list -}}
{{- $resources := include "paddock.resources" (index . 0) | fromJsonArray -}}
{{- if (index . 0).Values.datasets.enabled -}}
{{- $resources = append $resources (dict "group" "paddock.dev" "plural" "datasets") -}}
{{- end -}}
{{- range $resources -}}
{{- $rules = append $rules (dict "apiGroups" (list .group) "resources" (list .plural) "verbs" $verbs) -}}
{{- $rules = append $rules (dict "apiGroups" (list .group) "resources" (list (print .plural "/status")) "verbs" (list "get")) -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* The subject of a binding: the operator's account. */}}
{{- define "paddock.subject" -}}
- kind: ServiceAccount
  name: paddle-manager-sa
  namespace: {{ .Release.Namespace }}
{{- end -}}
