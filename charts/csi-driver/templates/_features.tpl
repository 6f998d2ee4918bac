{{/* What is on: modes, features, and what `auto` became. */}}

{{/* (list root value "group/version"...): "true" or "". */}}
{{- define "csi-driver.triState" -}}
{{- $value := index . 1 | toString -}}
{{- if eq $value "auto" -}}
{{- $root := index . 0 -}}
{{- range rest (rest .) }}{{ if $root.Capabilities.APIVersions.Has . }}true{{ break }}{{ end }}{{ end -}}
{{- else if eq $value "true" -}}
true
{{- end -}}
{{- end -}}

{{/* Every feature as a boolean, in YAML. */}}
{{- define "csi-driver.features" -}}
{{- $f := .Values.features -}}
{{- $distributed := eq .Values.mode "distributed" -}}
{{- $snapshots := include "csi-driver.triState" (list . $f.snapshots "snapshot.storage.k8s.io/v1") -}}
controllerPod: {{ and .Values.controller.enabled (has .Values.mode (list "controller" "controller-only")) }}
nodePod: {{ and .Values.node.enabled (ne .Values.mode "controller-only") }}
distributed: {{ $distributed }}
combined: {{ .Values.sidecars.combined.enabled }}
attach: {{ $f.attach }}
resize: {{ $f.resize }}
snapshots: {{ ternary true false (eq $snapshots "true") }}
groupSnapshots: {{ and (eq $snapshots "true") (eq (include "csi-driver.triState" (list . $f.groupSnapshots "groupsnapshot.storage.k8s.io/v1")) "true") }}
volumeAttributesClass: {{ eq (include "csi-driver.triState" (list . $f.volumeAttributesClass "storage.k8s.io/v1/VolumeAttributesClass" "storage.k8s.io/v1beta1/VolumeAttributesClass")) "true" }}
topology: {{ $f.topology }}
capacity: {{ or $f.capacity $distributed }}
snapshotMetadata: {{ $f.snapshotMetadata }}
healthMonitor: {{ $f.healthMonitor }}
crossNamespaceDataSources: {{ $f.crossNamespaceDataSources }}
handleVolumeInUseError: {{ .Values.sidecars.resizer.handleVolumeInUseError }}
serviceMonitor: {{ and .Values.metrics.enabled (eq (include "csi-driver.triState" (list . .Values.metrics.serviceMonitor.enabled "monitoring.coreos.com/v1/ServiceMonitor")) "true") }}
podMonitor: {{ and .Values.metrics.enabled (eq (include "csi-driver.triState" (list . .Values.metrics.podMonitor.enabled "monitoring.coreos.com/v1/PodMonitor")) "true") }}
test: {{ and (default false .Values.test.enabled) (eq (include "csi-driver.ownImageIsSomewhere" (list . .Values.test.image)) "true") (or .Values.sidecars.combined.enabled (ne (include "csi-driver.isUpstream" (list . "provisioner")) "true") (not (empty (dig "repository" "" .Values.test.image))) (not (empty (dig "registry" "" .Values.test.image)))) }}
prometheusRule: {{ and .Values.metrics.enabled (eq (include "csi-driver.triState" (list . .Values.metrics.rules.enabled "monitoring.coreos.com/v1/PrometheusRule")) "true") }}
{{- end -}}

{{/* Keys below `sidecars` of the controllers that run, in the order of their containers, as a YAML list. */}}
{{- define "csi-driver.controllers" -}}
{{- $on := include "csi-driver.features" . | fromYaml -}}
{{- $keys := list -}}
{{- if or $on.controllerPod (and $on.distributed $on.nodePod) -}}
{{- $keys = append $keys "provisioner" -}}
{{- if and $on.attach (not $on.distributed) }}{{ $keys = append $keys "attacher" }}{{ end -}}
{{- if and $on.resize (not $on.distributed) }}{{ $keys = append $keys "resizer" }}{{ end -}}
{{- if $on.snapshots }}{{ $keys = append $keys "snapshotter" }}{{ end -}}
{{- if and $on.snapshotMetadata (not $on.distributed) }}{{ $keys = append $keys "snapshotMetadata" }}{{ end -}}
{{- if and $on.healthMonitor (not $on.distributed) }}{{ $keys = append $keys "healthMonitor" }}{{ end -}}
{{- end -}}
{{- toYaml $keys -}}
{{- end -}}

{{/* Those of them that the combined program can run. */}}
{{- define "csi-driver.combinedControllers" -}}
{{- $keys := list -}}
{{- range include "csi-driver.controllers" . | fromYamlArray -}}
{{- if has . (list "provisioner" "attacher" "resizer" "snapshotter" "healthMonitor") }}{{ $keys = append $keys . }}{{ end -}}
{{- end -}}
{{- toYaml $keys -}}
{{- end -}}

{{/* Who elects a leader, as a YAML list. */}}
{{- define "csi-driver.electing" -}}
{{- $keys := list -}}
{{- if and .Values.leaderElection.enabled (ne .Values.mode "distributed") -}}
{{- range include "csi-driver.controllers" . | fromYamlArray -}}
{{- if ne . "snapshotMetadata" }}{{ $keys = append $keys . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toYaml $keys -}}
{{- end -}}

{{- define "csi-driver.kubeletDir" -}}
{{- $folder := regexReplaceAll "/+$" .Values.kubeletDir "" -}}
{{- default "/" $folder -}}
{{- end -}}

{{/* (list root "controller"|"node"): where an endpoint listens, without its port. */}}
{{- define "csi-driver.bindAddress" -}}
{{- $pod := index (index . 0).Values (index . 1) -}}
{{- if $pod.bindAddress }}{{ $pod.bindAddress }}{{ else if $pod.hostNetwork }}localhost{{ end -}}
{{- end -}}

{{/* (list root where): `host` of a probe, as a YAML line. Pods of their own network are reached by their address. */}}
{{- define "csi-driver.probeHost" -}}
{{- $bind := include "csi-driver.bindAddress" . -}}
{{- if and $bind (not (has $bind (list "0.0.0.0" "[::]"))) }}
host: {{ trimAll "[]" $bind }}
{{- end -}}
{{- end -}}
