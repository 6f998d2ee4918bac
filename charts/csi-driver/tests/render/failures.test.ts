// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { hasHelm } from '../../../testing/helm.ts';
import { container, flagsOf, one, workload } from '../../../testing/manifest.ts';
import { distributed, notesWith, refusalWith, renderWith, upstream } from '../minimal.ts';

interface Row {
  readonly given: string;
  readonly values: object;
  readonly then: RegExp;
}

const snapshots = { features: { snapshots: true } };
const pod = (runAsUser: number): object => ({
  driver: { controller: { runAsRoot: false, securityContext: { runAsUser } } },
});
const onHost = { hostNetwork: true };

const rows: readonly Row[] = [
  {
    given: 'a kubelet folder that makes the socket path longer than a socket path can be',
    values: { kubeletDir: `/var/${'x'.repeat(60)}`, driver: { name: `a${'b'.repeat(40)}.csi.example.com` } },
    then: /kubeletDir is too long for driver\.name: the socket .* has \d+ bytes/,
  },
  {
    given: 'no attacher while the CSIDriver demands attachment',
    values: { features: { attach: false } },
    then: /features\.attach is false, but csiDriver\.attachRequired is true/,
  },
  {
    given: 'scheduling by capacity without capacity objects',
    values: { csiDriver: { storageCapacity: true } },
    then: /csiDriver\.storageCapacity is true, but features\.capacity is false/,
  },
  {
    given: 'distributed mode with attach',
    values: { ...upstream, ...distributed, features: { attach: true, resize: false }, csiDriver: {} },
    then: /mode distributed cannot attach volumes: set features\.attach to false/,
  },
  {
    given: 'distributed mode with resize',
    values: { ...upstream, ...distributed, features: { attach: false, resize: true } },
    then: /mode distributed cannot resize volumes: set features\.resize to false/,
  },
  {
    given: 'the combined container in distributed mode',
    values: { ...distributed, sidecars: { ...upstream.sidecars, combined: { enabled: true } } },
    then: /set sidecars\.combined\.enabled to false/,
  },
  {
    given: 'a snapshotter of the nodes with leader election',
    values: { ...distributed, sidecars: { ...upstream.sidecars, snapshotter: { extraArgs: ['--leader-election'] } } },
    then: /sidecars\.snapshotter\.extraArgs has --leader-election/,
  },
  {
    given: 'a snapshotter of the controller with --node-deployment',
    values: { ...snapshots, sidecars: { snapshotter: { extraArgs: ['--node-deployment=true'] } } },
    then: /sidecars\.snapshotter\.extraArgs has --node-deployment/,
  },
  {
    given: 'group snapshots without snapshots',
    values: { features: { snapshots: false, groupSnapshots: true } },
    then: /features\.groupSnapshots is true, but features\.snapshots is false/,
  },
  {
    given: 'a lease that is not longer than its renew deadline',
    values: { leaderElection: { leaseDuration: '10s' } },
    then: /leaderElection\.leaseDuration \(10s\) must be longer than leaderElection\.renewDeadline \(10s\)/,
  },
  {
    given: 'a renew deadline within 1.2 retry periods',
    values: { leaderElection: { retryPeriod: '8.5s' } },
    then: /leaderElection\.renewDeadline \(10s\) must be longer than 1\.2 times leaderElection\.retryPeriod \(8\.5s\)/,
  },
  {
    given: 'two containers of a pod with one port',
    values: { ports: { controller: { attacher: 9810 } } },
    then: /the port 9810 is used twice: by csi-provisioner in the controller pod and by csi-attacher in the controller pod/,
  },
  {
    given: "controller and nodes on the host's network with one port",
    values: { controller: onHost, node: onHost },
    then: /the port 9808 is used twice: by liveness-probe in the controller pod and by liveness-probe in the node pod/,
  },
  {
    given: "metrics on the host's network without an address",
    values: { controller: onHost, metrics: { enabled: true } },
    then: /set controller\.bindAddress/,
  },
  {
    given: 'pods of Windows that could mount nothing',
    values: { node: { windows: { enabled: true, hostProcess: false } } },
    then: /node\.windows\.csiProxy is empty: the driver could mount nothing/,
  },
  {
    given: 'csi-proxy for HostProcess pods',
    values: { node: { windows: { enabled: true, csiProxy: ['disk-v1'] } } },
    then: /node\.windows\.csiProxy is set, but node\.windows\.hostProcess is true/,
  },
  {
    given: 'both limits of a budget',
    values: { controller: { pdb: { minAvailable: 1, maxUnavailable: 1 } } },
    then: /controller\.pdb has both minAvailable and maxUnavailable, .*: set one of them to null/,
  },
  {
    given: 'a common label that selectors use',
    values: { commonLabels: { 'app.kubernetes.io/name': 'mine' } },
    then: /commonLabels may not set app\.kubernetes\.io\/name/,
  },
  {
    given: 'a pod label that selectors use',
    values: { node: { podLabels: { 'app.kubernetes.io/component': 'mine' } } },
    then: /node\.podLabels may not set app\.kubernetes\.io\/component/,
  },
  {
    given: 'a driver of another uid than its sidecars',
    values: pod(1000),
    then: /driver\.controller\.securityContext\.runAsUser is 1000, but .* the sidecars run as uid 65532/,
  },
  {
    given: 'two default StorageClasses',
    values: {
      storageClasses: [
        { name: 'a', default: true },
        { name: 'b', default: true },
      ],
    },
    then: /storageClasses has more than one default class: a, b/,
  },
  {
    given: 'snapshot metadata without a certificate',
    values: { features: { snapshotMetadata: true } },
    then: /features\.snapshotMetadata needs sidecars\.snapshotMetadata\.tlsSecretName/,
  },
  {
    given: 'two replicas without leader election',
    values: { leaderElection: { enabled: false } },
    then: /leaderElection\.enabled is false with more than one replica: set controller\.replicas to 1/,
  },
  {
    given: 'an endpoint among the extra arguments',
    values: { sidecars: { provisioner: { extraArgs: ['-http-endpoint=:1'] } } },
    then: /sidecars\.provisioner\.extraArgs may not set -http-endpoint=:1/,
  },
  {
    given: "a class that names a secret by a claim's namespace",
    values: {
      storageClasses: [{ name: 'a', secrets: { provisioner: { name: 'key', namespace: '${pvc.namespace}' } } }],
    },
    then: /set rbac\.secrets\.clusterWide to true/,
  },
  {
    given: 'a reserved parameter that csi-provisioner refuses',
    values: { storageClasses: [{ name: 'a', parameters: { 'csi.storage.k8s.io/fs-type': 'ext4' } }] },
    then: /storageClasses: a has the parameter csi\.storage\.k8s\.io\/fs-type/,
  },
  {
    given: 'a class that grows without a resizer',
    values: { features: { resize: false }, storageClasses: [{ name: 'a', allowVolumeExpansion: true }] },
    then: /storageClasses: a allows volume expansion, but features\.resize is false/,
  },
  {
    given: "the combined container with upstream's images",
    values: { sidecars: { ...upstream.sidecars, combined: { enabled: true } } },
    then: /sidecars\.combined\.enabled runs our provisioner, but sidecars\.provisioner selects upstream's image/,
  },
  {
    given: 'controllers in one process that want different values of one gate',
    values: {
      sidecars: {
        combined: { enabled: true },
        provisioner: { featureGates: { VolumeAttributesClass: true } },
        resizer: { featureGates: { VolumeAttributesClass: false } },
      },
    },
    then: /the gate VolumeAttributesClass has different values for two controllers/,
  },
  {
    given: 'two tokens for one audience',
    values: { csiDriver: { tokenRequests: [{ audience: 'a' }, { audience: 'a', expirationSeconds: 700 }] } },
    then: /csiDriver\.tokenRequests has an audience twice/,
  },
  {
    given: 'tokens in secrets while there are no tokens',
    values: { csiDriver: { serviceAccountTokenInSecrets: true } },
    then: /csiDriver\.serviceAccountTokenInSecrets is set, but csiDriver\.tokenRequests is empty/,
  },
  {
    given: 'one account for controller and nodes',
    values: { serviceAccount: { controller: { name: 'same' }, node: { name: 'same' } } },
    then: /serviceAccount\.controller\.name and serviceAccount\.node\.name are equal/,
  },
  {
    given: 'a further DaemonSet under the name of that for Windows',
    values: { node: { windows: { enabled: true }, extraDaemonSets: { windows: {} } } },
    then: /node\.extraDaemonSets has the key windows/,
  },
  {
    given: 'a further DaemonSet under a key that cannot be part of a name',
    values: { node: { extraDaemonSets: { GPU_nodes: {} } } },
    then: /GPU_nodes/,
  },
  {
    given: 'a flag of the process among the arguments of one controller of the combined container',
    values: { sidecars: { combined: { enabled: true }, attacher: { extraArgs: ['--v=5'] } } },
    then: /sidecars\.attacher\.extraArgs has --v=5, which the process has once .* sidecars\.combined\.extraArgs/,
  },
  {
    given: 'an image without tag and digest',
    values: { driver: { image: { tag: '' } } },
    then: /no tag and no digest for the image registry\.example\.com\/driver/,
  },
  {
    given: 'a combined container that may take longer to end than its pod',
    values: { sidecars: { combined: { enabled: true, shutdownTimeout: '1m' } } },
    then: /sidecars\.combined\.shutdownTimeout \(60s\) must be shorter than controller\.terminationGracePeriodSeconds \(30s\)/,
  },
  {
    given: 'a pod that has less time to end than the combined program takes by default',
    values: { sidecars: { combined: { enabled: true } }, controller: { terminationGracePeriodSeconds: 25 } },
    then: /sidecars\.combined\.shutdownTimeout \(25s\) must be shorter than/,
  },
];

