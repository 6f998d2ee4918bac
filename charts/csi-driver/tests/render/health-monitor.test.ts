// SPDX-License-Identifier: Apache-2.0
/** csi-external-health-monitor-controller in the chart: our program, upstream's, and the one in the combined container. */
import { describe, expect, it } from 'vitest';
import { manifests } from '../../../../scripts/manifests.ts';
import { hasHelm } from '../../../testing/helm.ts';
import { unknownTo } from '../../../testing/known-flags.ts';
import {
  container,
  containersOf,
  flagsOf,
  one,
  podOf,
  type Container,
  type PodSpec,
} from '../../../testing/manifest.ts';
import { tag } from '../../../testing/tag.ts';
import { distributed, driverName, notesWith, refusalWith, renderWith } from '../minimal.ts';

const name = 'csi-external-health-monitor-controller';
const features = { healthMonitor: true };
const release = 'ReleaseLeaderElectionOnExit';

interface Settings {
  /** Of the health monitor. */
  readonly own?: object;
  /** Of all sidecars. */
  readonly sidecars?: object;
  readonly further?: object;
}
const valuesOf = ({ own = {}, sidecars = {}, further = {} }: Settings): object => ({
  features,
  sidecars: { ...sidecars, healthMonitor: own },
  ...further,
});

const podWith = async (settings: Settings): Promise<PodSpec> =>
  podOf(one(await renderWith(valuesOf(settings)), 'Deployment'));
const monitorWith = async (settings: Settings = {}): Promise<Container> => container(await podWith(settings), name);

/** Verbs by resource. All of them are of the core group. */
async function roleWith(settings: Settings): Promise<Readonly<Record<string, readonly string[]>>> {
  const { rules = [] } = one(await renderWith(valuesOf(settings)), 'ClusterRole', `${driverName}-health-monitor`);
  expect(rules.flatMap(({ apiGroups }) => apiGroups).every((group) => group === '')).toBe(true);
  return Object.fromEntries(rules.flatMap(({ resources, verbs }) => resources.map((resource) => [resource, verbs])));
}

const registry = 'registry.k8s.io/sig-storage';
const ofUpstream = { image: { registry } };
const upstreamWith = (tagged: string): object => ({ image: { registry, tag: tagged } });
const combined = { combined: { enabled: true } };
const compatible = { rbac: { profile: 'compatible' } };
const minimal = { rbac: { profile: 'minimal' } };

const reads = ['get', 'list', 'watch'];
const used = {
  persistentvolumes: ['list', 'watch'],
  persistentvolumeclaims: ['list', 'watch'],
  'persistentvolumeclaims/status': ['patch'],
  events: ['create', 'patch'],
};
const stock = {
  persistentvolumes: reads,
  persistentvolumeclaims: reads,
  'persistentvolumeclaims/status': ['patch'],
  events: [...reads, 'create', 'patch'],
};
const union = { ...stock, nodes: reads, pods: reads };

