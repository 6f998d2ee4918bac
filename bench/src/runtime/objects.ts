// SPDX-License-Identifier: Apache-2.0
/**
 * Objects as in a cluster that has run for a while, including managedFields: about 2.7 KB per
 * PersistentVolume, 2.1 KB per claim, 1.3 KB per attachment, 4.5 KB per pod. Deterministic: object n is always the same.
 */

export type Kind = 'PersistentVolume' | 'PersistentVolumeClaim' | 'VolumeAttachment' | 'Pod';

export function anObject(kind: Kind, n: number, resourceVersion: number): object {
  return generators[kind](n, String(resourceVersion));
}

const generators = {
  PersistentVolume: persistentVolume,
  PersistentVolumeClaim: claim,
  VolumeAttachment: attachment,
  Pod: pod,
} satisfies Record<Kind, (n: number, resourceVersion: string) => object>;

const driver = 'disk.csi.example.com';
const hex = (n: number, salt: number): string =>
  ((Math.imul(n + 1, 2654435761) ^ Math.imul(salt, 40503)) >>> 0).toString(16).padStart(8, '0');
const uidOf = (n: number, salt: number): string =>
  `${hex(n, salt)}-${hex(n, salt + 1).slice(4)}-4${hex(n, salt + 2).slice(5)}-a${hex(n, salt + 3).slice(5)}-${hex(n, salt + 4)}${hex(n, salt + 5).slice(4)}`;
const timeOf = (n: number): string => new Date(Date.UTC(2026, 0, 1) + n * 7_000).toISOString().replace('.000Z', 'Z');
const volumeName = (n: number): string => `pvc-${uidOf(n, 20)}`;
const namespaceOf = (n: number): string => `team-${n % 40}-production`;
const nodeOf = (n: number): string => `ip-10-0-${n % 7}-${n % 250}.eu-central-1.compute.internal`;
const fields = (...names: string[]): object => Object.fromEntries(names.map((name) => [`f:${name}`, {}]));

/** `who` is a manager, or `manager/subresource`. */
function managedBy(who: string, time: string, fieldsV1: object): object {
  const [manager, subresource] = who.split('/');
  return { manager, operation: 'Update', apiVersion: 'v1', time, fieldsType: 'FieldsV1', fieldsV1, subresource };
}

function persistentVolume(n: number, resourceVersion: string): object {
  const time = timeOf(n);
  return {
    kind: 'PersistentVolume',
    apiVersion: 'v1',
    metadata: {
      name: volumeName(n),
      uid: uidOf(n, 1),
      resourceVersion,
      creationTimestamp: time,
      annotations: {
        'pv.kubernetes.io/provisioned-by': driver,
        'volume.kubernetes.io/provisioner-deletion-secret-name': '',
        'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
      },
      finalizers: [
        'external-provisioner.volume.kubernetes.io/finalizer',
        'kubernetes.io/pv-protection',
        'external-attacher/disk-csi-example-com',
      ],
      managedFields: [
        managedBy('csi-provisioner', time, {
          'f:metadata': {
            'f:annotations': {
              '.': {},
              ...fields(
                'pv.kubernetes.io/provisioned-by',
                'volume.kubernetes.io/provisioner-deletion-secret-name',
                'volume.kubernetes.io/provisioner-deletion-secret-namespace',
              ),
            },
            'f:finalizers': { '.': {}, 'v:"external-provisioner.volume.kubernetes.io/finalizer"': {} },
          },
          'f:spec': {
            ...fields('accessModes', 'persistentVolumeReclaimPolicy', 'storageClassName', 'volumeMode'),
            'f:capacity': { '.': {}, 'f:storage': {} },
            'f:claimRef': { '.': {}, ...fields('apiVersion', 'kind', 'name', 'namespace', 'resourceVersion', 'uid') },
            'f:csi': {
              '.': {},
              ...fields('driver', 'fsType', 'volumeHandle'),
              'f:volumeAttributes': { '.': {}, 'f:storage.kubernetes.io/csiProvisionerIdentity': {} },
            },
            'f:nodeAffinity': { '.': {}, 'f:required': {} },
          },
        }),
        managedBy('kube-controller-manager/status', time, { 'f:status': fields('phase', 'lastPhaseTransitionTime') }),
        managedBy('csi-attacher', time, {
          'f:metadata': { 'f:finalizers': { 'v:"external-attacher/disk-csi-example-com"': {} } },
        }),
      ],
    },
    spec: {
      capacity: { storage: `${(n % 5) * 10 + 10}Gi` },
      csi: {
        driver,
        volumeHandle: `vol-${hex(n, 9)}${hex(n, 10)}1`,
        fsType: 'ext4',
        volumeAttributes: {
          'storage.kubernetes.io/csiProvisionerIdentity': `1735689600${n % 3}00-8081-disk.csi.example.com`,
        },
      },
      accessModes: ['ReadWriteOnce'],
      claimRef: {
        kind: 'PersistentVolumeClaim',
        namespace: namespaceOf(n),
        name: `data-database-${n % 9}-${n}`,
        uid: uidOf(n, 20),
        apiVersion: 'v1',
        resourceVersion: String(100_000 + n),
      },
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'fast-encrypted-ssd',
      volumeMode: 'Filesystem',
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                {
                  key: 'topology.disk.csi.example.com/zone',
                  operator: 'In',
                  values: [`eu-central-1${'abc'.charAt(n % 3)}`],
                },
              ],
            },
          ],
        },
      },
    },
    status: { phase: 'Bound', lastPhaseTransitionTime: time },
  };
}

