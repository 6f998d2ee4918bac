{{/* Which image a container has, and whose program is in it. */}}

{{/* Container, image and names of ports, by the key below `sidecars`. */}}
{{- define "csi-driver.programs" -}}
provisioner: {container: csi-provisioner, image: csi-provisioner, port: prov-metrics, upstreamTag: v6.4.0}
attacher: {container: csi-attacher, image: csi-attacher, port: attach-metrics, upstreamTag: v4.13.0}
resizer: {container: csi-resizer, image: csi-resizer, port: resize-metrics, upstreamTag: v2.3.0}
snapshotter: {container: csi-snapshotter, image: csi-snapshotter, port: snap-metrics, upstreamTag: v8.7.0}
snapshotMetadata: {container: csi-snapshot-metadata, image: csi-snapshot-metadata, port: snapmeta-http, upstreamTag: v1.1.0}
healthMonitor: {container: csi-external-health-monitor-controller, image: csi-external-health-monitor-controller, port: health-metrics, upstreamTag: v0.19.0}
livenessProbe: {container: liveness-probe, image: livenessprobe, port: lp-metrics, upstreamTag: v2.20.0}
nodeDriverRegistrar: {container: node-driver-registrar, image: csi-node-driver-registrar, port: reg-healthz, upstreamTag: v2.18.0}
{{- end -}}

{{/* (dict root repository tag digest): `[global/]repository[:tag|@digest]` */}}
{{- define "csi-driver.reference" -}}
{{- $repository := .repository -}}
{{- with .root.Values.global.imageRegistry }}{{ $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}{{ end -}}
{{- if .digest -}}
{{- printf "%s@%s" $repository .digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (required (printf "no tag and no digest for the image %s" $repository) .tag) -}}
{{- end -}}
{{- end -}}

{{/* (root): `registry` and `digests` of the images that were released with the chart. In the sources there are none. */}}
{{- define "csi-driver.released" -}}
{{- .Files.Get "files/released-images.yaml" -}}
{{- end -}}

{{/* (list root image name): the digest of a released image of ours, as long as the values choose neither another place nor a version. */}}
{{- define "csi-driver.ownDigest" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $shared := $root.Values.sidecars.image -}}
{{- if $image.digest -}}
{{- $image.digest -}}
{{- else if not (or $image.registry $image.repository $image.tag $shared.registry $shared.tag) -}}
{{- dig "digests" (index . 2) "" (include "csi-driver.released" $root | fromYaml) -}}
{{- end -}}
{{- end -}}

{{/* (list root key): whose program the values say that the image holds. */}}
{{- define "csi-driver.statedImplementation" -}}
{{- $sidecars := (index . 0).Values.sidecars -}}
{{- default $sidecars.implementation (dig (index . 1) "implementation" "" $sidecars) -}}
{{- end -}}

{{/* (reference): "true" if it is in a registry of upstream. */}}
{{- define "csi-driver.inUpstreamsRegistry" -}}
{{- if regexMatch "^(registry\\.k8s\\.io|k8s\\.gcr\\.io|quay\\.io/k8scsi)(/|$)" . }}true{{ end -}}
{{- end -}}

{{- define "csi-driver.upstreamsRegistry" -}}registry.k8s.io/sig-storage{{- end -}}

{{/*
(list root key): repository of a sidecar with its registry. Without one of the values it is that of the release, and upstream's in a chart from
the sources, whose images are in no public registry.
*/}}
{{- define "csi-driver.sidecarRepository" -}}
{{- $root := index . 0 -}}
{{- $program := index (include "csi-driver.programs" $root | fromYaml) (index . 1) -}}
{{- $image := dig (index . 1) "image" dict $root.Values.sidecars -}}
{{- $repository := default $program.image $image.repository -}}
{{- $registry := default $root.Values.sidecars.image.registry $image.registry | default "" -}}
{{- $said := include "csi-driver.statedImplementation" . -}}
{{- if not $registry -}}
{{- if ne $said "upstream" }}{{ $registry = dig "registry" "" (include "csi-driver.released" $root | fromYaml) }}{{ end -}}
{{- if and (not $registry) (ne $said "csi-sidecars") }}{{ $registry = include "csi-driver.upstreamsRegistry" . }}{{ end -}}
{{- end -}}
{{- if or (not $registry) (and (contains "/" $repository) (not $image.registry)) -}}
{{- $repository -}}
{{- else -}}
{{- printf "%s/%s" (trimSuffix "/" $registry) $repository -}}
{{- end -}}
{{- end -}}

{{/* (list root key): "true" if the image holds upstream's program, else "". */}}
{{- define "csi-driver.isUpstream" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $said := include "csi-driver.statedImplementation" . -}}
{{- if $said -}}
{{- if eq $said "upstream" }}true{{ end -}}
{{- else -}}
{{- include "csi-driver.inUpstreamsRegistry" (include "csi-driver.sidecarRepository" .) -}}
{{- end -}}
{{- end -}}

{{/* (list root key): "true" if upstream's program runs, which it never does in the combined container. */}}
{{- define "csi-driver.runsUpstream" -}}
{{- $root := index . 0 -}}
{{- $combined := ternary (include "csi-driver.combinedControllers" $root | fromYamlArray) list $root.Values.sidecars.combined.enabled -}}
{{- if not (has (index . 1) $combined) }}{{ include "csi-driver.isUpstream" . }}{{ end -}}
{{- end -}}

{{/* (root): "true" if the values say that csi-external-health-monitor-controller is upstream's from before v0.19.0, which watches nodes and pods. */}}
{{- define "csi-driver.isOldHealthMonitor" -}}
{{- $s := .Values.sidecars.healthMonitor -}}
{{- $version := regexFind "^v?[0-9]{1,9}\\.[0-9]{1,9}" (default (dig "image" "tag" "" $s) $s.version | toString) -}}
{{- if and $version (include "csi-driver.runsUpstream" (list . "healthMonitor")) -}}
{{- if semverCompare "<0.19" $version }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* (list root key): "true" if a value says so, and not only the lack of one. */}}
{{- define "csi-driver.isUpstreamByValue" -}}
{{- $sidecars := (index . 0).Values.sidecars -}}
{{- $image := dig (index . 1) "image" dict $sidecars -}}
{{- if or (include "csi-driver.statedImplementation" .) $sidecars.image.registry $image.registry (contains "/" (default "" $image.repository)) -}}
{{- include "csi-driver.isUpstream" . -}}
{{- end -}}
{{- end -}}

