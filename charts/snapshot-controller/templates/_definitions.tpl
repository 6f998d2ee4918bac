{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /* The definitions that this release installs, as a YAML list, as they are in the files. */}}
{{- define "snapshot-controller.definitions" -}}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- if or $.Values.crds.group (not (hasSuffix ".groupsnapshot.storage.k8s.io.yaml" $path)) }}
- {{ $.Files.Get $path | fromYaml | toYaml | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The conversion stanza of VolumeGroupSnapshotContent. */}}
{{- define "snapshot-controller.conversion" -}}
strategy: Webhook
webhook:
  conversionReviewVersions: [v1]
  clientConfig:
    service:
      namespace: {{ .Release.Namespace | quote }}
      name: {{ include "snapshot-controller.webhookName" . }}
      path: /convert
      port: {{ .Values.webhook.servicePort }}
    {{- $certificate := .Values.webhook.certificate }}
    {{- if eq $certificate.mode "existingSecret" }}
    caBundle: {{ b64enc $certificate.caBundle }}
    {{- else if eq $certificate.mode "generated" }}
    caBundle: {{ get (include "snapshot-controller.generatedPair" . | fromYaml) "ca.crt" }}
    {{- end }}
{{- end }}
