{{/* Ports with metrics: of the Services, of the monitors and of the network policies. */}}

{{/* (list root where): a YAML list of {name, port, target, container}. `target` is the container's port, by name. */}}
{{- define "csi-driver.metricsPorts" -}}
{{- $root := index . 0 -}}
{{- $where := index . 1 -}}
{{- $on := include "csi-driver.features" $root | fromYaml -}}
{{- $programs := include "csi-driver.programs" $root | fromYaml -}}
{{- $found := list -}}
{{- $combined := list -}}
{{- if and $on.combined (eq $where "controller") -}}
{{- $combined = include "csi-driver.combinedControllers" $root | fromYamlArray -}}
{{- $found = append $found (dict "name" "sidecar-metrics" "port" (int $root.Values.ports.controller.combined) "target" "sidecar-metrics" "container" "csi-sidecars") -}}
{{- end -}}
{{- if eq $on.distributed (eq $where "node") -}}
{{- range $key := include "csi-driver.controllers" $root | fromYamlArray -}}
{{- if not (has $key $combined) -}}
{{- $program := index $programs $key -}}
{{- $found = append $found (dict "name" $program.port "port" (include "csi-driver.port" (list $root $key $where) | int) "target" $program.port "container" $program.container) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $found = append $found (dict "name" "lp-metrics" "port" (int (index $root.Values.ports $where).livenessProbe) "target" "healthz" "container" "liveness-probe") -}}
{{- with (index $root.Values.driver $where).metricsPort -}}
{{- $found = append $found (dict "name" "driver-metrics" "port" (int .) "target" "driver-metrics" "container" "csi-driver") -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}

{{/* (dict root port settings portField): an endpoint of a monitor. */}}
{{- define "csi-driver.monitorEndpoint" -}}
- port: {{ .portName }}
  path: /metrics
  honorLabels: false
  {{- with .settings.interval }}
  interval: {{ . }}
  {{- end }}
  {{- with .settings.scrapeTimeout }}
  scrapeTimeout: {{ . }}
  {{- end }}
  relabelings:
    - {action: replace, targetLabel: container, replacement: {{ .port.container }}}
    - {action: replace, targetLabel: driver, replacement: {{ .root.Values.driver.name }}}
    {{- with .job }}
    - {action: replace, targetLabel: job, replacement: {{ . }}}
    {{- end }}
    {{- with .settings.relabelings }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .settings.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* (dict root where name ports annotations): a headless Service. */}}
{{- define "csi-driver.metricsService" -}}
---
apiVersion: v1
kind: Service
metadata:
  {{- include "csi-driver.metadata" (dict "root" .root "name" .name "namespace" .namespace "component" "metrics" "labels" (dict "csi.csi-sidecars/workload" .where) "annotations" .annotations) | nindent 2 }}
spec:
  clusterIP: None
  selector:
    {{- include "csi-driver.selectorLabels" (list .root .where) | nindent 4 }}
  ports:
    {{- range .ports }}
    - {name: {{ .name }}, port: {{ .port }}, targetPort: {{ .target }}, protocol: TCP}
    {{- end }}
{{ end -}}

{{/* The metrics of the controller that a pod can reach, as a YAML list of URLs. Those on the loopback of a node and behind a policy are not among them. */}}
{{- define "csi-driver.testedEndpoints" -}}
{{- $root := . -}}
{{- $on := include "csi-driver.features" . | fromYaml -}}
{{- $bind := include "csi-driver.bindAddress" (list . "controller") -}}
{{- $urls := list -}}
{{- $open := or (not .Values.networkPolicy.enabled) (not .Values.metrics.allowedFrom) -}}
{{- if and .Values.metrics.enabled $on.controllerPod $open (has $bind (list "" "0.0.0.0" "[::]")) -}}
{{- range include "csi-driver.metricsPorts" (list . "controller") | fromYamlArray -}}
{{- $suffix := ternary (printf "controller-%s" .name) "controller-metrics" $root.Values.metrics.prometheusAnnotations -}}
{{- $urls = append $urls (printf "http://%s.%s.svc:%v/metrics" (include "csi-driver.fullname" (list $root $suffix)) $root.Release.Namespace .port) -}}
{{- end -}}
{{- end -}}
{{- toYaml $urls -}}
{{- end -}}