{{/* (root): the tag of our images. A tag has no plus. */}}
{{- define "csi-driver.ownTag" -}}
{{- printf "v%s" .Chart.AppVersion | replace "+" "_" -}}
{{- end -}}

{{/* (list root key) */}}
{{- define "csi-driver.sidecarImage" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $image := dig $key "image" dict $root.Values.sidecars -}}
{{- $program := index (include "csi-driver.programs" $root | fromYaml) $key -}}
{{- $own := default (include "csi-driver.ownTag" $root) $root.Values.sidecars.image.tag -}}
{{- $digest := include "csi-driver.ownDigest" (list $root $image $program.image) -}}
{{- if include "csi-driver.isUpstream" . -}}
{{- $own = $program.upstreamTag -}}
{{- $digest = $image.digest -}}
{{- end -}}
{{- include "csi-driver.reference" (dict "root" $root "repository" (include "csi-driver.sidecarRepository" .) "tag" (default $own $image.tag) "digest" $digest) -}}
{{- end -}}

{{- define "csi-driver.combinedImage" -}}
{{- include "csi-driver.ownImage" (list . .Values.sidecars.combined.image) -}}
{{- end -}}

{{/* (list root image): the registry of the image with all of our programs, which is never upstream's. */}}
{{- define "csi-driver.ownRegistry" -}}
{{- $root := index . 0 -}}
{{- $shared := $root.Values.sidecars.image.registry -}}
{{- if or (eq $root.Values.sidecars.implementation "upstream") (include "csi-driver.inUpstreamsRegistry" (default "" $shared)) }}{{ $shared = "" }}{{ end -}}
{{- default $shared (index . 1).registry | default (dig "registry" "" (include "csi-driver.released" $root | fromYaml)) -}}
{{- end -}}

