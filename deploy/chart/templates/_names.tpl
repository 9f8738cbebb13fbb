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

{{/* Settings that the chart ignores, and replicas that do each other's work again. */}}
{{- define "signature-aggregator.warnings" -}}
{{- range $path, $instead := dict
  "server.host" "" "server.port" "service.port" "server.drainDelayMs" "drainDelayMs" "server.shutdownTimeoutMs" "shutdownTimeoutMs"
  "store.path" "" }}
{{- $parts := splitList "." $path }}
{{- if hasKey (default dict (get $.Values.config (first $parts))) (last $parts) }}

WARNING: config.{{ $path }} is ignored: the chart sets it.{{ if $instead }} Set {{ $instead }} in its place.{{ end }}
{{- end }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not (get (default dict .Values.config.store) "sharedUrl")) }}

WARNING: {{ .Values.replicas }} replicas without config.store.sharedUrl, a Redis that they share: each asks the validators for the same message, and
a client has its limit at each of them.
{{- end }}
{{- end }}
