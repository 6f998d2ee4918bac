{{- /* SPDX-License-Identifier: Apache-2.0 */}}
{{- /* Why a rendering fails: values that contradict each other, and what the cluster says against this release. */}}

{{- define "snapshot-controller.checks" -}}
{{- include "snapshot-controller.checkValues" . -}}
{{- if .Values.preflight -}}
{{- if .Values.controller.enabled -}}
{{- include "snapshot-controller.checkSecondController" . -}}
{{- end -}}
{{- if .Values.crds.install -}}
{{- include "snapshot-controller.checkDefinitions" . -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "snapshot-controller.checkValues" -}}
{{- if and (or (and .Values.controller.enabled .Values.metrics.enabled) .Values.webhook.enabled) (not (regexMatch "^[a-z]" (include "snapshot-controller.fullname" .))) -}}
{{- fail (printf "the name %q cannot begin a Service's name, whose first character is a letter: set fullnameOverride, or choose another release name" (include "snapshot-controller.fullname" .)) -}}
{{- end -}}
{{- range list "app" "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- if or (hasKey ($.Values.commonLabels | default dict) .) (hasKey ($.Values.controller.podLabels | default dict) .) (hasKey ($.Values.webhook.podLabels | default dict) .) -}}
{{- fail (printf "commonLabels, controller.podLabels and webhook.podLabels must not contain %s: it selects pods" .) -}}
{{- end -}}
{{- end -}}
{{- range list "controller" "webhook" -}}
{{- $pdb := (get $.Values .).pdb -}}
{{- if not (or (kindIs "invalid" $pdb.minAvailable) (kindIs "invalid" $pdb.maxUnavailable)) -}}
{{- fail (printf "%s.pdb has both minAvailable and maxUnavailable: set one of them to null" .) -}}
{{- end -}}
{{- if and (kindIs "invalid" $pdb.minAvailable) (kindIs "invalid" $pdb.maxUnavailable) -}}
{{- fail (printf "%s.pdb has neither minAvailable nor maxUnavailable" .) -}}
{{- end -}}
{{- end -}}
{{- $reserved := list "leader-election" "leader-election-namespace" "http-endpoint" "metrics-path" "enable-distributed-snapshotting" "enable-data-source-validator" "feature-gates" "kubeconfig" -}}
{{- include "snapshot-controller.checkExtraArgs" (dict "value" "controller.extraArgs" "args" .Values.controller.extraArgs "reserved" $reserved) -}}
{{- $reserved = list "tls-cert-file" "tls-private-key-file" "port" -}}
{{- include "snapshot-controller.checkExtraArgs" (dict "value" "webhook.extraArgs" "args" .Values.webhook.extraArgs "reserved" $reserved) -}}
{{- range list "CSIVolumeGroupSnapshot" "ReleaseLeaderElectionOnExit" -}}
{{- if hasKey ($.Values.controller.featureGates | default dict) . -}}
{{- fail (printf "controller.featureGates must not contain %s: use %s" . (ternary "controller.groupSnapshots" "controller.leaderElection.releaseOnExit" (eq . "CSIVolumeGroupSnapshot"))) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.crds.install (not .Values.crds.group) (eq (toString .Values.controller.groupSnapshots) "true") -}}
{{- fail "controller.groupSnapshots is true and crds.group is false: the controller would wait for definitions that are not installed" -}}
{{- end -}}
{{- include "snapshot-controller.checkLease" . -}}
{{- include "snapshot-controller.checkClasses" . -}}
{{- if .Values.controller.enabled -}}
{{- $of := dict "root" . "image" .Values.image "name" "snapshot-controller" -}}
{{- if and .Values.controller.enableDataSourceValidator (include "snapshot-controller.isUpstream" $of) -}}
{{- fail "controller.enableDataSourceValidator needs our image, and the image is upstream's, which has no such flag: set image.registry to a registry with our images, or leave this value out" -}}
{{- end -}}
{{- include "snapshot-controller.checkImage" (merge (dict "part" "controller" "value" "image") $of) -}}
{{- end -}}
{{- if .Values.webhook.enabled -}}
{{- include "snapshot-controller.checkWebhook" . -}}
{{- end -}}
{{- end }}

{{- /* Takes dict value args reserved. */}}
{{- define "snapshot-controller.checkExtraArgs" -}}
{{- range .args -}}
{{- $flag := regexReplaceAll "=.*$" (regexReplaceAll "^--?" . "") "" -}}
{{- if has $flag $.reserved -}}
{{- fail (printf "%s must not contain --%s: other objects of the chart depend on it" $.value $flag) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* The program ends at once with durations that cannot work: leaseDuration > renewDeadline > 1.2 x retryPeriod. */}}
{{- define "snapshot-controller.checkLease" -}}
{{- with .Values.controller.leaderElection -}}
{{- $lease := include "snapshot-controller.milliseconds" (default "15s" .leaseDuration) | float64 -}}
{{- $renew := include "snapshot-controller.milliseconds" (default "10s" .renewDeadline) | float64 -}}
{{- $retry := include "snapshot-controller.milliseconds" (default "5s" .retryPeriod) | float64 -}}
{{- if not (and (gt $lease $renew) (gt $renew (mulf 1.2 $retry))) -}}
{{- fail "controller.leaderElection: leaseDuration (15s) must be above renewDeadline (10s), and that above 1.2 times retryPeriod (5s)" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Of a duration as Go writes it. */}}
{{- define "snapshot-controller.milliseconds" -}}
{{- $units := dict "ns" 0.000001 "us" 0.001 "ms" 1.0 "s" 1000.0 "m" 60000.0 "h" 3600000.0 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ns|us|ms|s|m|h)" . -1 -}}
{{- $number := regexFind "^[0-9.]+" . -}}
{{- $sum = addf $sum (mulf (float64 $number) (get $units (trimPrefix $number .))) -}}
{{- end -}}
{{- $sum -}}
{{- end }}

{{- define "snapshot-controller.checkClasses" -}}
{{- $secrets := list "snapshotter-secret-name" "snapshotter-secret-namespace" "snapshotter-list-secret-name" "snapshotter-list-secret-namespace" -}}
{{- $groupSecrets := list "group-snapshotter-secret-name" "group-snapshotter-secret-namespace" "group-snapshotter-get-secret-name" "group-snapshotter-get-secret-namespace" -}}
{{- range list (dict "value" "volumeSnapshotClasses" "keys" $secrets) (dict "value" "volumeGroupSnapshotClasses" "keys" $groupSecrets) -}}
{{- $defaults := dict -}}
{{- $value := .value -}}
{{- $keys := .keys -}}
{{- range get $.Values $value | default list -}}
{{- $class := . -}}
{{- range $key, $_ := .parameters -}}
{{- if and (hasPrefix "csi.storage.k8s.io/" $key) (not (has (trimPrefix "csi.storage.k8s.io/" $key) $keys)) -}}
{{- fail (printf "%s: class %s has the parameter %s, which csi-snapshotter refuses" $value $class.name $key) -}}
{{- end -}}
{{- end -}}
{{- if .default -}}
{{- if hasKey $defaults .driver -}}
{{- fail (printf "%s: %s and %s are both the default of driver %s" $value (get $defaults .driver) .name .driver) -}}
{{- end -}}
{{- $_ := set $defaults .driver .name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Takes dict root image name part value: images that cannot be pulled, and values that upstream's programs do not understand. */}}
{{- define "snapshot-controller.checkImage" -}}
{{- if include "snapshot-controller.isUpstream" . -}}
{{- if (get .root.Values .part).nodeOptions -}}
{{- fail (printf "%s.nodeOptions is for Node.js, and the image is upstream's, whose programs are Go: set image.registry to a registry with our images, or leave this value out" .part) -}}
{{- end -}}
{{- else if not (or (contains "/" (include "snapshot-controller.repository" .)) .root.Values.global.imageRegistry (eq .image.pullPolicy "Never")) -}}
{{- fail (printf "the image %s is ours, and it is in no public registry: set image.registry to the registry that you pushed it to, or, if the nodes have it, %s.pullPolicy to Never" .name .value) -}}
{{- end -}}
{{- end }}

{{- define "snapshot-controller.checkWebhook" -}}
{{- if not (and .Values.crds.install .Values.crds.group) -}}
{{- fail "webhook.enabled needs crds.install and crds.group: the definition of VolumeGroupSnapshotContent names the webhook" -}}
{{- end -}}
{{- $of := dict "root" . "image" .Values.webhook.image "name" "snapshot-conversion-webhook" -}}
{{- $image := include "snapshot-controller.image" $of -}}
{{- $upstream := include "snapshot-controller.isUpstream" $of -}}
{{- if not (include "snapshot-controller.resolved" (dict "value" .Values.webhook.image.convertsV1 "auto" (not $upstream))) -}}
{{- fail (printf "webhook.enabled: %s does not convert from and to v1, so that no stored VolumeGroupSnapshotContent could be read as v1. Use the image of this project, by image.registry, or set webhook.image.convertsV1 if that image does." $image) -}}
{{- end -}}
{{- include "snapshot-controller.checkImage" (merge (dict "part" "webhook" "value" "webhook.image") $of) -}}
{{- $certificate := .Values.webhook.certificate -}}
{{- if and (eq $certificate.mode "existingSecret") (or (not $certificate.existingSecret) (not $certificate.caBundle)) -}}
{{- fail "webhook.certificate.mode existingSecret needs webhook.certificate.existingSecret and webhook.certificate.caBundle" -}}
{{- end -}}
{{- if and (eq $certificate.mode "certManager") (not $certificate.issuerRef.name) -}}
{{- fail "webhook.certificate.mode certManager needs webhook.certificate.issuerRef.name" -}}
{{- end -}}
{{- end }}

{{- /* Takes dict root metadata. Gives "true" if the object belongs to this release. */}}
{{- define "snapshot-controller.isOurs" -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- if and (eq (get $annotations "meta.helm.sh/release-name" | default "") .root.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace" | default "") .root.Release.Namespace) -}}
true
{{- end -}}
{{- end }}

{{- /* Many distributions bring a snapshot-controller. Leases in different namespaces do not keep two of them apart. */}}
{{- define "snapshot-controller.checkSecondController" -}}
{{- if not .Values.allowSecondController -}}
{{- range $kind := list "Deployment" "DaemonSet" "StatefulSet" -}}
{{- range (lookup "apps/v1" $kind "" "").items -}}
{{- $object := . -}}
{{- if not (include "snapshot-controller.isOurs" (dict "root" $ "metadata" .metadata)) -}}
{{- range .spec.template.spec.containers -}}
{{- $image := regexReplaceAll "@.*$" .image "" -}}
{{- if eq (regexReplaceAll ":.*$" (base $image) "") "snapshot-controller" -}}
{{- fail (printf "%s %s/%s runs %s: two snapshot-controllers in one cluster work against each other. Remove it, or set allowSecondController." $kind $object.metadata.namespace $object.metadata.name .image) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "snapshot-controller.checkDefinitions" -}}
{{- range include "snapshot-controller.definitions" . | fromYamlArray -}}
{{- $ours := . -}}
{{- $name := .metadata.name -}}
{{- $live := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name -}}
{{- if $live -}}
{{- $known := list -}}
{{- range .spec.versions -}}
{{- $known = append $known .name -}}
{{- end -}}
{{- range $live.spec.versions -}}
{{- if and .served (not (has .name $known)) -}}
{{- fail (printf "%s in the cluster serves %s, which this chart does not know: it is of a newer release, and is not downgraded. Use a newer chart, or set crds.install to false." $name .name) -}}
{{- end -}}
{{- end -}}
{{- range ($live.status | default dict).storedVersions -}}
{{- if not (has . $known) -}}
{{- fail (printf "%s in the cluster has objects that are stored as %s, which this chart does not know. Use a newer chart, or rewrite all objects and remove the version from status.storedVersions." $name .) -}}
{{- end -}}
{{- end -}}
{{- if not (or $.Values.crds.adopt (include "snapshot-controller.isOurs" (dict "root" $ "metadata" $live.metadata))) -}}
{{- fail (printf "\n%s exists and does not belong to release %s in namespace %s. To let this release have the definitions, run\n%s\nor set crds.adopt and pass --take-ownership --force-conflicts. To leave them alone, set crds.install to false." $name $.Release.Name $.Release.Namespace (include "snapshot-controller.adoption" (dict "root" $ "release" $.Release.Name "namespace" $.Release.Namespace))) -}}
{{- end -}}
{{- with include "snapshot-controller.endConversion" $ours -}}
{{- fail (printf "\n%s in the cluster is older, and its objects are converted by a webhook that does not know v1: none of them could be read. Run\n%s" $name .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Commands after which definitions that exist belong to a release. Takes dict root release namespace. */}}
{{- define "snapshot-controller.adoption" -}}
{{- $definitions := include "snapshot-controller.definitions" .root | fromYamlArray -}}
{{- $names := list -}}
{{- range $definitions -}}
{{- $names = append $names .metadata.name -}}
{{- end -}}
{{- $crds := join " " $names }}
kubectl label --overwrite crd {{ $crds }} app.kubernetes.io/managed-by=Helm
kubectl annotate --overwrite crd {{ $crds }} meta.helm.sh/release-name={{ .release }} meta.helm.sh/release-namespace={{ .namespace }}
{{- range $definitions }}
{{- with include "snapshot-controller.endConversion" . }}
{{ . }}
{{- end }}
{{- end }}
{{- end }}