describe.skipIf(!hasHelm)('what the chart refuses to render', () => {
  it.each(rows)('given $given, then helm fails with a sentence that names the value', async ({ values, then }) => {
    expect(await refusalWith(values)).toMatch(then);
  });

  it('[packaging#19] given a driver name with upper case, whose Lease would not be valid, then helm fails and names driver.name', async () => {
    expect(await refusalWith({ driver: { name: 'Upper.csi.example.com' } })).toMatch(/driver.*name/s);
  });

  it('given null for a value that has no empty one, then the schema names it; given null for lists, maps and texts, then they are empty', async () => {
    expect(await refusalWith({ controller: { replicas: null } })).toMatch(/missing property 'replicas'/);
    expect(await refusalWith({ sidecars: { provisioner: null } })).toMatch(/missing property 'provisioner'/);
    const empty = {
      nameOverride: null,
      commonLabels: null,
      imagePullSecrets: null,
      storageClasses: null,
      volumeSnapshotClasses: null,
      controller: {
        affinity: null,
        tolerations: null,
        topologySpreadConstraints: null,
        nodeSelector: null,
        podSecurityContext: null,
      },
      sidecars: { attacher: { timeout: null }, provisioner: { resources: null, featureGates: null, extraArgs: null } },
    };
    const { template } = workload(one(await renderWith(empty), 'Deployment'));
    expect(template.spec.securityContext).toMatchObject({ runAsUser: 0 });
    for (const field of ['tolerations', 'topologySpreadConstraints']) expect(template.spec).not.toHaveProperty(field);
    expect(flagsOf(container(template.spec, 'csi-attacher'))).not.toHaveProperty('timeout');
  });

  it('given a release whose name begins with a digit, then helm fails, because no Service may have such a name; with another prefix or without Services it renders', async () => {
    const metrics = { enabled: true };
    expect(await refusalWith({ metrics }, { release: '1st' })).toMatch(
      /"1st-csi-driver" cannot begin a Service's name/,
    );
    for (const values of [{ metrics, fullnameOverride: 'first' }, {}]) {
      expect(await renderWith(values, { release: '1st' })).not.toEqual([]);
    }
  });

  it('given a DaemonSet that surges, then the schema refuses it', async () => {
    const surge = { node: { updateStrategy: { rollingUpdate: { maxSurge: 1 } } } };
    expect(await refusalWith(surge)).toMatch(/maxSurge/);
  });

  it('given values that are only unusual, then the chart renders and the notes warn', async () => {
    const values = { csiDriver: { attachRequired: false }, networkPolicy: { enabled: true }, rbac: { create: false } };
    const text = await notesWith(values);
    expect(await renderWith(values)).not.toEqual([]);
    expect(text).toMatch(/features\.attach is true, but csiDriver\.attachRequired is false/);
    expect(text).toMatch(/networkPolicy\.driverEgress is empty/);
    expect(text).toMatch(/rbac\.create is false.*bind test-csi-driver-controller/s);
  });

  it('given capacity without a class that waits for its consumer, then the notes warn', async () => {
    const values = { ...upstream, features: { capacity: true } };
    const immediate = { ...values, storageClasses: [{ name: 'now', volumeBindingMode: 'Immediate' }] };
    expect(await notesWith(immediate)).toMatch(/no class has volumeBindingMode WaitForFirstConsumer/);
    expect(await notesWith({ ...values, storageClasses: [{ name: 'late' }] })).not.toMatch(/no class has/);
  });
});
