{{/* Pods: what Deployment and DaemonSets share. */}}

{{/* (dict root where component affinity): the affinity of the controller. */}}
{{- define "csi-driver.controllerAffinity" -}}
{{- $c := .Values.controller -}}
{{- $selector := dict "matchLabels" (include "csi-driver.selectorLabels" (list . "controller") | fromYaml) -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" $selector -}}
{{- $affinity := dict -}}
{{- if eq $c.antiAffinity "soft" -}}
{{- $affinity = dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 100 "podAffinityTerm" $term))) -}}
{{- else if eq $c.antiAffinity "hard" -}}
{{- $affinity = dict "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- end -}}
{{- toYaml (mergeOverwrite $affinity (deepCopy (default dict $c.affinity))) -}}
{{- end -}}

{{/* (pod): DNS, the host's network, names of hosts, the runtime. */}}
{{- define "csi-driver.podNetwork" -}}
{{- $pod := . -}}
hostNetwork: {{ default false $pod.hostNetwork }}
{{- if $pod.dnsPolicy }}
dnsPolicy: {{ $pod.dnsPolicy }}
{{- else if $pod.hostNetwork }}
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with $pod.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* (dict root node driver key): a node DaemonSet. `key` is that of an additional one, or "". */}}
{{- define "csi-driver.nodeDaemonSet" -}}
{{- $root := .root -}}
{{- $node := .node -}}
{{- $driver := .driver -}}
{{- $on := include "csi-driver.features" $root | fromYaml -}}
{{- $own := dict -}}
{{- if .key }}{{ $_ := set $own "csi.csi-sidecars/daemonset" .key }}{{ end -}}
{{- $kubelet := include "csi-driver.kubeletDir" $root -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  {{- $name := ternary (printf "node-%s" .key) "node" (ne .key "") }}
  {{- include "csi-driver.metadata" (dict "root" $root "name" (include "csi-driver.fullname" (list $root $name)) "namespace" (include "csi-driver.nodeNamespace" $root) "component" "node" "labels" $own "annotations" $node.annotations) | nindent 2 }}
spec:
  revisionHistoryLimit: {{ int $node.revisionHistoryLimit }}
  updateStrategy:
    {{- toYaml $node.updateStrategy | nindent 4 }}
  selector:
    matchLabels:
      {{- include "csi-driver.selectorLabels" (list $root "node") | nindent 6 }}
      {{- if .key }}
      csi.csi-sidecars/daemonset: {{ toYaml .key }}
      {{- else }}
    matchExpressions:
      - {key: csi.csi-sidecars/daemonset, operator: DoesNotExist}
      {{- end }}
  template:
    metadata:
      labels:
        {{- $labels := include "csi-driver.labels" (list $root "node") | fromYaml }}
        {{- toYaml (merge $own $labels (default dict $node.podLabels)) | nindent 8 }}
      annotations:
        {{- $defaults := dict "kubectl.kubernetes.io/default-container" "csi-driver" }}
        {{- toYaml (merge (dict) (default dict $node.podAnnotations) (default dict $root.Values.commonAnnotations) $defaults) | nindent 8 }}
    spec:
      {{- include "csi-driver.pullSecrets" $root | trim | nindent 6 }}
      serviceAccountName: {{ include "csi-driver.serviceAccountName" (list $root "node") | toYaml }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      priorityClassName: {{ $node.priorityClassName }}
      terminationGracePeriodSeconds: {{ int $node.terminationGracePeriodSeconds }}
      hostPID: {{ default false $node.hostPID }}
      hostIPC: {{ default false $node.hostIPC }}
      {{- include "csi-driver.podNetwork" $node | nindent 6 }}
      nodeSelector:
        {{- toYaml (merge (deepCopy (default dict $node.nodeSelector)) (dict "kubernetes.io/os" "linux")) | nindent 8 }}
      {{- with $node.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $node.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $node.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $node.initContainers }}
      initContainers:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        {{- include "csi-driver.driverContainer" (dict "root" $root "where" "node" "driver" $driver "node" $node) | nindent 8 }}
        {{- if $on.distributed }}
        {{- range include "csi-driver.controllers" $root | fromYamlArray }}
        {{- include "csi-driver.controllerContainer" (dict "root" $root "key" . "where" "node") | nindent 8 }}
        {{- end }}
        {{- end }}
        {{- include "csi-driver.registrarContainer" $root | nindent 8 }}
        {{- with $node.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "csi-driver.livenessContainer" (dict "root" $root "where" "node") | nindent 8 }}
      volumes:
        - name: plugin-dir
          hostPath: {path: {{ $kubelet }}/plugins/{{ $root.Values.driver.name }}, type: DirectoryOrCreate}
        - name: registration-dir
          hostPath: {path: {{ $kubelet }}/plugins_registry, type: Directory}
        - name: pods-mount-dir
          hostPath: {path: {{ $kubelet }}/pods, type: Directory}
        {{- if $driver.stageUnstage }}
        - name: plugins-mount-dir
          hostPath: {path: {{ $kubelet }}/plugins, type: Directory}
        {{- end }}
        {{- if $node.deviceDir }}
        - name: device-dir
          hostPath: {path: /dev, type: Directory}
        {{- end }}
        {{- range $name, $host := $node.hostPaths }}
        - name: {{ $name }}
          hostPath: {path: {{ $host.path }}, type: {{ default "Directory" $host.type }}}
        {{- end }}
        {{- if or $on.distributed $driver.mountToken }}
        {{- include "csi-driver.tokenVolume" $root | nindent 8 }}
        {{- end }}
        {{- with $node.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/*
(dict text driver pod root): the text of a workload, unless one of its lists has two entries of one name, which the API server refuses or
merges into one. `driver` and `pod`: the values of its driver and of its pod, for the message.
*/}}
{{- define "csi-driver.workload" -}}
{{- $object := fromYaml .text -}}
{{- with $object.Error }}{{ fail (printf "a value of the %s pod is not what its place needs: %s" $.pod .) }}{{ end -}}
{{- $spec := $object.spec.template.spec -}}
{{- $containers := concat (default list $spec.initContainers) $spec.containers -}}
{{- include "csi-driver.distinct" (list $containers "name" (printf "%s has two containers" $object.metadata.name) (printf "%s.extraContainers or %s.initContainers" .pod .pod)) -}}
{{- include "csi-driver.distinct" (list $spec.volumes "name" (printf "%s has two volumes" $object.metadata.name) (printf "%s.extraVolumes or node.hostPaths" .pod)) -}}
{{- $values := dict "csi-driver" .driver "csi-sidecars" "sidecars.combined" -}}
{{- range $key, $program := include "csi-driver.programs" .root | fromYaml }}{{ $_ := set $values $program.container (printf "sidecars.%s" $key) }}{{ end -}}
{{- range $containers -}}
{{- $of := printf "the container %s of %s" .name $object.metadata.name -}}
{{- $value := default (printf "%s.extraContainers" $.pod) (get $values .name) -}}
{{- include "csi-driver.distinct" (list .volumeMounts "mountPath" (printf "%s has two mounts" $of) (printf "%s.volumeMounts" $value)) -}}
{{- include "csi-driver.distinct" (list .ports "name" (printf "%s has two ports" $of) (printf "%s.ports" $value)) -}}
{{- $numbers := list -}}
{{- range .ports }}{{ $numbers = append $numbers (dict "number" (printf "%v %s" .containerPort (default "TCP" .protocol))) }}{{ end -}}
{{- include "csi-driver.distinct" (list $numbers "number" (printf "%s has two ports" $of) (printf "%s.ports" $value)) -}}
{{- end -}}
{{- .text -}}
{{- end -}}

{{/* (list entries key what value) */}}
{{- define "csi-driver.distinct" -}}
{{- $key := index . 1 -}}
{{- $seen := dict -}}
{{- range index . 0 -}}
{{- $id := get . $key | toString -}}
{{- if and $id (hasKey $seen $id) }}{{ fail (printf "%s with the %s %s: one is the chart's or was given twice. Change it in %s" (index $ 2) $key $id (index $ 3)) }}{{ end -}}
{{- $_ := set $seen $id true -}}
{{- end -}}
{{- end -}}
