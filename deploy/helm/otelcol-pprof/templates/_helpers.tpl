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
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The configuration files of a component. Each is merged over the one before. */}}
{{- define "otelcol-pprof.files" -}}
{{- $values := index .root.Values .values -}}
config.yaml: |
{{ .root.Files.Get (printf "files/%s.yaml" .file) | indent 2 }}
{{- if and .receives (ne .component "agent") .root.Values.agent.enabled }}
over-agents.yaml: |
{{ .root.Files.Get "files/behind-agents.yaml" | indent 2 }}
{{- end }}
{{- with $values.config }}
over-values.yaml: |
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}

{{/* The template of the pods of a component. Parameters: root, component, values (a key), file, receives, volume. */}}
{{- define "otelcol-pprof.pod" -}}
{{- $values := index .root.Values .values -}}
{{- $files := include "otelcol-pprof.files" . -}}
metadata:
  labels:
    {{- include "otelcol-pprof.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  annotations:
    # A change of the configuration restarts the pods.
    checksum/config: {{ sha256sum $files }}
spec:
  serviceAccountName: {{ include "otelcol-pprof.name" .root }}{{ if eq .component "agent" }}-agent{{ end }}
  {{- if has .file (list "agent" "back") }}
  automountServiceAccountToken: false # without k8s_attributes, or with passthrough, it does not use the API server
  {{- end }}
  terminationGracePeriodSeconds: 60
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- if eq .component "agent" }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- else }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "otelcol-pprof.selector" .root | nindent 10 }}
          app.kubernetes.io/component: {{ .component }}
  {{- end }}
  containers:
    - name: otelcol-pprof
      image: {{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
      args:
        {{- range keys (fromYaml $files) | sortAlpha }}
        - --config=/etc/otelcol-pprof/{{ . }}
        {{- end }}
        - --feature-gates=service.profilesSupport # profiles are an alpha signal of the Collector
      env:
        - name: MY_POD_IP
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - {name: GOMEMLIMIT, value: {{ $values.goMemoryLimit | quote }}}
        {{- if eq .component "agent" }}
        - {name: GATEWAY_ENDPOINT, value: "{{ include "otelcol-pprof.name" .root }}:4317"}
        {{- else if eq .component "front" }}
        - {name: KAFKA_BROKERS, value: {{ .root.Values.kafka.brokers | quote }}}
        {{- else }}
        - {name: BACKEND_ENDPOINT, value: {{ required "backend is empty" .root.Values.backend | quote }}}
        {{- if .root.Values.kafka.enabled }}
        - {name: KAFKA_BROKERS, value: {{ .root.Values.kafka.brokers | quote }}}
        {{- end }}
        {{- end }}
      ports:
        {{- if .receives }}
        - {name: pprof, containerPort: 4040}
        - {name: otlp-grpc, containerPort: 4317}
        - {name: otlp-http, containerPort: 4318}
        {{- end }}
        - {name: health, containerPort: 13133}
        - {name: metrics, containerPort: 8888}
      {{- if .receives }}
      lifecycle:
        preStop:
          sleep: {seconds: 5} # no Service leads here any more when the receivers stop: clients that never retry lose nothing
      {{- end }}
      startupProbe:
        httpGet: {path: /, port: health}
        periodSeconds: 2
        failureThreshold: 60 # opening a large queue takes long
      readinessProbe:
        httpGet: {path: /, port: health}
        periodSeconds: 5
      livenessProbe:
        httpGet: {path: /, port: health}
        periodSeconds: 10
        failureThreshold: 6
      resources:
        {{- toYaml $values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        runAsNonRoot: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: config, mountPath: /etc/otelcol-pprof, readOnly: true}
        {{- if .volume }}
        - {name: queue, mountPath: /var/lib/otelcol-pprof}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "otelcol-pprof.name" .root }}-{{ .component }}
{{- end }}

{{/* The parameters of each workload. receives: it has ports for senders. volume: it has a volume. */}}
{{- define "otelcol-pprof.gateway" -}}
{component: gateway, values: gateway, file: {{ ternary "back" "gateway" .Values.kafka.enabled }}, receives: {{ not .Values.kafka.enabled }}, volume: true}
{{- end }}
{{- define "otelcol-pprof.front" -}}
{component: front, values: kafka, file: front, receives: true, volume: false}
{{- end }}
{{- define "otelcol-pprof.agent" -}}
{component: agent, values: agent, file: agent, receives: true, volume: false}
{{- end }}
{{- define "otelcol-pprof.workloads" -}}
- gateway
{{- if .Values.kafka.enabled }}
- front
{{- end }}
{{- if .Values.agent.enabled }}
- agent
{{- end }}
{{- end }}
