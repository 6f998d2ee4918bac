{{/* Arguments of the sidecars. A flag is `name` or `name=value`, without dashes; lists of flags travel as YAML. */}}

{{/* (list root key version): "" if the values say that the image is older than that version of upstream's program. */}}
{{- define "csi-driver.knows" -}}
{{- $version := dig (index . 1) "version" "" (index . 0).Values.sidecars -}}
{{- if not $version -}}
true
{{- else if semverCompare (printf ">=%s-0" (index . 2)) $version -}}
true
{{- end -}}
{{- end -}}

{{/* (list root where port): `name=address` of an endpoint. */}}
{{- define "csi-driver.endpoint" -}}
{{- printf "http-endpoint=%s:%v" (include "csi-driver.bindAddress" (list (index . 0) (index . 1))) (int (index . 2)) -}}
{{- end -}}

{{/* (list root key where): log flags. */}}
{{- define "csi-driver.logFlags" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $level := dig $key "logLevel" nil $root.Values.sidecars -}}
{{- if kindIs "invalid" $level }}{{ $level = $root.Values.sidecars.logLevel }}{{ end -}}
{{- $flags := list (printf "v=%v" (int $level)) -}}
{{- $since := dict "provisioner" "5.2.0" "attacher" "4.6.0" "resizer" "1.13.0" "snapshotter" "8.3.0" "livenessProbe" "2.13.0" "nodeDriverRegistrar" "2.11.0" "healthMonitor" "0.18.0" -}}
{{- $ours := and (eq $key "snapshotMetadata") (not (include "csi-driver.isUpstream" (list $root $key))) -}}
{{- if or $ours (and (hasKey $since $key) (include "csi-driver.knows" (list $root $key (get $since $key)))) -}}
{{- $flags = append $flags (printf "logging-format=%s" $root.Values.sidecars.loggingFormat) -}}
{{- end -}}
{{- toYaml $flags -}}
{{- end -}}

{{- define "csi-driver.electionFlags" -}}
{{- $e := .Values.leaderElection -}}
{{- $flags := list "leader-election" (printf "leader-election-namespace=%s" .Release.Namespace) -}}
{{- with $e.leaseDuration }}{{ $flags = append $flags (printf "leader-election-lease-duration=%s" .) }}{{ end -}}
{{- with $e.renewDeadline }}{{ $flags = append $flags (printf "leader-election-renew-deadline=%s" .) }}{{ end -}}
{{- with $e.retryPeriod }}{{ $flags = append $flags (printf "leader-election-retry-period=%s" .) }}{{ end -}}
{{- $labels := list -}}
{{- range $name, $value := $e.labels }}{{ $labels = append $labels (printf "%s:%s" $name $value) }}{{ end -}}
{{- with $labels }}{{ $flags = append $flags (printf "leader-election-labels=%s" (join "," .)) }}{{ end -}}
{{- toYaml $flags -}}
{{- end -}}

{{/* (list root key): the gates of a controller, as a YAML map. Those of the user win. */}}
{{- define "csi-driver.gates" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $on := include "csi-driver.features" $root | fromYaml -}}
{{- $gates := dict -}}
{{- /* Since when a gate exists, and since when it is on by default. */ -}}
{{- $known := dict "provisioner" (list "VolumeAttributesClass" "4.0.0" "6.0.0") "resizer" (list "VolumeAttributesClass" "1.10.0" "2.0.0") "snapshotter" (list "CSIVolumeGroupSnapshot" "8.2.0" "8.7.0") -}}
{{- with get $known $key -}}
{{- $isOn := ternary $on.groupSnapshots $on.volumeAttributesClass (eq $key "snapshotter") -}}
{{- if and (include "csi-driver.knows" (list $root $key (index . 1))) (or (not $isOn) (not (include "csi-driver.knows" (list $root $key (index . 2))))) -}}
{{- $_ := set $gates (first .) $isOn -}}
{{- end -}}
{{- end -}}
{{- if eq $key "provisioner" -}}
{{- if not $on.topology }}{{ $_ := set $gates "Topology" false }}{{ end -}}
{{- if $on.crossNamespaceDataSources }}{{ $_ := set $gates "CrossNamespaceVolumeDataSource" true }}{{ end -}}
{{- end -}}
{{- if not (kindIs "invalid" $root.Values.leaderElection.releaseOnExit) -}}
{{- /* Upstream's program has that gate, and no flag to set it. */ -}}
{{- $hasFlag := not (and (eq $key "healthMonitor") (include "csi-driver.runsUpstream" (list $root $key))) -}}
{{- if and $hasFlag (has $key (include "csi-driver.electing" $root | fromYamlArray)) }}{{ $_ := set $gates "ReleaseLeaderElectionOnExit" $root.Values.leaderElection.releaseOnExit }}{{ end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $gates (dig $key "featureGates" dict $root.Values.sidecars)) -}}
{{- end -}}

