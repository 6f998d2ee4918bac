{{/* Permissions. The rules are in files/rbac.yaml, which is generated from the programs' own tables. */}}

{{/* (list root key): the profile of a sidecar's rules. Upstream's program uses rights that ours has no need of, for the objects that it works on. */}}
{{- define "csi-driver.rbacProfile" -}}
{{- $root := index . 0 -}}
{{- $isForeign := eq (include "csi-driver.runsUpstream" .) "true" -}}
{{- default (ternary "compatible" "minimal" $isForeign) $root.Values.rbac.profile -}}
{{- end -}}

{{/* (list root key): the rules of a sidecar's ClusterRole whose feature is on, as a YAML list. */}}
{{- define "csi-driver.sidecarRules" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $on := include "csi-driver.features" $root | fromYaml -}}
{{- $profile := include "csi-driver.rbacProfile" . -}}
{{- $rules := list -}}
{{- range index (index ($root.Files.Get "files/rbac.yaml" | fromYaml) "sidecars") $key $profile -}}
{{- $isOn := or (eq .feature "always") (get $on .feature) -}}
{{- /* An instance of a node watches no nodes. */ -}}
{{- if eq .feature "topology" }}{{ $isOn = and (or $on.topology $on.capacity) (not $on.distributed) }}{{ end -}}
{{- if eq .feature "upstream" }}{{ $isOn = include "csi-driver.runsUpstream" (list $root $key) }}{{ end -}}
{{- if $isOn }}{{ $rules = append $rules (omit . "feature") }}{{ end -}}
{{- end -}}
{{- /* Upstream's v1.1.0 reads its SnapshotMetadataService with an audience, too. */ -}}
{{- if and (eq $key "snapshotMetadata") (or (not $root.Values.sidecars.snapshotMetadata.audience) (include "csi-driver.runsUpstream" (list $root $key))) -}}
{{- $rules = append $rules (dict "apiGroups" (list "cbt.storage.k8s.io") "resources" (list "snapshotmetadataservices") "resourceNames" (list $root.Values.driver.name) "verbs" (list "get")) -}}
{{- end -}}
{{- toYaml (concat $rules (dig $key "additionalRules" list $root.Values.sidecars)) -}}
{{- end -}}

{{/* Name and namespace of the account that the controllers use, as a YAML map. */}}
{{- define "csi-driver.controllersAccount" -}}
{{- if eq .Values.mode "distributed" -}}
kind: ServiceAccount
name: {{ include "csi-driver.serviceAccountName" (list . "node") | toYaml }}
namespace: {{ include "csi-driver.nodeNamespace" . | toYaml }}
{{- else -}}
kind: ServiceAccount
name: {{ include "csi-driver.serviceAccountName" (list . "controller") | toYaml }}
namespace: {{ toYaml .Release.Namespace }}
{{- end -}}
{{- end -}}

{{- define "csi-driver.controllersNamespace" -}}
{{- (include "csi-driver.controllersAccount" . | fromYaml).namespace -}}
{{- end -}}

{{/* (dict root name rules subject): a ClusterRole with its binding. */}}
{{- define "csi-driver.clusterRole" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  {{- include "csi-driver.metadata" (dict "root" .root "name" .name "component" "rbac") | nindent 2 }}
rules:
  {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  {{- include "csi-driver.metadata" (dict "root" .root "name" .name "component" "rbac") | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name }}
subjects:
  - {{ toYaml .subject | nindent 4 | trim }}
{{ end -}}

{{/* (dict root name namespace rules subject): a Role with its binding. */}}
{{- define "csi-driver.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "csi-driver.metadata" (dict "root" .root "name" .name "namespace" .namespace "component" "rbac") | nindent 2 }}
rules:
  {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "csi-driver.metadata" (dict "root" .root "name" .name "namespace" .namespace "component" "rbac") | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - {{ toYaml .subject | nindent 4 | trim }}
{{ end -}}

{{/* Namespaces with the names of secrets that sidecars read, as a YAML map from namespace to names; no names: all of them. */}}
{{- define "csi-driver.secretNamespaces" -}}
{{- $found := dict -}}
{{- range .Values.rbac.secrets.namespaces -}}
{{- if kindIs "string" . -}}
{{- $_ := set $found . (dict "all" true "names" list) -}}
{{- else -}}
{{- $_ := set $found .name (dict "all" (not .secretNames) "names" (default list .secretNames)) -}}
{{- end -}}
{{- end -}}
{{- range include "csi-driver.classSecrets" . | fromYamlArray -}}
{{- if not (contains "${" .namespace) -}}
{{- $entry := default (dict "all" false "names" list) (get $found .namespace) -}}
{{- if contains "${" .name -}}
{{- /* Each claim or volume has a secret of its own, under a name that is not known before. */ -}}
{{- $_ := set $found .namespace (dict "all" true "names" list) -}}
{{- else -}}
{{- $_ := set $found .namespace (dict "all" $entry.all "names" (append $entry.names .name | uniq)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}

{{/*
The secrets that classes name for sidecars, in `secrets` or in `parameters`, as a YAML list of {class, name, namespace}. kubelet reads those
of the nodes itself.
*/}}
{{- define "csi-driver.classSecrets" -}}
{{- $root := . -}}
{{- $found := list -}}
{{- $storage := list "" "provisioner-" "controller-publish-" "controller-expand-" "controller-modify-" -}}
{{- $snapshot := list "snapshotter-" "snapshotter-list-" "group-snapshotter-" "group-snapshotter-get-" -}}
{{- range $readers := list (list (default list .Values.storageClasses) $storage) (list (concat (default list .Values.volumeSnapshotClasses) (default list .Values.volumeGroupSnapshotClasses)) $snapshot) -}}
{{- range $class := first $readers -}}
{{- $parameters := default dict $class.parameters -}}
{{- range last $readers -}}
{{- $name := get $parameters (printf "csi.storage.k8s.io/%ssecret-name" .) | toString -}}
{{- $namespace := get $parameters (printf "csi.storage.k8s.io/%ssecret-namespace" .) | toString -}}
{{- if and $name $namespace }}{{ $found = append $found (dict "class" $class.name "name" $name "namespace" $namespace) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $class := .Values.storageClasses -}}
{{- range $kind, $secret := default dict $class.secrets -}}
{{- if has $kind (list "provisioner" "controllerPublish" "controllerExpand") -}}
{{- $found = append $found (include "csi-driver.classSecret" (dict "root" $root "class" $class.name "kind" $kind "secret" $secret) | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $class := concat (default list .Values.volumeSnapshotClasses) (default list .Values.volumeGroupSnapshotClasses) -}}
{{- range $kind, $secret := default dict $class.secrets -}}
{{- $found = append $found (include "csi-driver.classSecret" (dict "root" $root "class" $class.name "kind" $kind "secret" $secret) | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}

{{/* (dict root class kind secret): name and namespace of a class's secret, as a YAML map. */}}
{{- define "csi-driver.classSecret" -}}
class: {{ toYaml .class }}
{{- if .secret.data }}
name: {{ include "csi-driver.fullname" (list .root (printf "sc-%s-%s" .class (kebabcase .kind))) }}
namespace: {{ toYaml .root.Release.Namespace }}
{{- else }}
name: {{ .secret.name | quote }}
namespace: {{ .secret.namespace | quote }}
{{- end }}
{{- end -}}