{{/* (list root image): the image with all of our programs. */}}
{{- define "csi-driver.ownImage" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $repository := default "csi-sidecars" $image.repository -}}
{{- $registry := include "csi-driver.ownRegistry" . -}}
{{- if and $registry (or $image.registry (not (contains "/" $repository))) -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" $registry) $repository -}}
{{- end -}}
{{- $tag := default (default (include "csi-driver.ownTag" $root) $root.Values.sidecars.image.tag) $image.tag -}}
{{- include "csi-driver.reference" (dict "root" $root "repository" $repository "tag" $tag "digest" (include "csi-driver.ownDigest" (list $root $image "csi-sidecars"))) -}}
{{- end -}}

{{/* (list root image): "true" if that image can be there: it has a registry, or it is said that the nodes have it. */}}
{{- define "csi-driver.ownImageIsSomewhere" -}}
{{- $image := index . 1 -}}
{{- if or (include "csi-driver.ownRegistry" .) (contains "/" (default "" $image.repository)) (index . 0).Values.global.imageRegistry (eq (include "csi-driver.sidecarPullPolicy" .) "Never") }}true{{ end -}}
{{- end -}}

{{- define "csi-driver.driverImage" -}}
{{- $image := .Values.driver.image -}}
{{- include "csi-driver.reference" (dict "root" . "repository" (required "driver.image.repository must be set" $image.repository) "tag" $image.tag "digest" $image.digest) -}}
{{- end -}}

{{/* (list root [image]): the pull policy of a sidecar's image. */}}
{{- define "csi-driver.sidecarPullPolicy" -}}
{{- default (index . 0).Values.sidecars.image.pullPolicy (index . 1).pullPolicy -}}
{{- end -}}

{{/* Secrets for pulling, as objects: names and objects are accepted. */}}
{{- define "csi-driver.pullSecrets" -}}
{{- $secrets := list -}}
{{- range concat (default list .Values.global.imagePullSecrets) (default list .Values.imagePullSecrets) -}}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- with uniq $secrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* (list root key configured): resources of a sidecar; defaults differ for upstream's programs. */}}
{{- define "csi-driver.sidecarResources" -}}
{{- $key := index . 1 -}}
{{- $node := has $key (list "livenessProbe" "nodeDriverRegistrar") -}}
{{- if index . 2 -}}
{{- toYaml (index . 2) -}}
{{- else if and (ne $key "combined") (include "csi-driver.isUpstream" (list (index . 0) $key)) -}}
requests: {cpu: 10m, memory: 20Mi}
limits: {memory: {{ ternary "128Mi" "500Mi" $node }}}
{{- else if $node -}}
requests: {cpu: 5m, memory: 40Mi}
limits: {memory: 96Mi}
{{- else if eq $key "combined" -}}
requests: {cpu: 20m, memory: 128Mi}
limits: {memory: 512Mi}
{{- else -}}
requests: {cpu: 10m, memory: 96Mi}
limits: {memory: 384Mi}
{{- end -}}
{{- end -}}

{{/* (list root key image): upstream's image, the only one that runs on Windows. */}}
{{- define "csi-driver.windowsImage" -}}
{{- $root := index . 0 -}}
{{- $image := index . 2 -}}
{{- $program := index (include "csi-driver.programs" $root | fromYaml) (index . 1) -}}
{{- $repository := default $program.image $image.repository -}}
{{- if or $image.registry (not (contains "/" $repository)) -}}
{{- $repository = printf "%s/%s" (default (include "csi-driver.upstreamsRegistry" .) $image.registry | trimSuffix "/") $repository -}}
{{- end -}}
{{- include "csi-driver.reference" (dict "root" $root "repository" $repository "tag" (default $program.upstreamTag $image.tag) "digest" $image.digest) -}}
{{- end -}}
