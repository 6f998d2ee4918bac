// SPDX-License-Identifier: Apache-2.0
/** What `helm test` runs: only for the test, with the rights that its program uses, under the strictest level of Pod Security. */
import { parseFlags } from '@csi-sidecars/sidecar';
import { describe, expect, it } from 'vitest';
import { chartTestProgram } from '../../../../packages/all-in-one/src/chart-test/flags.ts';
import { hasHelm } from '../../../testing/helm.ts';
import { ofKind, one, type Manifest, type PodSpec } from '../../../testing/manifest.ts';
import { securityLevelOf } from '../../../testing/policy.ts';
import { distributed, driverName, renderWith, upstream } from '../minimal.ts';

const hookOf = async (values: object = {}): Promise<readonly Manifest[]> =>
  (await renderWith(values, { withTests: true })).filter(
    ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'test',
  );
const podIn = (objects: readonly Manifest[]): PodSpec => one(objects, 'Pod').spec as PodSpec;
const flagsIn = (objects: readonly Manifest[]): Readonly<Record<string, unknown>> => {
  const [command, ...args] = podIn(objects).containers[0]!.args!;
  expect(command).toBe('chart-test');
  const parsed = parseFlags(chartTestProgram.flags, chartTestProgram.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(JSON.stringify(parsed));
  return parsed.values as unknown as Readonly<Record<string, unknown>>;
};

describe.skipIf(!hasHelm)('the hook of helm test', () => {
  it('given a chart with its defaults, then the test looks at driver, nodes and Leases, and its program understands every argument', async () => {
    expect(flagsIn(await hookOf())).toMatchObject({
      'driver-name': driverName,
      namespace: 'storage',
      'node-namespace': 'storage',
      'node-pods': 'app.kubernetes.io/component=node,app.kubernetes.io/instance=test,app.kubernetes.io/name=csi-driver',
      leases: ['', 'external-attacher-leader-', 'external-resizer-']
        .map((lock) => `${lock}${driverName}`.replaceAll('.', '-'))
        .join(','),
      'metrics-endpoints': '',
      data: '',
      timeout: 300_000,
    });
  });

  it('given the health monitor, then the test waits for its Lease if it has a container of its own, because beside others it may have nothing to do', async () => {
    const features = { healthMonitor: true };
    const lease = `external-health-monitor-leader-${driverName.replaceAll('.', '-')}`;
    expect(flagsIn(await hookOf({ features }))['leases']).toContain(lease);
    const together = flagsIn(await hookOf({ features, sidecars: { combined: { enabled: true } } }))['leases'];
    expect(together).not.toContain(lease);
    expect(together).toContain('external-resizer-');
  });

  it('given the hook, then each of its objects goes when the test has passed, and exists before the pod does', async () => {
    const objects = await hookOf({ test: { storageClass: 'fast' } });
    expect(objects.map(({ kind }) => kind).toSorted()).toEqual(
      ['ClusterRole', 'ClusterRoleBinding', 'PersistentVolumeClaim', 'Pod', 'Role', 'Role', 'RoleBinding']
        .concat(['RoleBinding', 'ServiceAccount'])
        .toSorted(),
    );
    for (const { kind, metadata } of objects) {
      expect(metadata.annotations).toMatchObject({
        'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
      });
      expect(metadata.annotations?.['helm.sh/hook-weight']).toBe(kind === 'Pod' ? undefined : '-5');
    }
  });

  it('given the pod, then it has the image with all of our programs and reaches the level restricted', async () => {
    const { image } = podIn(await hookOf()).containers[0]!;
    expect(image).toMatch(/^registry\.example\.com\/csi-sidecars:v\d/);
    expect(securityLevelOf(podIn(await hookOf()))).toBe('restricted');
    const own = {
      test: { image: { registry: 'registry.example.com', tag: 'v9' }, podSecurityContext: { runAsUser: 7 } },
    };
    const pod = podIn(await hookOf(own));
    expect(pod.containers[0]!.image).toBe('registry.example.com/csi-sidecars:v9');
    expect(pod.securityContext).toMatchObject({ runAsUser: 7, runAsNonRoot: true });
  });

  it('given its rights, then they are reading, and reading its own things where they have names', async () => {
    const rules = [...ofKind(await hookOf(), 'ClusterRole'), ...ofKind(await hookOf(), 'Role')].flatMap(
      (role) => role.rules ?? [],
    );
    expect(rules).toEqual([
      { apiGroups: ['storage.k8s.io'], resources: ['csidrivers'], resourceNames: [driverName], verbs: ['get'] },
      { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['list'] },
      { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: expect.arrayContaining([driverName.replaceAll('.', '-')]) as unknown,
        verbs: ['get'],
      },
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    ]);
  });

  it('given a class, then a claim of it is mounted where the test writes', async () => {
    const objects = await hookOf({ test: { storageClass: 'fast', volumeSize: '3Gi' } });
    expect(one(objects, 'PersistentVolumeClaim').spec).toMatchObject({
      storageClassName: 'fast',
      resources: { requests: { storage: '3Gi' } },
    });
    expect(flagsIn(objects)).toMatchObject({ data: '/data' });
    const pod = podIn(objects);
    const { name } = one(objects, 'PersistentVolumeClaim').metadata;
    expect(pod.volumes).toContainEqual({ name: 'data', persistentVolumeClaim: { claimName: name } });
    expect(pod.containers[0]!.volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' });
  });

  it.each([
    [
      {},
      ['9810', '9811', '9812', '9808'].map(
        (port) => `http://test-csi-driver-controller-metrics.storage.svc:${port}/metrics`,
      ),
    ],
    [
      { metrics: { prometheusAnnotations: true } },
      [
        ['prov', 9810],
        ['attach', 9811],
        ['resize', 9812],
        ['lp', 9808],
      ].map(([name, port]) => `http://test-csi-driver-controller-${name}-metrics.storage.svc:${port}/metrics`),
    ],
    [{ controller: { hostNetwork: true, bindAddress: 'localhost' } }, []],
    [{ networkPolicy: { enabled: true }, metrics: { allowedFrom: [{ matchLabels: { a: 'b' } }] } }, []],
  ])('given metrics and %o, then those that a pod can reach are looked at', async (values, urls) => {
    const { metrics = {}, ...others } = values as { readonly metrics?: object };
    const flags = flagsIn(await hookOf({ metrics: { enabled: true, ...metrics }, ...others }));
    expect(flags['metrics-endpoints']).toBe(urls.join(','));
  });

  it.each([
    ['nodes only', { mode: 'node-only' }, { leases: '', 'node-namespace': 'storage' }],
    ['controllers only', { mode: 'controller-only' }, { 'node-pods': '' }],
    ['no election', { leaderElection: { enabled: false }, controller: { replicas: 1 } }, { leases: '' }],
    ['nodes in a namespace of their own', { node: { namespaceOverride: 'nodes' } }, { 'node-namespace': 'nodes' }],
    ['distributed', distributed, { leases: '' }],
  ])('given %s, then the test looks at what there is', async (_what, values, expected) => {
    expect(flagsIn(await hookOf(values))).toMatchObject(expected);
  });

  it("given upstream's images, which have no such program, then there is no hook, unless an image of ours is named", async () => {
    expect(await hookOf(upstream)).toEqual([]);
    expect(await hookOf({ test: { enabled: false } })).toEqual([]);
    const named = await hookOf({
      ...upstream,
      test: { image: { repository: 'registry.example.com/csi-sidecars', tag: 'v9' } },
    });
    expect(podIn(named).containers[0]!.image).toBe('registry.example.com/csi-sidecars:v9');
  });
});