function claim(n: number, resourceVersion: string): object {
  const time = timeOf(n);
  return {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata: {
      name: `data-database-${n % 9}-${n}`,
      namespace: namespaceOf(n),
      uid: uidOf(n, 20),
      resourceVersion,
      creationTimestamp: time,
      labels: { 'app.kubernetes.io/name': 'database', 'app.kubernetes.io/instance': `database-${n % 9}` },
      annotations: {
        'pv.kubernetes.io/bind-completed': 'yes',
        'pv.kubernetes.io/bound-by-controller': 'yes',
        'volume.beta.kubernetes.io/storage-provisioner': driver,
        'volume.kubernetes.io/selected-node': nodeOf(n),
        'volume.kubernetes.io/storage-provisioner': driver,
      },
      finalizers: ['kubernetes.io/pvc-protection'],
      managedFields: [
        managedBy('kube-scheduler', time, {
          'f:metadata': { 'f:annotations': fields('volume.kubernetes.io/selected-node') },
        }),
        managedBy('kube-controller-manager', time, {
          'f:metadata': {
            'f:annotations': fields(
              'pv.kubernetes.io/bind-completed',
              'pv.kubernetes.io/bound-by-controller',
              'volume.beta.kubernetes.io/storage-provisioner',
              'volume.kubernetes.io/storage-provisioner',
            ),
            'f:labels': { '.': {}, ...fields('app.kubernetes.io/name', 'app.kubernetes.io/instance') },
          },
          'f:spec': {
            ...fields('accessModes', 'storageClassName', 'volumeMode', 'volumeName'),
            'f:resources': { 'f:requests': { '.': {}, 'f:storage': {} } },
          },
        }),
        managedBy('kube-controller-manager/status', time, {
          'f:status': { ...fields('accessModes', 'phase'), 'f:capacity': { '.': {}, 'f:storage': {} } },
        }),
      ],
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: `${(n % 5) * 10 + 10}Gi` } },
      volumeName: volumeName(n),
      storageClassName: 'fast-encrypted-ssd',
      volumeMode: 'Filesystem',
    },
    status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: `${(n % 5) * 10 + 10}Gi` } },
  };
}