describe.skipIf(!hasHelm)('the health monitor', () => {
  it('given no feature, then there is no container, no role and no note of it', async () => {
    const objects = await renderWith();
    expect(containersOf(podOf(one(objects, 'Deployment'))).map((each) => each.name)).not.toContain(name);
    expect(objects.map(({ metadata }) => metadata.name)).not.toContain(`${driverName}-health-monitor`);
    expect(await notesWith()).not.toContain('CSIVolumeHealth');
  });

  it('given the feature alone, then it is our program, asked by the probes as the others, and no value is given to a flag that has a default', async () => {
    const monitor = await monitorWith();
    expect(monitor.image).toBe(`registry.example.com/${name}:${tag}`);
    expect(monitor.livenessProbe).toMatchObject({
      httpGet: { path: '/healthz/leader-election', port: 'health-metrics' },
    });
    expect(flagsOf(monitor)).toEqual({
      'csi-address': '/csi/csi.sock',
      v: '2',
      'logging-format': 'text',
      'leader-election': 'true',
      'leader-election-namespace': 'storage',
      'kube-api-qps': '20',
      'kube-api-burst': '100',
      'http-endpoint': ':9814',
      'debug-explain': 'loopback',
    });
  });

  it.each([
    [{ timeout: '20s' }, 'timeout', '20s'],
    [{ listInterval: '2m' }, 'list-volumes-interval', '2m'],
    [{ monitorInterval: '90s' }, 'monitor-interval', '90s'],
    [{ workerThreads: 3 }, 'worker-threads', '3'],
    [{ maxEntries: 0 }, 'max-entries', '0'],
    [{ maxEntries: 500 }, 'max-entries', '500'],
  ])(
    '[packaging#69] given the value %j, then --%s is %s, in the combined container with the prefix of the controller',
    async (own, flag, text) => {
      expect(flagsOf(await monitorWith({ own }))[flag]).toBe(text);
      const process = container(await podWith({ own, sidecars: combined }), 'csi-sidecars');
      expect(flagsOf(process)[`health-monitor-${flag}`]).toBe(text);
      expect(unknownTo(process)).toEqual([]);
    },
  );

  it('[packaging#68] given a role of the minimal profile, then it is what the program uses, which its own table says too', async () => {
    const { rules } = manifests.find((each) => each.name === name)!;
    expect(Object.fromEntries(rules.flatMap(({ resources, verbs }) => resources.map((each) => [each, verbs])))).toEqual(
      used,
    );
    expect(await roleWith({})).toEqual(used);
  });

  it.each<readonly [string, Settings, object]>([
    ['our image and the profile minimal', { further: minimal }, used],
    ["our image and the profile compatible, what upstream's v0.19.0 is granted", { further: compatible }, stock],
    ["upstream's image, what both of its versions need", { own: ofUpstream }, union],
    ["upstream's v0.18.0, what both of its versions need", { own: upstreamWith('v0.18.0') }, union],
    ["upstream's image and the profile compatible, what both need", { own: ofUpstream, further: compatible }, union],
    [
      "upstream's v0.19.0 and the profile minimal, what our program uses",
      { own: upstreamWith('v0.19.0'), further: minimal },
      used,
    ],
    ['the combined container', { sidecars: combined }, used],
    ['the combined container and the profile compatible', { sidecars: combined, further: compatible }, stock],
  ])('[packaging#68] given %s, then the role is that', async (_, settings, expected) => {
    expect(await roleWith(settings)).toEqual(expected);
  });
});

describe.skipIf(!hasHelm)("upstream's health monitor", () => {
  it('given all values that it knows and the release of leases, then it has no flag that it would refuse', async () => {
    const own = { ...ofUpstream, timeout: '20s', listInterval: '2m', monitorInterval: '90s', workerThreads: 3 };
    const monitor = await monitorWith({
      own: { ...own, kubeApi: { qps: 1, burst: 2 } },
      further: { leaderElection: { releaseOnExit: true } },
    });
    expect(monitor.image).toBe(`${registry}/${name}:v0.19.0`);
    expect(flagsOf(monitor)).toEqual({
      'csi-address': '/csi/csi.sock',
      v: '2',
      'logging-format': 'text',
      'leader-election': 'true',
      'leader-election-namespace': 'storage',
      timeout: '20s',
      'list-volumes-interval': '2m',
      'monitor-interval': '90s',
      'worker-threads': '3',
      'http-endpoint': ':9814',
    });
    expect(monitor.resources).toEqual({ requests: { cpu: '10m', memory: '20Mi' }, limits: { memory: '500Mi' } });
  });

  it('given the release of leases or the gate for it, then our program has the gate', async () => {
    const released = await monitorWith({ further: { leaderElection: { releaseOnExit: true } } });
    expect(flagsOf(released)['feature-gates']).toBe(`${release}=true`);
    const kept = await monitorWith({ own: { featureGates: { [release]: false } } });
    expect(flagsOf(kept)['feature-gates']).toBe(`${release}=false`);
  });

  const refusal = (settings: Settings): Promise<string> => refusalWith(valuesOf(settings));

  it.each([
    ['pages of a size', { maxEntries: 5 }, 'maxEntries is a flag of our program'],
    ['pages without a limit', { maxEntries: 0 }, 'maxEntries is a flag of our program'],
    ['gates', { featureGates: { [release]: true } }, 'featureGates is for our program'],
  ])('[packaging#57] given %s, which only our program knows, then it is refused', async (_, own, text) => {
    expect(await refusal({ own: { ...own, ...ofUpstream } })).toContain(`sidecars.healthMonitor.${text}`);
  });

  it.each([
    ['workers', { workers: 3 }],
    ['retry', { retry: { start: '1s' } }],
  ])(
    'given the value %s, which its program does not have, then it is refused, with our image, with that of upstream and in the combined container',
    async (value, own) => {
      const text = `sidecars.healthMonitor.${value} is no setting of the health monitor`;
      expect(await refusal({ own })).toContain(text);
      expect(await refusal({ own: { ...own, ...ofUpstream } })).toContain(text);
      expect(await refusal({ own, sidecars: combined })).toContain(text);
    },
  );

  it.each([
    ['a tag below v0.19.0', upstreamWith('v0.18.0')],
    ['a tag of two numbers', upstreamWith('0.18')],
    ['a tag with more behind the version', upstreamWith('v0.18.0_vendor-01')],
    [
      'a version below v0.19.0 of a mirrored image',
      { image: { registry: 'r.example.com', tag: 'v9.0.0' }, implementation: 'upstream', version: 'v0.18.0' },
    ],
  ])(
    '[packaging#68] given %s and the profile minimal, then it is refused, because nodes and pods could not be read',
    async (_, own) => {
      expect(await refusal({ own, further: minimal })).toMatch(
        /rbac\.profile is minimal.*healthMonitor.*before v0\.19\.0/,
      );
      expect(await roleWith({ own })).toEqual(union);
    },
  );

  it.each<readonly [string, Settings]>([
    [
      'no roles are created',
      { own: upstreamWith('v0.18.0'), further: { rbac: { profile: 'minimal', create: false } } },
    ],
    ['a candidate of v0.19.0', { own: upstreamWith('v0.19.0-rc.1'), further: minimal }],
    ['a later version', { own: upstreamWith('v0.20.0'), further: minimal }],
    ['a tag that is no version', { own: upstreamWith('canary'), further: minimal }],
    ['our program with a tag of that number', { own: { image: { tag: 'v0.1.0' } }, further: minimal }],
    [
      'the combined container with a tag of that number',
      { own: { image: { tag: 'v0.1.0' } }, sidecars: combined, further: minimal },
    ],
  ])('[packaging#68] given the profile minimal and %s, then it is rendered', async (_, settings) => {
    expect((await podWith(settings)).containers.length).toBeGreaterThan(1);
  });

  it("given upstream's image by a value, then the combined container refuses it", async () => {
    expect(await refusal({ own: ofUpstream, sidecars: combined })).toContain(
      "sidecars.combined.enabled runs our healthMonitor, but sidecars.healthMonitor selects upstream's image",
    );
  });
});

