{{- /* SPDX-License-Identifier: Apache-2.0 */}}

{{- /* The definitions that this release installs, as a YAML list, as they are in the files. */}}
{{- define "snapshot-controller.definitions" -}}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $isOff := and (not $.Values.crds.group) (hasSuffix ".groupsnapshot.storage.k8s.io.yaml" $path) }}
{{- if hasSuffix ".cbt.storage.k8s.io.yaml" $path }}{{ $isOff = not $.Values.crds.snapshotMetadata }}{{ end }}
{{- if hasSuffix ".populator.storage.k8s.io.yaml" $path }}
{{- $isOff = not (include "snapshot-controller.resolved" (dict "value" $.Values.crds.volumePopulator "auto" $.Values.controller.enableDataSourceValidator)) }}
{{- end }}
{{- if not $isOff }}
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
A command, if the definition in the cluster is older and has a conversion webhook that another tool wrote: the webhook does not know the versions
that are added, so that no stored object could be read in them, and a field of another tool stays when the definition is applied. What a user
adds to a definition of this level is the user's. Takes a definition.
*/}}
{{- define "snapshot-controller.endConversion" -}}
{{- $live := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .metadata.name -}}
{{- $known := list -}}
{{- range dig "spec" "versions" list $live -}}
{{- $known = append $known .name -}}
{{- end -}}
{{- $isOlder := false -}}
{{- range .spec.versions -}}
{{- if not (has .name $known) -}}
{{- $isOlder = true -}}
{{- end -}}
{{- end -}}
{{- $isOthers := false -}}
{{- range dig "metadata" "managedFields" list $live -}}
{{- if and (ne .manager "helm") (hasKey (dig "fieldsV1" "f:spec" dict .) "f:conversion") -}}
{{- $isOthers = true -}}
{{- end -}}
{{- end -}}
{{- if and $isOlder $isOthers (eq (dig "spec" "conversion" "strategy" "None" $live) "Webhook") -}}
kubectl patch crd {{ .metadata.name }} --type=json --patch='[{"op":"remove","path":"/spec/conversion"}]'
{{- end -}}
{{- end }}
