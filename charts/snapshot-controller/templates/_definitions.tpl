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

{{- /*
"true" if the definition in the cluster is older, and converts by a webhook, which then does not know the versions that are added: no stored object
could be read in them. What a user added to a definition of this level stays. Takes a definition.
*/}}
{{- define "snapshot-controller.isConvertedAsBefore" -}}
{{- $live := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .metadata.name -}}
{{- if eq (dig "spec" "conversion" "strategy" "None" $live) "Webhook" -}}
{{- $known := list -}}
{{- range $live.spec.versions -}}
{{- $known = append $known .name -}}
{{- end -}}
{{- $added := false -}}
{{- range .spec.versions -}}
{{- if not (has .name $known) -}}
{{- $added = true -}}
{{- end -}}
{{- end -}}
{{- if $added -}}
true
{{- end -}}
{{- end -}}
{{- end }}
