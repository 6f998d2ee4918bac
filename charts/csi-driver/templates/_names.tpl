{{/* Names and labels. Every suffix is accounted for before a name is cut, so that names of one release stay different. */}}

{{- define "csi-driver.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "csi-driver.base" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (default .Chart.Name .Values.nameOverride) .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (default .Chart.Name .Values.nameOverride) -}}
{{- end -}}
{{- end -}}

{{/* (list root suffix): `<full>-<suffix>`, or `<full>` for the suffix "". */}}
{{- define "csi-driver.fullname" -}}
{{- $base := include "csi-driver.base" (index . 0) | trimSuffix "-" -}}
{{- $suffix := index . 1 -}}
{{- if gt (len $suffix) 40 }}{{ $suffix = printf "%s-%s" (trunc 31 $suffix | trimAll "-.") (sha256sum $suffix | trunc 8) }}{{ end -}}
{{- $room := ternary 63 (sub 62 (len $suffix)) (eq $suffix "") | int -}}
{{- if gt (len $base) $room -}}
{{- $base = printf "%s-%s" (trunc (sub $room 9 | int) $base | trimSuffix "-") (sha256sum $base | trunc 8) -}}
{{- end -}}
{{- if $suffix }}{{ printf "%s-%s" $base $suffix }}{{ else }}{{ $base }}{{ end -}}
{{- end -}}

{{- define "csi-driver.nodeNamespace" -}}
{{- default .Release.Namespace .Values.node.namespaceOverride -}}
{{- end -}}

{{/* (list root component): what selectors use, and no more. */}}
{{- define "csi-driver.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "csi-driver.name" $root | toYaml }}
app.kubernetes.io/instance: {{ toYaml $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* (list root component): all labels, as a YAML map. */}}
{{- define "csi-driver.labels" -}}
{{- $root := index . 0 -}}
{{- $labels := include "csi-driver.selectorLabels" . | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/part-of" $root.Values.driver.name -}}
{{- $_ := set $labels "app.kubernetes.io/version" ($root.Chart.AppVersion | replace "+" "_" | trunc 63 | trimAll "-_.") -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_.") -}}
{{- toYaml (merge $labels (default dict $root.Values.commonLabels)) -}}
{{- end -}}

{{/*
(dict root name component [namespace] [labels] [annotations]): the content of `metadata`. The name of a release, a namespace or a class may
be all digits: toYaml quotes what YAML would read as a number.
*/}}
{{- define "csi-driver.metadata" -}}
{{- $root := .root -}}
name: {{ toYaml .name }}
{{- with .namespace }}
namespace: {{ toYaml . }}
{{- end }}
labels:
  {{- $labels := include "csi-driver.labels" (list $root .component) | fromYaml }}
  {{- toYaml (merge $labels (default dict .labels)) | nindent 2 }}
{{- $annotations := merge (deepCopy (default dict .annotations)) (default dict $root.Values.commonAnnotations) }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* (list root "controller"|"node") */}}
{{- define "csi-driver.serviceAccountName" -}}
{{- $root := index . 0 -}}
{{- $account := index $root.Values.serviceAccount (index . 1) -}}
{{- if $account.name -}}
{{- $account.name -}}
{{- else if $root.Values.serviceAccount.create -}}
{{- include "csi-driver.fullname" . -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{/* (list driver key): the Lease of a controller: every character outside of [a-zA-Z0-9-] of its lock becomes a dash, and a trailing dash gets an X. */}}
{{- define "csi-driver.leaseName" -}}
{{- $lock := dict
  "provisioner" ""
  "attacher" "external-attacher-leader-"
  "resizer" "external-resizer-"
  "snapshotter" "external-snapshotter-leader-"
  "healthMonitor" "external-health-monitor-leader-" -}}
{{- $name := regexReplaceAll "[^a-zA-Z0-9-]" (printf "%s%s" (index $lock (index . 1)) (index . 0)) "-" -}}
{{- if hasSuffix "-" $name }}{{ printf "%sX" $name }}{{ else }}{{ $name }}{{ end -}}
{{- end -}}
