{{- /* SPDX-License-Identifier: Apache-2.0 */}}
{{- /* Parts of objects, and what `auto` comes to. */}}

{{- /* Takes dict value (auto, true or false) auto (a boolean). Gives "true" or nothing. */}}
{{- define "snapshot-controller.resolved" -}}
{{- if or (eq (toString .value) "true") (and (eq (toString .value) "auto") .auto) -}}
true
{{- end -}}
{{- end }}

{{- define "snapshot-controller.groupSnapshots" -}}
{{- $auto := ternary .Values.crds.group (.Capabilities.APIVersions.Has "groupsnapshot.storage.k8s.io/v1") .Values.crds.install -}}
{{- include "snapshot-controller.resolved" (dict "value" .Values.controller.groupSnapshots "auto" $auto) -}}
{{- end }}

{{- /* Takes dict root kind group. */}}
{{- define "snapshot-controller.rendersClasses" -}}
{{- $auto := .root.Capabilities.APIVersions.Has (printf "%s/v1/%s" .group .kind) -}}
{{- include "snapshot-controller.resolved" (dict "value" .root.Values.renderClasses "auto" $auto) -}}
{{- end }}

{{- /* Takes dict root value kind. */}}
{{- define "snapshot-controller.monitors" -}}
{{- $auto := and .root.Values.metrics.enabled (.root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind)) -}}
{{- if .root.Values.controller.enabled -}}
{{- include "snapshot-controller.resolved" (dict "value" .value "auto" $auto) -}}
{{- end -}}
{{- end }}

{{- /*
Takes dict root image name. Without a registry in the values it is that of the images released with the chart, and upstream's in a chart from the
sources, whose images are in no public registry. The webhook's is that of the controller, if it has none.
*/}}
{{- define "snapshot-controller.repository" -}}
{{- $said := .root.Values.implementation -}}
{{- $registry := default .root.Values.image.registry .image.registry | default "" -}}
{{- if and (not $registry) (ne $said "upstream") }}{{ $registry = dig "registry" "" (.root.Files.Get "files/released-images.yaml" | fromYaml) }}{{ end -}}
{{- if and (not $registry) (ne $said "csi-sidecars") }}{{ $registry = "registry.k8s.io/sig-storage" }}{{ end -}}
{{- $registry = trimSuffix "/" $registry -}}
{{- ternary .image.repository (printf "%s/%s" $registry .image.repository) (eq $registry "") -}}
{{- end }}

{{- /* Takes dict root image name: "true" if the image holds upstream's program. */}}
{{- define "snapshot-controller.isUpstream" -}}
{{- if .root.Values.implementation -}}
{{- if eq .root.Values.implementation "upstream" }}true{{ end -}}
{{- else if regexMatch "^(registry\\.k8s\\.io|k8s\\.gcr\\.io|gcr\\.io/k8s-staging-sig-storage)/" (include "snapshot-controller.repository" .) -}}
true
{{- end -}}
{{- end }}

{{- /* Upstream's program uses rights that ours has no need of. */}}
{{- define "snapshot-controller.rbacProfile" -}}
{{- $upstream := include "snapshot-controller.isUpstream" (dict "root" . "image" .Values.image "name" "snapshot-controller") -}}
{{- default (ternary "compatible" "minimal" (eq $upstream "true")) .Values.rbac.profile -}}
{{- end }}

