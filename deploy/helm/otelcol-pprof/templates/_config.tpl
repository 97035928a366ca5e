{{/* Copyright The otelpprof Authors */}}
{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Values that contradict each other. */}}
{{- define "otelcol-pprof.check" -}}
{{- with .Values }}
{{- if not (or .backend.endpoint .profileView.enabled) }}
{{- fail "Set backend.endpoint to the host:port of a receiver of OTLP profiles over gRPC, or profileView.enabled to true for pages without a backend." }}
{{- end }}
{{- if and .backend.tokenSecretName (not .backend.tls.enabled) }}
{{- fail "backend.tokenSecretName needs backend.tls.enabled: tokens are only sent over TLS." }}
{{- end }}
{{- if and .backend.tls.secretName (not .backend.tls.enabled) }}
{{- fail "backend.tls.secretName needs backend.tls.enabled." }}
{{- end }}
{{- if and .kafka.enabled (not .kafka.brokers) }}
{{- fail "kafka.enabled needs kafka.brokers, as host:port,host:port." }}
{{- end }}
{{- if and .agent.scrape.enabled (not .agent.enabled) }}
{{- fail "agent.scrape.enabled needs agent.enabled." }}
{{- end }}
{{- if and .auth.secretName .agent.enabled }}
{{- fail "auth.secretName and agent.enabled exclude each other: agents have no password for the gateway." }}
{{- end }}
{{- if and .ingress.enabled (not .ingress.hosts) }}
{{- fail "ingress.enabled needs ingress.hosts." }}
{{- end }}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) }}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs." }}
{{- end }}
{{- end }}
{{- end }}

{{/* The parameters of each workload. receives: it has ports for senders. volume: it has a queue or pages on a volume. */}}
{{- define "otelcol-pprof.gateway" -}}
{component: gateway, values: gateway, file: {{ ternary "back" "gateway" .Values.kafka.enabled }}, receives: {{ not .Values.kafka.enabled }}, volume: {{ or (not .Values.kafka.enabled) .Values.profileView.enabled }}}
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

{{/* The options of a workload. Each is a file of files/, which is merged over the configuration. */}}
{{- define "otelcol-pprof.options" -}}
{{- $receives := .receives }}
{{- $isAgent := eq .component "agent" }}
{{- $isGateway := eq .component "gateway" }}
{{- with .root.Values }}
{{- if and $receives .tls.secretName }}
- tls
{{- end }}
{{- if and $receives .auth.secretName }}
- auth
{{- end }}
{{- if and $isAgent .tls.secretName }}
- gateway-tls
{{- end }}
{{- if and $isAgent .agent.scrape.enabled }}
- scrape
{{- end }}
{{- if and $receives .agent.enabled (not $isAgent) }}
- behind-agents
{{- end }}
{{- if and $isGateway .backend.tls.enabled }}
- backend-tls
{{- end }}
{{- if and $isGateway .backend.tls.secretName }}
- backend-ca
{{- end }}
{{- if and $isGateway .backend.tokenSecretName }}
- backend-token
{{- end }}
{{- if and $isGateway .profileView.enabled }}
- profile-view
{{- end }}
{{- end }}
{{- end }}

{{/* The Secrets of a workload, by the option that needs each. They are mounted at /etc/otelcol-pprof-<option>. */}}
{{- define "otelcol-pprof.secrets" -}}
{{- $options := fromYamlArray (include "otelcol-pprof.options" .) }}
{{- with .root.Values }}
{{- range $option, $name := dict "tls" .tls.secretName "auth" .auth.secretName "backend-ca" .backend.tls.secretName "backend-token" .backend.tokenSecretName }}
{{- if has $option $options }}
{{ $option }}: {{ $name | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The configuration files of a workload. Each is merged over the one before, in the order of their names. */}}
{{- define "otelcol-pprof.files" -}}
{{- $root := .root }}
{{- $options := fromYamlArray (include "otelcol-pprof.options" .) }}
{{- $config := $root.Files.Get (printf "files/%s.yaml" .file) }}
{{- $extensions := (fromYaml $config).service.extensions }}
config.yaml: |
{{ $config | indent 2 }}
{{- range $options }}
{{- $option := $root.Files.Get (printf "files/%s.yaml" .) }}
{{- $extensions = concat $extensions (keys (get (fromYaml $option) "extensions" | default dict) | sortAlpha) }}
option-{{ . }}.yaml: |
{{ $option | indent 2 }}
{{- end }}
{{- if $options }}
service.yaml: |
  # Lists replace lists: these are those of config.yaml, and what the options add.
  service:
    extensions: {{ toJson $extensions }}
{{- if has "profile-view" $options }}
    pipelines:
      profiles:
        exporters: [{{ if $root.Values.backend.endpoint }}otlp_grpc, {{ end }}profile_view]
{{- end }}
{{- end }}
{{- with (index $root.Values .values).config }}
values.yaml: |
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}
