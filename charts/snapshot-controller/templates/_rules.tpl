{{- /* SPDX-License-Identifier: Apache-2.0 */}}
{{- /* Generated from packages/snapshot-controller/src/rbac.ts and e2e/rbac/stock (`npm run generate`). */}}

{{- define "snapshot-controller.clusterRules.minimal" }}
- apiGroups: ['']
  resources: [persistentvolumes]
  verbs: [list, watch]
- apiGroups: ['']
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, update]
- apiGroups: ['']
  resources: [events]
  verbs: [create, patch]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshotclasses]
  verbs: [list, watch]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshotcontents]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshots]
  verbs: [get, list, watch, patch]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshots/status]
  verbs: [patch]
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshots]
  verbs: [get]
{{- if include "snapshot-controller.groupSnapshots" . }}
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshots]
  verbs: [create, delete]
{{- end }}
{{- if include "snapshot-controller.groupSnapshots" . }}
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshotcontents/status]
  verbs: [patch]
{{- end }}
{{- if include "snapshot-controller.groupSnapshots" . }}
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshotclasses]
  verbs: [list, watch]
{{- end }}
{{- if include "snapshot-controller.groupSnapshots" . }}
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshotcontents]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if include "snapshot-controller.groupSnapshots" . }}
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshots]
  verbs: [list, watch, patch]
{{- end }}
{{- if include "snapshot-controller.groupSnapshots" . }}
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshots/status]
  verbs: [patch]
{{- end }}
{{- if .Values.controller.enableDistributedSnapshotting }}
- apiGroups: ['']
  resources: [nodes]
  verbs: [list, watch]
{{- end }}
{{- if .Values.controller.enableDataSourceValidator }}
- apiGroups: [populator.storage.k8s.io]
  resources: [volumepopulators]
  verbs: [list, watch]
{{- end }}
{{- end }}

{{- define "snapshot-controller.leaseRules.minimal" }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [snapshot-controller-leader]
  verbs: [get, watch, update]
{{- if .Values.controller.enableDataSourceValidator }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [data-source-validator-leader]
  verbs: [get, watch, update]
{{- end }}
{{- end }}

{{- define "snapshot-controller.clusterRules.compatible" }}
- apiGroups: ['']
  resources: [persistentvolumes]
  verbs: [get, list, watch]
- apiGroups: ['']
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, update]
- apiGroups: ['']
  resources: [events]
  verbs: [list, watch, create, update, patch]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshotclasses]
  verbs: [get, list, watch]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshotcontents]
  verbs: [create, get, list, watch, update, delete, patch]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshotcontents/status]
  verbs: [patch]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshots]
  verbs: [create, get, list, watch, update, patch, delete]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshots/status]
  verbs: [update, patch]
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshotclasses]
  verbs: [get, list, watch]
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshotcontents]
  verbs: [create, get, list, watch, update, delete, patch]
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshotcontents/status]
  verbs: [patch]
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshots]
  verbs: [get, list, watch, update, patch]
- apiGroups: [groupsnapshot.storage.k8s.io]
  resources: [volumegroupsnapshots/status]
  verbs: [update, patch]
{{- if .Values.controller.enableDistributedSnapshotting }}
- apiGroups: ['']
  resources: [nodes]
  verbs: [get, list, watch]
{{- end }}
{{- if .Values.controller.enableDataSourceValidator }}
- apiGroups: [populator.storage.k8s.io]
  resources: [volumepopulators]
  verbs: [get, list, watch]
{{- end }}
{{- end }}

{{- define "snapshot-controller.leaseRules.compatible" }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, watch, list, delete, update, create]
{{- end }}
