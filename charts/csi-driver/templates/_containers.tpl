{{/* The containers. (dict root where ...): `where` is "controller" or "node". */}}

{{/* (list root where own): the security context of a sidecar. On nodes it runs as root, because the driver's socket is root's. */}}
{{- define "csi-driver.sidecarSecurity" -}}
{{- $root := index . 0 -}}
{{- $context := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- if eq (index . 1) "node" -}}
{{- $_ := set $context "runAsUser" 0 -}}
{{- $_ := set $context "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- if $root.Values.node.selinux.enabled }}{{ $_ := set $context "seLinuxOptions" (dict "type" "spc_t") }}{{ end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $context (deepCopy (default dict (index . 2)))) -}}
{{- end -}}

{{/*
(dict root [socket] [fields] [nodeOptions] [withProxy] [own]): the environment of a container, as a YAML list. `socket`: the driver's, for the
driver itself. `fields`: fields of the pod by variable. A variable of the user (`own`) takes the place of ours: the API server refuses two of one name.
*/}}
{{- define "csi-driver.env" -}}
{{- $variables := list -}}
{{- if and .socket .root.Values.driver.socketEnvName }}{{ $variables = append $variables (dict "name" .root.Values.driver.socketEnvName "value" .socket) }}{{ end -}}
{{- range $name, $path := .fields }}{{ $variables = append $variables (dict "name" $name "valueFrom" (dict "fieldRef" (dict "fieldPath" $path))) }}{{ end -}}
{{- if .withProxy -}}
{{- $proxy := .root.Values.proxy -}}
{{- range $pair := list (list "HTTP_PROXY" $proxy.httpProxy) (list "HTTPS_PROXY" $proxy.httpsProxy) (list "NO_PROXY" $proxy.noProxy) -}}
{{- if last $pair }}{{ $variables = append $variables (dict "name" (first $pair) "value" (last $pair)) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- with .nodeOptions }}{{ $variables = append $variables (dict "name" "NODE_OPTIONS" "value" .) }}{{ end -}}
{{- $variables = concat $variables (default list .own) -}}
{{- $last := dict -}}
{{- range $index, $variable := $variables }}{{ $_ := set $last $variable.name $index }}{{ end -}}
{{- $kept := list -}}
{{- range $index, $variable := $variables }}{{ if eq $index (get $last $variable.name) }}{{ $kept = append $kept $variable }}{{ end }}{{ end -}}
{{- toYaml $kept -}}
{{- end -}}

{{/* (dict root own): the environment of the driver, whichever its pod. */}}
{{- define "csi-driver.driverEnv" -}}
{{- $fields := dict "POD_NAMESPACE" "metadata.namespace" -}}
{{- with .root.Values.driver.nodeIdEnvName }}{{ $_ := set $fields . "spec.nodeName" }}{{ end -}}
{{- include "csi-driver.env" (merge (dict "fields" $fields "withProxy" true) .) -}}
{{- end -}}

{{- define "csi-driver.tokenMount" }}
- name: api-access
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end -}}

{{/* The account's token, for the containers that mount it and no others. */}}
{{- define "csi-driver.tokenVolume" }}
- name: api-access
  projected:
    defaultMode: 420
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3607}
      - configMap:
          name: kube-root-ca.crt
          items: [{key: ca.crt, path: ca.crt}]
      - downwardAPI:
          items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]
{{- end -}}

{{/*
(dict defaults own): a probe with the fields of the user over it, without `enabled`. Empty if it is switched off. A probe has one action: one
of the user's takes the place of the chart's.
*/}}
{{- define "csi-driver.probe" -}}
{{- $own := default dict .own -}}
{{- $defaults := deepCopy .defaults -}}
{{- if or $own.exec $own.grpc $own.tcpSocket }}{{ $defaults = omit $defaults "httpGet" }}{{ end -}}
{{- if ne (toString (get $own "enabled")) "false" -}}
{{- toYaml (mergeOverwrite $defaults (omit $own "enabled")) -}}
{{- end -}}
{{- end -}}

