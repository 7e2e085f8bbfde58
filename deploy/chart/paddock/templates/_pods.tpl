{{/* What the pods of the operator, the webhook and the console have in common. */}}

{{- define "paddock.image" -}}
{{- $name := .Values.image.repository -}}
{{- if .Values.registryMirror -}}{{- $name = printf "%s/%s" .Values.registryMirror $name -}}{{- end -}}
{{- if .Values.image.digest -}}
{{ $name }}@{{ .Values.image.digest }}
{{- else -}}
{{ $name }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Kubernetes' Pod Security Standard "restricted", for a pod and for its container. */}}
{{- define "paddock.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "paddock.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Where pods are placed and with which credentials they are pulled, (list $ COMPONENT'S VALUES). */}}
{{- define "paddock.placement" -}}
{{- $values := index . 1 -}}
{{- with (index . 0).Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