function attachment(n: number, resourceVersion: string): object {
  const time = timeOf(n);
  return {
    kind: 'VolumeAttachment',
    apiVersion: 'storage.k8s.io/v1',
    metadata: {
      name: `csi-${hex(n, 30)}${hex(n, 31)}${hex(n, 32)}${hex(n, 33)}${hex(n, 34)}${hex(n, 35)}${hex(n, 36)}${hex(n, 37)}`,
      uid: uidOf(n, 40),
      resourceVersion,
      creationTimestamp: time,
      annotations: { 'csi.alpha.kubernetes.io/node-id': `i-${hex(n % 250, 3)}${hex(n % 250, 4)}0` },
      finalizers: ['external-attacher/disk-csi-example-com'],
      managedFields: [
        managedBy('kube-controller-manager', time, {
          'f:spec': { ...fields('attacher', 'nodeName'), 'f:source': { 'f:persistentVolumeName': {} } },
        }),
        managedBy('csi-attacher', time, {
          'f:metadata': {
            'f:annotations': { '.': {}, 'f:csi.alpha.kubernetes.io/node-id': {} },
            'f:finalizers': { '.': {}, 'v:"external-attacher/disk-csi-example-com"': {} },
          },
        }),
        managedBy('csi-attacher/status', time, { 'f:status': fields('attached', 'attachmentMetadata') }),
      ],
    },
    spec: { attacher: driver, source: { persistentVolumeName: volumeName(n) }, nodeName: nodeOf(n) },
    status: { attached: true, attachmentMetadata: { devicePath: `/dev/xvd${'abcdefgh'.charAt(n % 8)}a` } },
  };
}

function pod(n: number, resourceVersion: string): object {
  const time = timeOf(n);
  const container = (name: string): object => ({
    name,
    image: `registry.example.com/platform/${name}:v1.${n % 4}.0`,
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'REGION', value: 'eu-central-1' },
    ],
    resources: { limits: { cpu: '2', memory: '4Gi' }, requests: { cpu: '500m', memory: '2Gi' } },
    volumeMounts: [
      { name: 'data', mountPath: '/var/lib/data' },
      { name: 'kube-api-access', readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
    ],
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
  });
  const containerStatus = (name: string): object => ({
    name,
    state: { running: { startedAt: time } },
    lastState: {},
    ready: true,
    restartCount: n % 3,
    image: `registry.example.com/platform/${name}:v1.${n % 4}.0`,
    imageID: `registry.example.com/platform/${name}@sha256:${hex(n % 4, 1).repeat(8)}`,
    containerID: `containerd://${hex(n, 50)}${hex(n, 51)}${hex(n, 52)}${hex(n, 53)}${hex(n, 54)}${hex(n, 55)}${hex(n, 56)}${hex(n, 57)}`,
    started: true,
  });
  const condition = (type: string): object => ({
    type,
    status: 'True',
    observedGeneration: 1,
    lastProbeTime: null,
    lastTransitionTime: time,
  });
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: `database-${n % 9}-${n}`,
      generateName: `database-${n % 9}-`,
      namespace: namespaceOf(n),
      uid: uidOf(n, 60),
      resourceVersion,
      generation: 1,
      creationTimestamp: time,
      labels: {
        'app.kubernetes.io/name': 'database',
        'app.kubernetes.io/instance': `database-${n % 9}`,
        'controller-revision-hash': `database-${hex(n % 9, 2)}`,
        'statefulset.kubernetes.io/pod-name': `database-${n % 9}-${n}`,
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          name: `database-${n % 9}`,
          uid: uidOf(n % 9, 70),
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: [
        managedBy('kube-controller-manager', time, {
          'f:metadata': { 'f:labels': { '.': {}, ...fields('app.kubernetes.io/name', 'app.kubernetes.io/instance') } },
          'f:spec': { 'f:containers': { 'k:{"name":"server"}': fields('image', 'name', 'resources', 'volumeMounts') } },
        }),
        managedBy('kubelet/status', time, { 'f:status': fields('conditions', 'containerStatuses', 'hostIP', 'podIP') }),
      ],
    },
    spec: {
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: `data-database-${n % 9}-${n}` } },
        {
          name: 'kube-api-access',
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            ],
            defaultMode: 420,
          },
        },
      ],
      containers: [container('server'), container('metrics')],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'database',
      nodeName: nodeOf(n),
      securityContext: {},
      schedulerName: 'default-scheduler',
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      priority: 0,
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
    },
    status: {
      phase: 'Running',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(condition),
      hostIP: `10.0.${n % 7}.${n % 250}`,
      podIP: `10.1.${n % 200}.${n % 250}`,
      startTime: time,
      containerStatuses: [containerStatus('server'), containerStatus('metrics')],
      qosClass: 'Burstable',
    },
  };
}