{{/* (dict root where driver [node]): the driver's container. */}}
{{- define "csi-driver.driverContainer" -}}
{{- $root := .root -}}
{{- $driver := .driver -}}
{{- $onNode := eq .where "node" -}}
- name: csi-driver
  image: {{ include "csi-driver.driverImage" $root }}
  imagePullPolicy: {{ $root.Values.driver.image.pullPolicy }}
  {{- if .restartPolicy }}
  restartPolicy: {{ .restartPolicy }}
  {{- end }}
  {{- with $driver.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $driver.args }}
  args:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  env:
    {{- include "csi-driver.driverEnv" (dict "root" $root "socket" "unix:///csi/csi.sock" "own" $driver.env) | nindent 4 }}
  {{- with $driver.envFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - {name: healthz, containerPort: {{ int (index $root.Values.ports .where).livenessProbe }}, protocol: TCP}
    {{- with $driver.metricsPort }}
    - {name: driver-metrics, containerPort: {{ int . }}, protocol: TCP}
    {{- end }}
    {{- with $driver.ports }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- $get := dict "path" "/healthz" "port" "healthz" }}
  {{- $get = merge $get (include "csi-driver.probeHost" (list $root .where) | fromYaml) }}
  {{- with $driver.lifecycle }}
  lifecycle:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $driver.startupProbe }}
  {{- $startup := dict "httpGet" $get "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 60 }}
  {{- with include "csi-driver.probe" (dict "defaults" $startup "own" $driver.startupProbe) }}
  startupProbe:
    {{- . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- $liveness := dict "httpGet" $get "initialDelaySeconds" 10 "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 5 }}
  {{- with include "csi-driver.probe" (dict "defaults" $liveness "own" $driver.livenessProbe) }}
  livenessProbe:
    {{- . | nindent 4 }}
  {{- end }}
  {{- if not $onNode }}
  {{- $readiness := dict "httpGet" $get "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 3 }}
  {{- with include "csi-driver.probe" (dict "defaults" $readiness "own" $driver.readinessProbe) }}
  readinessProbe:
    {{- . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- $security := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) }}
  {{- if $onNode }}
  {{- $security = dict "privileged" true "runAsUser" 0 "readOnlyRootFilesystem" true }}
  {{- end }}
  securityContext:
    {{- toYaml (mergeOverwrite $security (deepCopy (default dict $driver.securityContext))) | nindent 4 }}
  resources:
    {{- toYaml $driver.resources | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    {{- if $onNode }}
    - {name: plugin-dir, mountPath: /csi}
    - {name: pods-mount-dir, mountPath: {{ include "csi-driver.kubeletDir" $root }}/pods, mountPropagation: Bidirectional}
    {{- if $driver.stageUnstage }}
    - {name: plugins-mount-dir, mountPath: {{ include "csi-driver.kubeletDir" $root }}/plugins, mountPropagation: Bidirectional}
    {{- end }}
    {{- if .node.deviceDir }}
    - {name: device-dir, mountPath: /dev}
    {{- end }}
    {{- range $name, $host := .node.hostPaths }}
    - name: {{ $name }}
      mountPath: {{ default $host.path $host.mountPath }}
      {{- with $host.readOnly }}
      readOnly: true
      {{- end }}
      {{- with $host.mountPropagation }}
      mountPropagation: {{ . }}
      {{- end }}
    {{- end }}
    {{- else }}
    - {name: socket-dir, mountPath: /csi}
    {{- end }}
    {{- if $driver.mountToken }}
    {{- include "csi-driver.tokenMount" $root | nindent 4 }}
    {{- end }}
    {{- with $driver.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* (dict root key where): the container of a controller. */}}
{{- define "csi-driver.controllerContainer" -}}
{{- $root := .root -}}
{{- $key := .key -}}
{{- $s := index $root.Values.sidecars $key -}}
{{- $on := include "csi-driver.features" $root | fromYaml -}}
{{- $program := index (include "csi-driver.programs" $root | fromYaml) $key -}}
{{- $endpoint := include "csi-driver.hasEndpoint" (list $root $key) -}}
- name: {{ $program.container }}
  image: {{ include "csi-driver.sidecarImage" (list $root $key) }}
  imagePullPolicy: {{ include "csi-driver.sidecarPullPolicy" (list $root (default dict $s.image)) }}
  {{- with $s.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  args:
    {{- include "csi-driver.arguments" (list $root $key .where) | nindent 4 }}
  {{- $fields := dict "POD_NAMESPACE" "metadata.namespace" }}
  {{- if and (eq $key "provisioner") $on.capacity }}{{ $fields = merge $fields (dict "NAMESPACE" "metadata.namespace" "POD_NAME" "metadata.name") }}{{ end }}
  {{- if eq .where "node" }}{{ $_ := set $fields "NODE_NAME" "spec.nodeName" }}{{ end }}
  env:
    {{- include "csi-driver.env" (dict "root" $root "fields" $fields "withProxy" true "nodeOptions" $s.nodeOptions "own" $s.env) | nindent 4 }}
  {{- if $endpoint }}
  ports:
    - {name: {{ $program.port }}, containerPort: {{ include "csi-driver.port" (list $root $key .where) }}, protocol: TCP}
    {{- if eq $key "snapshotMetadata" }}
    - {name: snapmeta-grpc, containerPort: {{ int $root.Values.ports.controller.snapshotMetadata }}, protocol: TCP}
    {{- end }}
  {{- end }}
  {{- if eq $key "snapshotMetadata" }}
  readinessProbe:
    httpGet:
      path: /health
      port: {{ $program.port }}
      {{- include "csi-driver.probeHost" (list $root .where) | trim | nindent 6 }}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 3
  {{- else if and $endpoint (has $key (include "csi-driver.electing" $root | fromYamlArray)) }}
  {{- include "csi-driver.leaderProbes" (dict "root" $root "where" .where "port" $program.port "own" $s) | nindent 2 }}
  {{- end }}
  securityContext:
    {{- include "csi-driver.sidecarSecurity" (list $root .where $s.securityContext) | nindent 4 }}
  resources:
    {{- include "csi-driver.sidecarResources" (list $root $key $s.resources) | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - {name: {{ ternary "plugin-dir" "socket-dir" (eq .where "node") }}, mountPath: /csi}
    {{- include "csi-driver.tokenMount" $root | nindent 4 }}
    {{- if eq $key "snapshotMetadata" }}
    - {name: snapshot-metadata-certificates, mountPath: /tmp/certificates, readOnly: true}
    {{- end }}
    {{- with $s.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/*
(dict root where port own): probes of the election. The endpoint opens when the driver has answered, so the startup probe waits for ten
minutes; upstream's example kills a sidecar whose driver is slow.
*/}}
{{- define "csi-driver.leaderProbes" -}}
{{- $get := dict "path" "/healthz/leader-election" "port" .port -}}
{{- $get = merge $get (include "csi-driver.probeHost" (list .root .where) | fromYaml) -}}
{{- $startup := dict "httpGet" $get "periodSeconds" 10 "timeoutSeconds" 10 "failureThreshold" 60 -}}
{{- $liveness := dict "httpGet" $get "periodSeconds" 20 "timeoutSeconds" 10 "failureThreshold" 3 -}}
{{- with include "csi-driver.probe" (dict "defaults" $startup "own" .own.startupProbe) }}
startupProbe:
  {{- . | nindent 2 }}
{{- end }}
{{- with include "csi-driver.probe" (dict "defaults" $liveness "own" .own.livenessProbe) }}
livenessProbe:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* (root): all controllers in one container. */}}
{{- define "csi-driver.combinedContainer" -}}
{{- $s := .Values.sidecars.combined -}}
{{- $on := include "csi-driver.features" . | fromYaml -}}
- name: csi-sidecars
  image: {{ include "csi-driver.combinedImage" . }}
  imagePullPolicy: {{ include "csi-driver.sidecarPullPolicy" (list . $s.image) }}
  args:
    {{- include "csi-driver.combinedArguments" . | nindent 4 }}
  {{- $fields := dict "POD_NAMESPACE" "metadata.namespace" }}
  {{- if $on.capacity }}{{ $fields = merge $fields (dict "NAMESPACE" "metadata.namespace" "POD_NAME" "metadata.name") }}{{ end }}
  {{- /* Settings of single sidecars stay where they are. */}}
  {{- $own := dict "env" list "volumeMounts" list }}
  {{- range $key := include "csi-driver.combinedControllers" . | fromYamlArray }}
  {{- range $what := list "env" "volumeMounts" }}
  {{- $_ := set $own $what (concat (get $own $what) (default list (dig $key $what list $.Values.sidecars)) | uniq) }}
  {{- end }}
  {{- end }}
  env:
    {{- include "csi-driver.env" (dict "root" . "fields" $fields "withProxy" true "own" (concat $own.env $s.env)) | nindent 4 }}
  ports:
    - {name: sidecar-metrics, containerPort: {{ int .Values.ports.controller.combined }}, protocol: TCP}
  {{- if .Values.leaderElection.enabled }}
  {{- include "csi-driver.leaderProbes" (dict "root" . "where" "controller" "port" "sidecar-metrics" "own" dict) | nindent 2 }}
  {{- end }}
  securityContext:
    {{- include "csi-driver.sidecarSecurity" (list . "controller" $s.securityContext) | nindent 4 }}
  resources:
    {{- include "csi-driver.sidecarResources" (list . "combined" $s.resources) | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - {name: socket-dir, mountPath: /csi}
    {{- include "csi-driver.tokenMount" . | nindent 4 }}
    {{- with $own.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* (dict root where [restartPolicy]) */}}
{{- define "csi-driver.livenessContainer" -}}
{{- $s := .root.Values.sidecars.livenessProbe -}}
- name: liveness-probe
  image: {{ include "csi-driver.sidecarImage" (list .root "livenessProbe") }}
  imagePullPolicy: {{ include "csi-driver.sidecarPullPolicy" (list .root $s.image) }}
  {{- if .restartPolicy }}
  restartPolicy: {{ .restartPolicy }}
  {{- end }}
  {{- with $s.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  args:
    {{- include "csi-driver.livenessArguments" (list .root .where) | nindent 4 }}
  {{- include "csi-driver.smallSidecarEnv" (list .root $s) | nindent 2 }}
  securityContext:
    {{- include "csi-driver.sidecarSecurity" (list .root .where $s.securityContext) | nindent 4 }}
  resources:
    {{- include "csi-driver.sidecarResources" (list .root "livenessProbe" $s.resources) | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - {name: {{ ternary "plugin-dir" "socket-dir" (eq .where "node") }}, mountPath: /csi}
    {{- with $s.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* (list root settings): environment of a sidecar that does not use the API. */}}
{{- define "csi-driver.smallSidecarEnv" -}}
{{- $s := index . 1 -}}
env:
  {{- include "csi-driver.env" (dict "root" (index . 0) "fields" (dict "POD_NAMESPACE" "metadata.namespace") "nodeOptions" $s.nodeOptions "own" $s.env) | nindent 2 }}
{{- end -}}

{{- define "csi-driver.registrarContainer" -}}
{{- $s := .Values.sidecars.nodeDriverRegistrar -}}
- name: node-driver-registrar
  image: {{ include "csi-driver.sidecarImage" (list . "nodeDriverRegistrar") }}
  imagePullPolicy: {{ include "csi-driver.sidecarPullPolicy" (list . $s.image) }}
  {{- with $s.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  args:
    {{- include "csi-driver.registrarArguments" . | nindent 4 }}
  {{- include "csi-driver.smallSidecarEnv" (list . $s) | nindent 2 }}
  ports:
    - {name: reg-healthz, containerPort: {{ int .Values.ports.node.nodeDriverRegistrar }}, protocol: TCP}
  {{- $get := dict "path" "/healthz" "port" "reg-healthz" }}
  {{- $get = merge $get (include "csi-driver.probeHost" (list . "node") | fromYaml) }}
  {{- $liveness := dict "httpGet" $get "initialDelaySeconds" 30 "periodSeconds" 90 "timeoutSeconds" 15 "failureThreshold" 3 }}
  {{- with include "csi-driver.probe" (dict "defaults" $liveness "own" $s.livenessProbe) }}
  livenessProbe:
    {{- . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "csi-driver.sidecarSecurity" (list . "node" $s.securityContext) | nindent 4 }}
  resources:
    {{- include "csi-driver.sidecarResources" (list . "nodeDriverRegistrar" $s.resources) | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - {name: plugin-dir, mountPath: /csi}
    - {name: registration-dir, mountPath: /registration}
    {{- with $s.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
