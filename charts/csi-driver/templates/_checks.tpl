{{/* What the schema cannot say. Each failure is a sentence that names the value to change. */}}

{{/* (duration): its seconds, as text. */}}
{{- define "csi-driver.seconds" -}}
{{- $total := 0.0 -}}
{{- $units := dict "ns" 1e-9 "us" 1e-6 "ms" 1e-3 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)" . -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $total = addf $total (mulf (regexFind "^[0-9.]+" . | float64) (get $units $unit)) -}}
{{- end -}}
{{- $total -}}
{{- end -}}

{{- define "csi-driver.checks" -}}
{{- $v := .Values -}}
{{- $on := include "csi-driver.features" . | fromYaml -}}
{{- $driver := $v.driver.name -}}
{{- if or (not $driver) (gt (len $driver) 63) (not (regexMatch "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" $driver)) -}}
{{- fail (printf "driver.name %q is not the name of a CSI driver: 1 to 63 lower-case letters, digits, dashes and dots, with a letter or digit at both ends" $driver) -}}
{{- end -}}

{{- if $on.nodePod -}}
{{- $kubelet := include "csi-driver.kubeletDir" . -}}
{{- range list (printf "%s/plugins/%s/csi.sock" $kubelet $driver) (printf "%s/plugins_registry/%s-reg.sock" $kubelet $driver) -}}
{{- if gt (len .) 107 -}}
{{- fail (printf "kubeletDir is too long for driver.name: the socket %s has %d bytes, and a path of a unix socket has at most 107" . (len .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- if and (not $on.attach) $v.csiDriver.create $v.csiDriver.attachRequired (ne $v.mode "node-only") -}}
{{- fail "features.attach is false, but csiDriver.attachRequired is true: pods would wait for ever for an attachment. Set csiDriver.attachRequired to false" -}}
{{- end -}}
{{- if and $v.csiDriver.storageCapacity (not $on.capacity) -}}
{{- fail "csiDriver.storageCapacity is true, but features.capacity is false: without CSIStorageCapacity objects no pod with a WaitForFirstConsumer volume would be scheduled" -}}
{{- end -}}

{{- $audiences := list -}}
{{- range $v.csiDriver.tokenRequests }}{{ $audiences = append $audiences .audience }}{{ end -}}
{{- if lt (len (uniq $audiences)) (len $audiences) -}}
{{- fail "csiDriver.tokenRequests has an audience twice, which the API server refuses" -}}
{{- end -}}
{{- if and (not (kindIs "invalid" $v.csiDriver.serviceAccountTokenInSecrets)) (not $audiences) -}}
{{- fail "csiDriver.serviceAccountTokenInSecrets is set, but csiDriver.tokenRequests is empty: there are no tokens, and the API server refuses it" -}}
{{- end -}}

{{- if $v.node.windows.enabled -}}
{{- if and $v.node.windows.hostProcess $v.node.windows.csiProxy -}}
{{- fail "node.windows.csiProxy is set, but node.windows.hostProcess is true: such a driver works on the host by itself. Set one of the two" -}}
{{- end -}}
{{- if not (or $v.node.windows.hostProcess $v.node.windows.csiProxy) -}}
{{- fail "node.windows.hostProcess is false and node.windows.csiProxy is empty: the driver could mount nothing. Name the APIs of csi-proxy that it uses, for example [filesystem-v1, disk-v1, volume-v1]" -}}
{{- end -}}
{{- end -}}
{{- if and $v.node.windows.enabled (hasKey (default dict $v.node.extraDaemonSets) "windows") -}}
{{- fail "node.extraDaemonSets has the key windows, which is the name of the DaemonSet of node.windows: choose another key" -}}
{{- end -}}
{{- if and $v.serviceAccount.create $on.controllerPod $on.nodePod (eq .Release.Namespace (include "csi-driver.nodeNamespace" .)) -}}
{{- if eq (include "csi-driver.serviceAccountName" (list . "controller")) (include "csi-driver.serviceAccountName" (list . "node")) -}}
{{- fail "serviceAccount.controller.name and serviceAccount.node.name are equal: every node would have the permissions of the controller. Choose two names" -}}
{{- end -}}
{{- end -}}

{{- if $on.distributed -}}
{{- if $v.features.attach }}{{ fail "mode distributed cannot attach volumes: set features.attach to false" }}{{ end -}}
{{- if $v.features.resize }}{{ fail "mode distributed cannot resize volumes: set features.resize to false" }}{{ end -}}
{{- if $on.combined }}{{ fail "mode distributed has no controller pod for the combined container: set sidecars.combined.enabled to false" }}{{ end -}}
{{- range $key := list "provisioner" "snapshotter" -}}
{{- range dig $key "extraArgs" list $v.sidecars -}}
{{- if regexMatch "^--?leader-election(=true)?$" . }}{{ fail (printf "mode distributed: sidecars.%s.extraArgs has %s, but a sidecar with --node-deployment refuses leader election" $key .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range dig "snapshotter" "extraArgs" list $v.sidecars -}}
{{- if and (regexMatch "^--?node-deployment(=true)?$" .) $v.leaderElection.enabled (not $on.distributed) -}}
{{- fail "sidecars.snapshotter.extraArgs has --node-deployment, which csi-snapshotter refuses together with leader election: use mode distributed" -}}
{{- end -}}
{{- end -}}

{{- if and (eq (toString $v.features.groupSnapshots) "true") (eq (toString $v.features.snapshots) "false") -}}
{{- fail "features.groupSnapshots is true, but features.snapshots is false: group snapshots are made by csi-snapshotter" -}}
{{- end -}}

{{- $lease := include "csi-driver.seconds" (default "15s" $v.leaderElection.leaseDuration) | float64 -}}
{{- $renew := include "csi-driver.seconds" (default "10s" $v.leaderElection.renewDeadline) | float64 -}}
{{- $retry := include "csi-driver.seconds" (default "5s" $v.leaderElection.retryPeriod) | float64 -}}
{{- if le $lease $renew -}}
{{- fail (printf "leaderElection.leaseDuration (%vs) must be longer than leaderElection.renewDeadline (%vs): the sidecars would not start" $lease $renew) -}}
{{- end -}}
{{- if le $renew (mulf $retry 1.2) -}}
{{- fail (printf "leaderElection.renewDeadline (%vs) must be longer than 1.2 times leaderElection.retryPeriod (%vs): the sidecars would not start" $renew $retry) -}}
{{- end -}}
{{- if and (not $v.leaderElection.enabled) $on.controllerPod (gt (int $v.controller.replicas) 1) -}}
{{- fail "leaderElection.enabled is false with more than one replica: set controller.replicas to 1, or two controllers work on the same volumes" -}}
{{- end -}}

{{- $drain := include "csi-driver.seconds" (default "25s" $v.sidecars.combined.shutdownTimeout) | float64 -}}
{{- if and $on.combined $on.controllerPod (ge $drain (float64 $v.controller.terminationGracePeriodSeconds)) -}}
{{- fail (printf "sidecars.combined.shutdownTimeout (%vs) must be shorter than controller.terminationGracePeriodSeconds (%vs): kubelet would end the container during its calls to the driver" $drain $v.controller.terminationGracePeriodSeconds) -}}
{{- end -}}
{{- if and (or $v.metrics.enabled $on.snapshotMetadata) (not (regexMatch "^[a-z]" (include "csi-driver.base" .))) -}}
{{- fail (printf "the name %q cannot begin a Service's name, whose first character is a letter: set fullnameOverride, or choose another release name" (include "csi-driver.base" .)) -}}
{{- end -}}

{{- include "csi-driver.checkPorts" . -}}
{{- include "csi-driver.checkImages" . -}}
{{- include "csi-driver.checkClasses" . -}}

{{- range $where := list "controller" "node" -}}
{{- $pod := index $v $where -}}
{{- if and (get $on (printf "%sPod" $where)) $pod.hostNetwork $v.metrics.enabled (not $pod.bindAddress) -}}
{{- fail (printf "%s.hostNetwork is true with metrics.enabled: set %s.bindAddress to the address at which metrics are served, for example 0.0.0.0 or localhost" $where $where) -}}
{{- end -}}
{{- end -}}

{{- if not (or (kindIs "invalid" $v.controller.pdb.minAvailable) (kindIs "invalid" $v.controller.pdb.maxUnavailable)) -}}
{{- fail "controller.pdb has both minAvailable and maxUnavailable, of which a PodDisruptionBudget can have one: set one of them to null" -}}
{{- end -}}

{{- $selected := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "csi.csi-sidecars/daemonset" "csi.csi-sidecars/workload" -}}
{{- range $where, $labels := dict "commonLabels" $v.commonLabels "controller.podLabels" $v.controller.podLabels "node.podLabels" $v.node.podLabels -}}
{{- range $name, $value := $labels -}}
{{- if has $name $selected }}{{ fail (printf "%s may not set %s: selectors use that label" $where $name) }}{{ end -}}
{{- end -}}
{{- end -}}

{{- if not $v.driver.controller.runAsRoot -}}
{{- $uid := dig "runAsUser" nil $v.driver.controller.securityContext -}}
{{- $podUid := dig "runAsUser" 65532 $v.controller.podSecurityContext -}}
{{- if and (not (kindIs "invalid" $uid)) (ne (int $uid) (int $podUid)) -}}
{{- fail (printf "driver.controller.securityContext.runAsUser is %d, but with driver.controller.runAsRoot: false the sidecars run as uid %d and could not open the driver's socket" (int $uid) (int $podUid)) -}}
{{- end -}}
{{- end -}}

{{- if and $on.snapshotMetadata (not $v.sidecars.snapshotMetadata.tlsSecretName) -}}
{{- fail "features.snapshotMetadata needs sidecars.snapshotMetadata.tlsSecretName, the secret with the certificate of its service" -}}
{{- end -}}

{{- range $name, $sidecar := $v.sidecars -}}
{{- if kindIs "map" $sidecar -}}
{{- range default list $sidecar.extraArgs -}}
{{- if regexMatch "^--?(csi-address|leader-election-namespace|http-endpoint)(=.*)?$" . -}}
{{- fail (printf "sidecars.%s.extraArgs may not set %s: the chart's ports, probes and permissions depend on it" $name .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "csi-driver.checkCluster" . -}}
{{- end -}}

{{/* Two containers of a pod, or two pods on the host's network, cannot use the same port. */}}
{{- define "csi-driver.checkPorts" -}}
{{- $root := . -}}
{{- $on := include "csi-driver.features" . | fromYaml -}}
{{- $taken := dict -}}
{{- range $where := list "controller" "node" -}}
{{- if get $on (printf "%sPod" $where) -}}
{{- $ports := include "csi-driver.metricsPorts" (list $root $where) | fromYamlArray -}}
{{- if eq $where "node" -}}
{{- $ports = append $ports (dict "port" (int $root.Values.ports.node.nodeDriverRegistrar) "container" "node-driver-registrar") -}}
{{- else if $on.snapshotMetadata -}}
{{- $ports = append $ports (dict "port" (int $root.Values.ports.controller.snapshotMetadata) "container" "csi-snapshot-metadata (gRPC)") -}}
{{- end -}}
{{- range $ports -}}
{{- $key := printf "%s %v" (ternary "host" $where (default false (index $root.Values $where).hostNetwork)) .port -}}
{{- $user := printf "%s in the %s pod" .container $where -}}
{{- if hasKey $taken $key -}}
{{- fail (printf "the port %v is used twice: by %s and by %s. Set another one below ports.%s" .port (get $taken $key) $user $where) -}}
{{- end -}}
{{- $_ := set $taken $key $user -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What only our programs can do. */}}
{{- define "csi-driver.checkImages" -}}
{{- $root := . -}}
{{- $v := .Values -}}
{{- $on := include "csi-driver.features" . | fromYaml -}}
{{- $controllers := include "csi-driver.controllers" . | fromYamlArray -}}
{{- $combined := ternary (include "csi-driver.combinedControllers" . | fromYamlArray) list $on.combined -}}
{{- $ours := and $on.combined $on.controllerPod -}}
{{- if $on.healthMonitor -}}
{{- range $name := list "workers" "retry" -}}
{{- if index $v.sidecars.healthMonitor $name }}{{ fail (printf "sidecars.healthMonitor.%s is no setting of the health monitor: set workerThreads for the calls at once; its retries have no interval" $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $key := concat $controllers (ternary (list "livenessProbe" "nodeDriverRegistrar") (list "livenessProbe") $on.nodePod) -}}
{{- $s := index $v.sidecars $key -}}
{{- if has $key $combined -}}
{{- if include "csi-driver.isUpstreamByValue" (list $root $key) -}}
{{- fail (printf "sidecars.combined.enabled runs our %s, but sidecars.%s selects upstream's image: there is no combined image of upstream" $key $key) -}}
{{- end -}}
{{- else if include "csi-driver.isUpstream" (list $root $key) -}}
{{- $how := "set sidecars.image.registry to a registry with our images, or leave this value out" -}}
{{- if $s.nodeOptions }}{{ fail (printf "sidecars.%s.nodeOptions is for Node.js, and the image is upstream's, whose programs are Go: %s" $key $how) }}{{ end -}}
{{- if eq $key "healthMonitor" -}}
{{- if not (kindIs "invalid" $s.maxEntries) }}{{ fail (printf "sidecars.healthMonitor.maxEntries is a flag of our program, and the image is upstream's: %s" $how) }}{{ end -}}
{{- if $s.featureGates }}{{ fail (printf "sidecars.healthMonitor.featureGates is for our program, and the image is upstream's, whose program has no flag for gates: %s" $how) }}{{ end -}}
{{- if and $v.rbac.create (eq (default "" $v.rbac.profile) "minimal") (include "csi-driver.isOldHealthMonitor" $root) -}}
{{- fail "rbac.profile is minimal, but sidecars.healthMonitor selects upstream's program from before v0.19.0, which watches nodes and pods: leave rbac.profile out, or choose v0.19.0 or later" -}}
{{- end -}}
{{- end -}}
{{- if $s.provisioningProtection }}{{ fail (printf "sidecars.%s.provisioningProtection is a flag of our program, and the image is upstream's: %s" $key $how) }}{{ end -}}
{{- range default list $s.extraArgs -}}
{{- if regexMatch "^--?provisioning-protection(=.*)?$" . }}{{ fail (printf "sidecars.%s.extraArgs has %s, a flag of our program, and the image is upstream's: %s" $key . $how) }}{{ end -}}
{{- end -}}
{{- else -}}
{{- $ours = true -}}
{{- $image := default dict $s.image -}}
{{- if not (or (contains "/" (include "csi-driver.sidecarRepository" (list $root $key))) $v.global.imageRegistry (eq (include "csi-driver.sidecarPullPolicy" (list $root $image)) "Never")) -}}
{{- fail (printf "the image of sidecars.%s is ours, and it is in no public registry: set sidecars.image.registry to the registry that you pushed it to, or, if the nodes have it, sidecars.image.pullPolicy to Never" $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $on.combined $on.controllerPod (not (include "csi-driver.ownImageIsSomewhere" (list . $v.sidecars.combined.image))) -}}
{{- fail "sidecars.combined.enabled needs our image csi-sidecars, which is in no public registry: set sidecars.image.registry to the registry that you pushed it to, or, if the nodes have it, sidecars.image.pullPolicy to Never" -}}
{{- end -}}
{{- if and $v.sidecars.image.tag (not $ours) -}}
{{- fail "sidecars.image.tag is the tag of our images, and all sidecars are upstream's: set sidecars.image.registry to a registry with our images, or the image.tag of each sidecar" -}}
{{- end -}}
{{- if $on.combined -}}
{{- $shared := dict -}}
{{- range $v.sidecars.combined.env }}{{ $_ := set $shared .name "" }}{{ end -}}
{{- range $key := include "csi-driver.combinedControllers" . | fromYamlArray -}}
{{- range dig $key "env" list $v.sidecars -}}
{{- $variable := toJson . -}}
{{- if and (get $shared .name) (ne (get $shared .name) $variable) -}}
{{- fail (printf "sidecars.combined.enabled: the variable %s of sidecars.%s.env has another value for another controller, but one process has one value for all: set it in sidecars.combined.env" .name $key) -}}
{{- end -}}
{{- if not (hasKey $shared .name) }}{{ $_ := set $shared .name $variable }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "csi-driver.checkClasses" -}}
{{- $v := .Values -}}
{{- range $kind, $classes := dict "storageClasses" $v.storageClasses "volumeSnapshotClasses" $v.volumeSnapshotClasses "volumeGroupSnapshotClasses" $v.volumeGroupSnapshotClasses -}}
{{- $defaults := list -}}
{{- range $classes -}}
{{- if .default }}{{ $defaults = append $defaults .name }}{{ end -}}
{{- end -}}
{{- if gt (len $defaults) 1 -}}
{{- fail (printf "%s has more than one default class: %s" $kind (join ", " $defaults)) -}}
{{- end -}}
{{- end -}}
{{- $secrets := list "provisioner" "controller-publish" "node-stage" "node-publish" "controller-expand" "node-expand" "controller-modify" -}}
{{- $known := list "csi.storage.k8s.io/fstype" "csi.storage.k8s.io/secret-name" "csi.storage.k8s.io/secret-namespace" -}}
{{- range $secrets }}{{ $known = concat $known (list (printf "csi.storage.k8s.io/%s-secret-name" .) (printf "csi.storage.k8s.io/%s-secret-namespace" .)) }}{{ end -}}
{{- range $class := $v.storageClasses -}}
{{- if and $class.allowVolumeExpansion (not $v.features.resize) -}}
{{- fail (printf "storageClasses: %s allows volume expansion, but features.resize is false" $class.name) -}}
{{- end -}}
{{- range $key, $value := default dict $class.parameters -}}
{{- if and (hasPrefix "csi.storage.k8s.io/" $key) (not (has $key $known)) -}}
{{- fail (printf "storageClasses: %s has the parameter %s, which csi-provisioner does not know and refuses" $class.name $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range include "csi-driver.classSecrets" . | fromYamlArray -}}
{{- if and (contains "${" .namespace) $v.rbac.create (not $v.rbac.secrets.clusterWide) -}}
{{- fail (printf "the class %s names secrets by the template %s: set rbac.secrets.clusterWide to true, which lets the sidecars read every secret" .class .namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the API server would refuse on an upgrade. Offline renderers see no objects, so this is best effort. */}}
{{- define "csi-driver.checkCluster" -}}
{{- $v := .Values -}}
{{- if $v.csiDriver.create -}}
{{- $live := lookup "storage.k8s.io/v1" "CSIDriver" "" $v.driver.name -}}
{{- if $live -}}
{{- $advice := printf "It cannot be changed: delete the CSIDriver %s and upgrade at once, because new pods see the defaults until then" $v.driver.name -}}
{{- $attach := dig "spec" "attachRequired" true $live -}}
{{- if ne $attach $v.csiDriver.attachRequired -}}
{{- fail (printf "csiDriver.attachRequired is %t, but the cluster's CSIDriver has %t. %s" $v.csiDriver.attachRequired $attach $advice) -}}
{{- end -}}
{{- $modes := dig "spec" "volumeLifecycleModes" (list "Persistent") $live | sortAlpha -}}
{{- if ne (join "," $modes) (join "," (sortAlpha $v.csiDriver.volumeLifecycleModes)) -}}
{{- fail (printf "csiDriver.volumeLifecycleModes is %s, but the cluster's CSIDriver has %s. %s" (join "," (sortAlpha $v.csiDriver.volumeLifecycleModes)) (join "," $modes) $advice) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $name := include "csi-driver.fullname" (list . "controller") -}}
{{- $live := lookup "apps/v1" "Deployment" .Release.Namespace $name -}}
{{- if and $live (include "csi-driver.features" . | fromYaml).controllerPod -}}
{{- $wanted := include "csi-driver.selectorLabels" (list . "controller") | fromYaml -}}
{{- if ne (toJson (dig "spec" "selector" "matchLabels" dict $live)) (toJson $wanted) -}}
{{- fail (printf "the Deployment %s has other selector labels, which cannot be changed. Run kubectl delete deployment --cascade=orphan --namespace %s %s, upgrade, and delete the old pods" $name .Release.Namespace $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