describe.skipIf(!hasHelm)('the health monitor in the combined container', () => {
  it('[packaging#69] given the feature, then it is the controller health-monitor of the process, and has no container of its own', async () => {
    const pod = await podWith({ sidecars: combined, own: { extraArgs: ['--resync=5m', '-timeout', '9s'] } });
    expect(containersOf(pod).map((each) => each.name)).not.toContain(name);
    const process = container(pod, 'csi-sidecars');
    expect(flagsOf(process)['controllers']).toBe('provisioner,attacher,resizer,health-monitor');
    expect(process.args?.slice(-3)).toEqual(['--health-monitor-resync=5m', '--health-monitor-timeout', '9s']);
    expect(flagsOf(process)['health-monitor-kube-api-qps']).toBe('20');
  });

  it('given no feature, then the process does not have it', async () => {
    const objects = await renderWith({ sidecars: combined });
    const { controllers } = flagsOf(container(podOf(one(objects, 'Deployment')), 'csi-sidecars'));
    expect(controllers).toBe('provisioner,attacher,resizer');
  });

  it('given the feature, then the account may use the lease that v0.18.0 had too', async () => {
    const { rules = [] } = one(await renderWith(valuesOf({ sidecars: combined })), 'Role', 'test-csi-driver-leases');
    expect(rules.flatMap(({ resourceNames = [] }) => resourceNames)).toContain(
      'external-health-monitor-leader-minimal-csi-example-com',
    );
  });
});

describe.skipIf(!hasHelm)('the notes of the release', () => {
  it.each([{}, combined])(
    '[packaging#70] given the feature and the sidecars %j, then they say what the driver and the API server must have, and what works without the gate',
    async (sidecars) => {
      const text = await notesWith(valuesOf({ sidecars }));
      expect(text).toContain('GET_VOLUME_HEALTH, of CSI 1.13');
      expect(text).toMatch(
        /only if the API server is of\nKubernetes 1\.37 or later and its feature gate CSIVolumeHealth is on/,
      );
      expect(text).toContain('The metric csi_controller_volume_health_status works without the gate');
    },
  );

  it('given mode distributed, which has no health monitor, then they say nothing of it', async () => {
    const text = await notesWith({ ...distributed, features: { ...distributed.features, ...features } });
    expect(text).not.toContain('CSIVolumeHealth');
  });
});
