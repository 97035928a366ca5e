{{/* Copyright The otelpprof Authors */}}
{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The template of the pods of a workload. Parameters: root, and those of the workload. */}}
{{- define "otelcol-pprof.pod" -}}
{{- $chart := .root.Values -}}
{{- $values := index $chart .values -}}
{{- $isAgent := eq .component "agent" -}}
{{- $place := ternary $values $chart $isAgent -}}
{{- $files := include "otelcol-pprof.files" . -}}
{{- $secrets := fromYaml (include "otelcol-pprof.secrets" .) -}}
{{- $limit := $values.resources.limits.memory -}}
metadata:
  labels:
    {{- include "otelcol-pprof.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  annotations:
    # A change of the configuration restarts the pods.
    checksum/config: {{ sha256sum $files }}
    {{- with $chart.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "otelcol-pprof.name" .root }}{{ if $isAgent }}-agent{{ end }}
  {{- if or (eq .file "back") (and $isAgent (not $chart.agent.scrape.enabled)) }}
  automountServiceAccountToken: false # without k8s_attributes, or with passthrough, it does not use the API server
  {{- end }}
  {{- with $chart.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: 60
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with $place.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $place.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if not $isAgent }}
  {{- with $chart.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
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
      image: {{ $chart.image.repository }}:{{ $chart.image.tag | default .root.Chart.AppVersion }}
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
        # 80% of the limit: garbage collection runs more often before the kernel ends the process.
        - {name: GOMEMLIMIT, value: {{ include "otelcol-pprof.mebibytes" (dict "limit" $limit "percent" 80) }}MiB}
        {{- if $isAgent }}
        - name: NODE_NAME
          valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        - {name: GATEWAY_ENDPOINT, value: "{{ include "otelcol-pprof.name" .root }}:4317"}
        {{- else if eq .component "gateway" }}
        # Without a backend no pipeline has the exporter, but its endpoint must not be empty.
        - {name: BACKEND_ENDPOINT, value: {{ $chart.backend.endpoint | default "localhost:4317" | quote }}}
        {{- end }}
        {{- if and $chart.kafka.enabled (not $isAgent) }}
        - {name: KAFKA_BROKERS, value: {{ $chart.kafka.brokers | quote }}}
        {{- end }}
        {{- with $chart.extraEnvs }}
        {{- toYaml . | nindent 8 }}
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
      resources: # a request of half the limit, unless the values have one
        {{- $half := printf "%sMi" (include "otelcol-pprof.mebibytes" (dict "limit" $limit "percent" 50)) }}
        {{- toYaml (merge (deepCopy $values.resources) (dict "requests" (dict "memory" $half))) | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        runAsNonRoot: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: config, mountPath: /etc/otelcol-pprof, readOnly: true}
        {{- range $option, $_ := $secrets }}
        - {name: {{ $option }}, mountPath: /etc/otelcol-pprof-{{ $option }}, readOnly: true}
        {{- end }}
        {{- if .volume }}
        - {name: queue, mountPath: /var/lib/otelcol-pprof}
        {{- end }}
        {{- with $chart.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "otelcol-pprof.name" .root }}-{{ .component }}
    {{- range $option, $secret := $secrets }}
    - {name: {{ $option }}, secret: {secretName: {{ $secret }}, defaultMode: 0440}}
    {{- end }}
    {{- with $chart.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