{{/* (map of gates): `feature-gates=A=true,B=false`, or nothing. */}}
{{- define "csi-driver.gateFlag" -}}
{{- $pairs := list -}}
{{- range $name, $value := . }}{{ $pairs = append $pairs (printf "%s=%t" $name $value) }}{{ end -}}
{{- with $pairs }}{{ printf "feature-gates=%s" (join "," .) }}{{ end -}}
{{- end -}}

{{/* (list root key): the flags of one controller that others may set differently. */}}
{{- define "csi-driver.ownFlags" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $on := include "csi-driver.features" $root | fromYaml -}}
{{- $s := index $root.Values.sidecars $key -}}
{{- $flags := list -}}
{{- if eq $key "snapshotMetadata" -}}
{{- $flags = append $flags "tls-cert=/tmp/certificates/tls.crt" -}}
{{- $flags = append $flags "tls-key=/tmp/certificates/tls.key" -}}
{{- $flags = append $flags (printf "port=%v" (int $root.Values.ports.controller.snapshotMetadata)) -}}
{{- with $s.audience }}{{ $flags = append $flags (printf "audience=%s" .) }}{{ end -}}
{{- end -}}
{{- with $s.timeout }}{{ $flags = append $flags (printf "timeout=%s" .) }}{{ end -}}
{{- if not (and (eq $key "healthMonitor") (include "csi-driver.runsUpstream" (list $root $key))) -}}
{{- $qps := dig "kubeApi" "qps" nil $s -}}
{{- if kindIs "invalid" $qps }}{{ $qps = $root.Values.sidecars.kubeApi.qps }}{{ end -}}
{{- if not (kindIs "invalid" $qps) }}{{ $flags = append $flags (printf "kube-api-qps=%v" $qps) }}{{ end -}}
{{- $burst := dig "kubeApi" "burst" nil $s -}}
{{- if kindIs "invalid" $burst }}{{ $burst = $root.Values.sidecars.kubeApi.burst }}{{ end -}}
{{- if not (kindIs "invalid" $burst) }}{{ $flags = append $flags (printf "kube-api-burst=%d" (int $burst)) }}{{ end -}}
{{- end -}}
{{- if not (has $key (list "healthMonitor" "snapshotMetadata")) -}}
{{- with dig "retry" "start" "" $s }}{{ $flags = append $flags (printf "retry-interval-start=%s" .) }}{{ end -}}
{{- with dig "retry" "max" "" $s }}{{ $flags = append $flags (printf "retry-interval-max=%s" .) }}{{ end -}}
{{- with $s.workers }}{{ $flags = append $flags (printf "%s=%d" (ternary "workers" "worker-threads" (eq $key "resizer")) (int .)) }}{{ end -}}
{{- end -}}
{{- if eq $key "provisioner" -}}
{{- if $s.extraCreateMetadata }}{{ $flags = append $flags "extra-create-metadata" }}{{ end -}}
{{- with $s.defaultFsType }}{{ $flags = append $flags (printf "default-fstype=%s" .) }}{{ end -}}
{{- if and (not $on.distributed) (not (kindIs "invalid" $s.strictTopology)) }}{{ $flags = append $flags (printf "strict-topology=%t" $s.strictTopology) }}{{ end -}}
{{- if and (not $on.distributed) (not (kindIs "invalid" $s.immediateTopology)) }}{{ $flags = append $flags (printf "immediate-topology=%t" $s.immediateTopology) }}{{ end -}}
{{- with $s.volumeNamePrefix }}{{ $flags = append $flags (printf "volume-name-prefix=%s" .) }}{{ end -}}
{{- if not (kindIs "invalid" $s.volumeNameUuidLength) }}{{ $flags = append $flags (printf "volume-name-uuid-length=%d" (int $s.volumeNameUuidLength)) }}{{ end -}}
{{- if not (kindIs "invalid" $s.controllerPublishReadonly) }}{{ $flags = append $flags (printf "controller-publish-readonly=%t" $s.controllerPublishReadonly) }}{{ end -}}
{{- if not (kindIs "invalid" $s.preventVolumeModeConversion) }}{{ $flags = append $flags (printf "prevent-volume-mode-conversion=%t" $s.preventVolumeModeConversion) }}{{ end -}}
{{- with $s.provisioningProtection }}{{ $flags = append $flags (printf "provisioning-protection=%s" .) }}{{ end -}}
{{- if $on.distributed -}}
{{- $flags = concat $flags (list "node-deployment=true" "strict-topology=true" "immediate-topology=false") -}}
{{- end -}}
{{- if $on.capacity -}}
{{- $level := $s.capacity.ownerrefLevel -}}
{{- if kindIs "invalid" $level }}{{ $level = ternary 1 2 $on.distributed }}{{ end -}}
{{- $flags = concat $flags (list "enable-capacity" (printf "capacity-ownerref-level=%d" (int $level))) -}}
{{- with $s.capacity.pollInterval }}{{ $flags = append $flags (printf "capacity-poll-interval=%s" .) }}{{ end -}}
{{- if $s.capacity.forImmediateBinding }}{{ $flags = append $flags "capacity-for-immediate-binding" }}{{ end -}}
{{- end -}}
{{- else if eq $key "attacher" -}}
{{- with $s.defaultFsType }}{{ $flags = append $flags (printf "default-fstype=%s" .) }}{{ end -}}
{{- with $s.reconcileSync }}{{ $flags = append $flags (printf "reconcile-sync=%s" .) }}{{ end -}}
{{- if not (kindIs "invalid" $s.maxEntries) }}{{ $flags = append $flags (printf "max-entries=%d" (int $s.maxEntries)) }}{{ end -}}
{{- if not (kindIs "invalid" $s.maxGrpcLogLength) }}{{ $flags = append $flags (printf "max-grpc-log-length=%d" (int $s.maxGrpcLogLength)) }}{{ end -}}
{{- else if eq $key "resizer" -}}
{{- if and (not $s.timeout) (include "csi-driver.knows" (list $root "resizer" "2.3.0")) -}}
{{- with $s.resizeTimeout }}{{ $flags = append $flags (printf "resize-timeout=%s" .) }}{{ end -}}
{{- with $s.modifyTimeout }}{{ $flags = append $flags (printf "modify-timeout=%s" .) }}{{ end -}}
{{- end -}}
{{- $flags = append $flags (printf "handle-volume-inuse-error=%t" (default false $s.handleVolumeInUseError)) -}}
{{- if $s.extraModifyMetadata }}{{ $flags = append $flags "extra-modify-metadata" }}{{ end -}}
{{- else if eq $key "snapshotter" -}}
{{- if $s.extraCreateMetadata }}{{ $flags = append $flags "extra-create-metadata" }}{{ end -}}
{{- with $s.snapshotNamePrefix }}{{ $flags = append $flags (printf "snapshot-name-prefix=%s" .) }}{{ end -}}
{{- with $s.groupSnapshotNamePrefix }}{{ $flags = append $flags (printf "groupsnapshot-name-prefix=%s" .) }}{{ end -}}
{{- if $on.distributed }}{{ $flags = append $flags "node-deployment=true" }}{{ end -}}
{{- else if eq $key "healthMonitor" -}}
{{- with $s.listInterval }}{{ $flags = append $flags (printf "list-volumes-interval=%s" .) }}{{ end -}}
{{- with $s.monitorInterval }}{{ $flags = append $flags (printf "monitor-interval=%s" .) }}{{ end -}}
{{- with $s.workerThreads }}{{ $flags = append $flags (printf "worker-threads=%d" (int .)) }}{{ end -}}
{{- if not (kindIs "invalid" $s.maxEntries) }}{{ $flags = append $flags (printf "max-entries=%d" (int $s.maxEntries)) }}{{ end -}}
{{- end -}}
{{- toYaml $flags -}}
{{- end -}}

