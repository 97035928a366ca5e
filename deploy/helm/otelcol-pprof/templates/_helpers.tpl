{{/* Copyright The otelpprof Authors */}}
{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "otelcol-pprof.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "otelcol-pprof.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "otelcol-pprof.labels" -}}
{{ include "otelcol-pprof.selector" . }}
app.kubernetes.io/part-of: otelpprof
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Whether the number of gateways depends on their load. Pages are in one pod, and behind Kafka the front tier scales. */}}
{{- define "otelcol-pprof.gatewayScales" -}}
{{- if and .Values.autoscaling.enabled (not .Values.kafka.enabled) (not .Values.profileView.enabled) }}true{{ end }}
{{- end }}

{{/* A percentage of a memory limit, in MiB. */}}
{{- define "otelcol-pprof.mebibytes" -}}
{{- $number := regexFind "^[0-9.]+" .limit | float64 }}
{{- mulf $number (ternary 1024 1 (hasSuffix "Gi" .limit)) (divf .percent 100) | int64 }}
{{- end }}

{{/* The ports of a Service for senders. */}}
{{- define "otelcol-pprof.servicePorts" -}}
{{- $http := ternary "https" "http" (ne .Values.tls.secretName "") -}}
- {name: pprof, port: 4040, targetPort: pprof, appProtocol: {{ $http }}}
- {name: otlp-grpc, port: 4317, targetPort: otlp-grpc{{ if not .Values.tls.secretName }}, appProtocol: grpc{{ end }}}
- {name: otlp-http, port: 4318, targetPort: otlp-http, appProtocol: {{ $http }}}
{{- end }}
