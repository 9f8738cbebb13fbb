{{- define "signature-aggregator.name" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name }}
{{- if contains .Chart.Name .Release.Name }}{{ $name = .Release.Name }}{{ end }}
{{- $name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "signature-aggregator.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "signature-aggregator.labels" -}}
{{ include "signature-aggregator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* What the chart decides goes over what the values say: the rest of the chart depends on it. */}}
{{- define "signature-aggregator.config" -}}
{{- $own := dict
  "server" (dict "host" "0.0.0.0" "port" 8080 "drainDelayMs" (int .Values.drainDelayMs) "shutdownTimeoutMs" (int .Values.shutdownTimeoutMs))
  "metrics" (dict "port" 9091)
  "identity" (dict "directory" "/data/identity")
  "store" (dict "path" "/data/store") }}
{{- mergeOverwrite (deepCopy .Values.config) $own | toPrettyJson }}
{{- end }}