{{/* (list root key where): whether a controller serves metrics and health. */}}
{{- define "csi-driver.hasEndpoint" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $s := index $root.Values.sidecars $key -}}
{{- if or $root.Values.metrics.enabled (eq $key "snapshotMetadata") -}}
true
{{- else if has $key (include "csi-driver.electing" $root | fromYamlArray) -}}
{{- if or (dig "livenessProbe" "enabled" true $s) (dig "startupProbe" "enabled" true $s) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* (list root where): `debug-explain=MODE` of a controller of ours with an endpoint, or nothing. On the host's network all its pods are on loopback. */}}
{{- define "csi-driver.debugExplain" -}}
{{- $root := index . 0 -}}
{{- $mode := $root.Values.controller.debugExplain -}}
{{- if and (ne $mode "off") (not (and (eq $mode "loopback") (index $root.Values (index . 1)).hostNetwork)) -}}
{{- printf "debug-explain=%s" $mode -}}
{{- end -}}
{{- end -}}

{{/* (list root key where): the port of a sidecar's endpoint. */}}
{{- define "csi-driver.port" -}}
{{- $ports := index (index . 0).Values.ports (index . 2) -}}
{{- int (index $ports (ternary "snapshotMetadataHttp" (index . 1) (eq (index . 1) "snapshotMetadata"))) -}}
{{- end -}}

{{/* (list root key where): all arguments of a controller in its own container, as a YAML list. */}}
{{- define "csi-driver.arguments" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $where := index . 2 -}}
{{- $flags := list "csi-address=/csi/csi.sock" -}}
{{- $flags = concat $flags (include "csi-driver.logFlags" . | fromYamlArray) -}}
{{- if has $key (include "csi-driver.electing" $root | fromYamlArray) -}}
{{- $flags = concat $flags (include "csi-driver.electionFlags" $root | fromYamlArray) -}}
{{- end -}}
{{- $flags = concat $flags (include "csi-driver.ownFlags" (list $root $key) | fromYamlArray) -}}
{{- if include "csi-driver.hasEndpoint" . -}}
{{- $flags = append $flags (include "csi-driver.endpoint" (list $root $where (include "csi-driver.port" .))) -}}
{{- if not (or (eq $key "snapshotMetadata") (include "csi-driver.isUpstream" (list $root $key))) -}}
{{- with include "csi-driver.debugExplain" (list $root $where) }}{{ $flags = append $flags . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- with include "csi-driver.gateFlag" (include "csi-driver.gates" (list $root $key) | fromYaml) }}{{ $flags = append $flags . }}{{ end -}}
{{- $arguments := list -}}
{{- range $flags }}{{ $arguments = append $arguments (printf "--%s" .) }}{{ end -}}
{{- toYaml (concat $arguments (dig $key "extraArgs" list $root.Values.sidecars)) -}}
{{- end -}}

{{/* Arguments of the combined program: what all share once, what one owns with the prefix of its controller. */}}
{{- define "csi-driver.combinedArguments" -}}
{{- $root := . -}}
{{- $keys := include "csi-driver.combinedControllers" . | fromYamlArray -}}
{{- $names := list -}}
{{- range $keys }}{{ $names = append $names (kebabcase .) }}{{ end -}}
{{- $flags := list (printf "controllers=%s" (join "," $names)) "csi-address=/csi/csi.sock" (printf "v=%v" (int .Values.sidecars.logLevel)) (printf "logging-format=%s" .Values.sidecars.loggingFormat) -}}
{{- if .Values.leaderElection.enabled }}{{ $flags = concat $flags (include "csi-driver.electionFlags" . | fromYamlArray) }}{{ end -}}
{{- with .Values.sidecars.combined.shutdownTimeout }}{{ $flags = append $flags (printf "shutdown-timeout=%s" .) }}{{ end -}}
{{- $flags = append $flags (include "csi-driver.endpoint" (list . "controller" .Values.ports.controller.combined)) -}}
{{- with include "csi-driver.debugExplain" (list . "controller") }}{{ $flags = append $flags . }}{{ end -}}
{{- $gates := dict -}}
{{- $further := list -}}
{{- range $key := $keys -}}
{{- range include "csi-driver.ownFlags" (list $root $key) | fromYamlArray }}{{ $flags = append $flags (printf "%s-%s" (kebabcase $key) .) }}{{ end -}}
{{- range dig $key "extraArgs" list $root.Values.sidecars -}}
{{- if regexMatch "^--?(v[0-9]*|vmodule|log-[a-z-]+|logging-format|leader-election[a-z-]*|metrics-[a-z]+|automaxprocs|feature-gates|kubeconfig|master)(=.*)?$" . -}}
{{- fail (printf "sidecars.combined.enabled: sidecars.%s.extraArgs has %s, which the process has once for all controllers: set it in sidecars.combined.extraArgs" $key .) -}}
{{- end -}}
{{- /* A word that begins with a letter after its dashes is a flag; -1 is a value. */ -}}
{{- $further = append $further (regexReplaceAll "^--?([a-z])" . (printf "--%s-${1}" (kebabcase $key))) -}}
{{- end -}}
{{- range $name, $value := include "csi-driver.gates" (list $root $key) | fromYaml -}}
{{- if and (hasKey $gates $name) (ne (get $gates $name) $value) -}}
{{- fail (printf "sidecars.combined.enabled: the gate %s has different values for two controllers, but one process has one value for all" $name) -}}
{{- end -}}
{{- $_ := set $gates $name $value -}}
{{- end -}}
{{- end -}}
{{- with include "csi-driver.gateFlag" $gates }}{{ $flags = append $flags . }}{{ end -}}
{{- $arguments := list -}}
{{- range $flags }}{{ $arguments = append $arguments (printf "--%s" .) }}{{ end -}}
{{- toYaml (concat $arguments $further .Values.sidecars.combined.extraArgs) -}}
{{- end -}}

{{/* (list root where): arguments of livenessprobe, as a YAML list. */}}
{{- define "csi-driver.livenessArguments" -}}
{{- $root := index . 0 -}}
{{- $where := index . 1 -}}
{{- $s := $root.Values.sidecars.livenessProbe -}}
{{- $flags := concat (list "csi-address=/csi/csi.sock") (include "csi-driver.logFlags" (list $root "livenessProbe") | fromYamlArray) -}}
{{- $timeout := ternary (default $s.probeTimeout $s.nodeProbeTimeout) $s.probeTimeout (eq $where "node") -}}
{{- with $timeout }}{{ $flags = append $flags (printf "probe-timeout=%s" .) }}{{ end -}}
{{- $flags = append $flags (include "csi-driver.endpoint" (list $root $where (index $root.Values.ports $where).livenessProbe)) -}}
{{- $arguments := list -}}
{{- range $flags }}{{ $arguments = append $arguments (printf "--%s" .) }}{{ end -}}
{{- toYaml (concat $arguments (default list $s.extraArgs)) -}}
{{- end -}}

{{- define "csi-driver.registrarArguments" -}}
{{- $s := .Values.sidecars.nodeDriverRegistrar -}}
{{- $flags := concat (list "csi-address=/csi/csi.sock") (include "csi-driver.logFlags" (list . "nodeDriverRegistrar") | fromYamlArray) -}}
{{- $flags = append $flags (printf "kubelet-registration-path=%s/plugins/%s/csi.sock" (include "csi-driver.kubeletDir" .) .Values.driver.name) -}}
{{- with $s.timeout }}{{ $flags = append $flags (printf "timeout=%s" .) }}{{ end -}}
{{- $flags = append $flags (include "csi-driver.endpoint" (list . "node" .Values.ports.node.nodeDriverRegistrar)) -}}
{{- $arguments := list -}}
{{- range $flags }}{{ $arguments = append $arguments (printf "--%s" .) }}{{ end -}}
{{- toYaml (concat $arguments (default list $s.extraArgs)) -}}
{{- end -}}