{{- /* Takes dict root image name. A released digest holds as long as the values choose neither another place nor a version. */}}
{{- define "snapshot-controller.image" -}}
{{- $released := .root.Files.Get "files/released-images.yaml" | fromYaml -}}
{{- $repository := include "snapshot-controller.repository" . -}}
{{- with .root.Values.global.imageRegistry }}{{ $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}{{ end -}}
{{- $upstream := include "snapshot-controller.isUpstream" . -}}
{{- $digest := .image.digest -}}
{{- if not (or $digest $upstream .image.registry .root.Values.image.registry .image.tag (ne .image.repository .name)) -}}
{{- $digest = dig "digests" .name "" $released -}}
{{- end -}}
{{- if $digest -}}
{{- printf "%s@%s" $repository $digest -}}
{{- else -}}
{{- $own := printf "v%s" .root.Chart.AppVersion | replace "+" "_" -}}
{{- printf "%s:%s" $repository (default (ternary "v8.7.0" $own (eq $upstream "true")) .image.tag) -}}
{{- end -}}
{{- end }}

{{- /* Takes dict fields nodeOptions env: a variable of the values takes the place of the chart's, since the API server refuses two of one name. */}}
{{- define "snapshot-controller.env" -}}
{{- $variables := list -}}
{{- range $name, $path := .fields }}{{ $variables = append $variables (dict "name" $name "valueFrom" (dict "fieldRef" (dict "fieldPath" $path))) }}{{ end -}}
{{- with .nodeOptions }}{{ $variables = append $variables (dict "name" "NODE_OPTIONS" "value" .) }}{{ end -}}
{{- $variables = concat $variables (default list .env) -}}
{{- $last := dict -}}
{{- range $index, $variable := $variables }}{{ $_ := set $last $variable.name $index }}{{ end -}}
{{- $kept := list -}}
{{- range $index, $variable := $variables }}{{ if eq $index (get $last $variable.name) }}{{ $kept = append $kept $variable }}{{ end }}{{ end -}}
{{- toYaml $kept -}}
{{- end }}

{{- define "snapshot-controller.pullSecrets" -}}
{{- with .Values.imagePullSecrets -}}
imagePullSecrets:
{{- range . }}
  - name: {{ ternary . (get (ternary (dict) . (kindIs "string" .)) "name") (kindIs "string" .) }}
{{- end }}
{{- end -}}
{{- end }}

{{- /* Takes the values pdb. */}}
{{- define "snapshot-controller.budget" -}}
{{- if not (kindIs "invalid" .minAvailable) -}}
minAvailable: {{ .minAvailable }}
{{- else -}}
maxUnavailable: {{ .maxUnavailable }}
{{- end }}
{{- end }}

{{- /* Takes dict root component settings (soft, hard or none) affinity. */}}
{{- define "snapshot-controller.affinity" -}}
{{- if .affinity -}}
{{- toYaml .affinity -}}
{{- else if ne .antiAffinity "none" -}}
podAntiAffinity:
  {{- if eq .antiAffinity "hard" }}
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "snapshot-controller.selector" . | nindent 10 }}
  {{- else }}
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "snapshot-controller.selector" . | nindent 12 }}
  {{- end }}
{{- end -}}
{{- end }}

{{- /* Takes dict root component constraints. */}}
{{- define "snapshot-controller.spread" -}}
{{- $selector := dict "matchLabels" (include "snapshot-controller.selector" . | fromYaml) -}}
{{- $all := list -}}
{{- range .constraints -}}
{{- $constraint := deepCopy . -}}
{{- if not (hasKey $constraint "labelSelector") }}{{ $_ := set $constraint "labelSelector" $selector }}{{ end -}}
{{- $all = append $all $constraint -}}
{{- end -}}
{{- toYaml $all -}}
{{- end }}

{{- /* Pods get no token by default: the volume is mounted where a program talks to the API server. */}}
{{- define "snapshot-controller.apiAccess" -}}
- name: api-access
  projected:
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3607
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
{{- end }}

{{- /* Alternative names of the webhook's certificate. */}}
{{- define "snapshot-controller.webhookHosts" -}}
{{- $service := printf "%s.%s.svc" (include "snapshot-controller.webhookName" .) .Release.Namespace -}}
{{- list $service (printf "%s.cluster.local" $service) | toYaml -}}
{{- end }}

{{- /* Certificate, key and issuer in base64, as YAML: those that are in the Secret of an earlier installation, else new ones. */}}
{{- define "snapshot-controller.generatedPair" -}}
{{- /* Once for a rendering: the definition and the Secret must agree. */ -}}
{{- if not (hasKey .Values "generatedPairCache") -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace (include "snapshot-controller.webhookSecret" .) -}}
{{- $data := get ($secret | default dict) "data" | default dict -}}
{{- if not (and (get $data "tls.crt") (get $data "tls.key") (get $data "ca.crt")) -}}
{{- $hosts := include "snapshot-controller.webhookHosts" . | fromYamlArray -}}
{{- $ca := genCA (printf "%s-ca" (include "snapshot-controller.webhookName" .)) 3650 -}}
{{- $pair := genSignedCert (first $hosts) (list) $hosts 3650 $ca -}}
{{- $data = dict "ca.crt" (b64enc $ca.Cert) "tls.crt" (b64enc $pair.Cert) "tls.key" (b64enc $pair.Key) -}}
{{- end -}}
{{- $_ := set .Values "generatedPairCache" (pick $data "ca.crt" "tls.crt" "tls.key") -}}
{{- end -}}
{{- toYaml .Values.generatedPairCache -}}
{{- end }}

{{- /* Parameters of a class are strings, whatever YAML makes of them. */}}
{{- define "snapshot-controller.parameters" -}}
{{- with .parameters }}
parameters:
  {{- range $key, $value := . }}
  {{ $key }}: {{ $value | toString | quote }}
  {{- end }}
{{- end }}
{{- end }}
