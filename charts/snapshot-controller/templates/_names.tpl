{{- /* SPDX-License-Identifier: Apache-2.0 */}}
{{- /* Names and labels. */}}

{{- define "snapshot-controller.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- /* Short enough for the longest suffix, `-leaderelection`, and for the hashes of the pods' names. */}}
{{- define "snapshot-controller.fullname" -}}
{{- $name := include "snapshot-controller.name" . -}}
{{- $full := .Values.fullnameOverride -}}
{{- if not $full -}}
{{- $full = ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- end -}}
{{- if gt (len $full) 48 -}}
{{- /* A hash keeps apart what is equal up to the cut. */ -}}
{{- printf "%s-%s" ($full | trunc 39 | trimSuffix "-") ($full | sha256sum | trunc 8) -}}
{{- else -}}
{{- $full | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "snapshot-controller.webhookName" -}}
{{- printf "%s-webhook" (include "snapshot-controller.fullname" .) -}}
{{- end }}

{{- define "snapshot-controller.webhookSecret" -}}
{{- if eq .Values.webhook.certificate.mode "existingSecret" -}}
{{- .Values.webhook.certificate.existingSecret -}}
{{- else -}}
{{- printf "%s-tls" (include "snapshot-controller.webhookName" .) -}}
{{- end -}}
{{- end }}

{{- define "snapshot-controller.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "snapshot-controller.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- /* What selects pods: it must never change, so it has neither a version nor labels of a user. Takes dict root component. */}}
{{- define "snapshot-controller.selector" -}}
app.kubernetes.io/name: {{ include "snapshot-controller.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* Takes dict root component, and where wanted own (a map): what a user sets has precedence, and no label is there twice. */}}
{{- define "snapshot-controller.labels" -}}
{{- $version := .root.Chart.AppVersion | replace "+" "_" | trunc 63 | trimAll "-_." -}}
{{- $chart := printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_." -}}
{{- $own := merge (dict) (.own | default dict) (.root.Values.commonLabels | default dict) -}}
{{ include "snapshot-controller.selector" . }}
{{- range list (list "part-of" "csi-sidecars") (list "version" $version) (list "managed-by" .root.Release.Service) }}
{{- $name := printf "app.kubernetes.io/%s" (first .) }}
{{- if not (hasKey $own $name) }}
{{ $name }}: {{ last . | quote }}
{{- end }}
{{- end }}
{{- if not (hasKey $own "helm.sh/chart") }}
helm.sh/chart: {{ $chart }}
{{- end }}
{{- with $own }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The metadata of an object but its name. Takes dict root component, and where wanted annotations (a map), labels (a map). */}}
{{- define "snapshot-controller.metadata" -}}
labels:
  {{- include "snapshot-controller.labels" (dict "root" .root "component" .component "own" .labels) | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) (.root.Values.commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
