// SPDX-License-Identifier: Apache-2.0
/** The golden files, without helm: that they are up to date, and what every rendered object must keep to. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readGolden } from '../../../testing/golden.ts';
import { toManifests } from '../../../testing/helm.ts';
import { isWorkload, podOf, type Manifest } from '../../../testing/manifest.ts';
import { digestOf, goldenPath, valuesFiles } from '../../../testing/matrix.ts';
import { securityLevelOf, violations, type Allowance } from '../../../testing/policy.ts';
import { chart } from '../minimal.ts';

const files = valuesFiles(chart).filter(({ isExample }) => !isExample);
const golden = (name: string): readonly Manifest[] => toManifests(readGolden(chart, 'yaml', name));

/** kubelet's folders, and what drivers need. */
const hostPaths = [
  /(^|\/|\\)kubelet(\/|\\)(plugins|plugins_registry|pods)((\/|\\)[a-z0-9.-]+)?$/,
  /^\/(dev|sys|lib\/modules)$/,
  /^\\\\\.\\pipe\\csi-proxy-[a-z]+-v1$/,
];
/** livenessprobe is watched by the probe of the driver, which it serves. */
const unprobed = ['liveness-probe'];
/** Without election csi-provisioner and csi-snapshotter have no path that a probe could ask. */
const withoutElection = [...unprobed, 'csi-provisioner', 'csi-snapshotter'];
const allowanceOf = (name: string): Allowance => ({
  hostPaths,
  hostNetwork: name === 'hostnetwork',
  unprobed: name.includes('distributed') ? withoutElection : unprobed,
});

it('given templates, values and files of the chart, then the golden files were made from them (npm run charts -- -u)', () => {
  expect(readFileSync(goldenPath(chart, 'digest.txt'), 'utf8').trim()).toBe(digestOf(chart));
});

describe.each(files)('objects of $name', ({ name }) => {
  it('given the rules for permissions, images, security contexts, resources and probes, then no object breaks one', () => {
    expect(violations(golden(name), allowanceOf(name))).toEqual([]);
  });
});

describe('Pod Security', () => {
  const levelOf = (name: string, kind: string): string => {
    const object = golden(name).find((each) => isWorkload(each) && each.kind === kind)!;
    return securityLevelOf(podOf(object));
  };

  it('given a controller that is not root, then its pod passes restricted; as root it passes baseline', () => {
    expect(levelOf('restricted', 'Deployment')).toBe('restricted');
    expect(levelOf('minimal', 'Deployment')).toBe('baseline');
    expect(levelOf('combined', 'Deployment')).toBe('baseline');
  });

  it('given the nodes, then their pods need privileged', () => {
    expect(levelOf('minimal', 'DaemonSet')).toBe('privileged');
  });
});

describe('the rules themselves', () => {
  const role = (verbs: readonly string[], resources = ['pods']): Manifest => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'a' },
    rules: [{ apiGroups: [''], resources, verbs }],
  });
  const workloadWith = (container: object, pod: object = {}): Manifest => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a' },
    spec: { template: { spec: { automountServiceAccountToken: false, containers: [container], ...pod } } },
  });
  const good = {
    name: 'c',
    image: 'c:v1',
    resources: { requests: { cpu: '1m' } },
    securityContext: { readOnlyRootFilesystem: true },
    livenessProbe: { httpGet: { path: '/', port: 1 } },
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  const allowance: Allowance = { hostPaths: [], hostNetwork: false, unprobed: [] };

  it.each<{ readonly what: string; readonly object: Manifest; readonly found: string }>([
    { what: 'a wildcard', object: role(['*']), found: 'ClusterRole a: wildcard in a rule' },
    { what: 'the right to escalate', object: role(['escalate']), found: 'ClusterRole a: verbs escalate' },
    { what: 'a list of secrets', object: role(['list'], ['secrets']), found: 'ClusterRole a: lists secrets' },
    {
      what: 'no tag',
      object: workloadWith({ ...good, image: 'c' }),
      found: 'Deployment a: c: image without tag and digest: c',
    },
    {
      what: 'the tag latest',
      object: workloadWith({ ...good, image: 'c:latest' }),
      found: 'Deployment a: c: image latest',
    },
    { what: 'no resources', object: workloadWith({ ...good, resources: {} }), found: 'Deployment a: c: no requests' },
    {
      what: 'no probe',
      object: workloadWith({ ...good, livenessProbe: undefined }),
      found: 'Deployment a: c: no probe',
    },
    {
      what: 'a probe by exec',
      object: workloadWith({ ...good, livenessProbe: { exec: {} } }),
      found: 'Deployment a: c: a probe that starts a process',
    },
    {
      what: 'a writable root',
      object: workloadWith({ ...good, securityContext: {} }),
      found: 'Deployment a: c: the root file system is writable',
    },
    {
      what: 'the host network',
      object: workloadWith(good, { hostNetwork: true }),
      found: 'Deployment a: host network',
    },
    {
      what: 'a host path',
      object: workloadWith(good, { volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
      found: 'Deployment a: volume v is the host path /',
    },
    {
      what: 'a token for all',
      object: workloadWith(good, { automountServiceAccountToken: true }),
      found: 'Deployment a: the token of the account is mounted into every container',
    },
    {
      what: 'a variable twice',
      object: workloadWith({ ...good, env: [{ name: 'A' }, { name: 'B' }, { name: 'A' }] }),
      found: 'Deployment a: two of c: variable A',
    },
    {
      what: 'a port twice',
      object: workloadWith({
        ...good,
        ports: [
          { name: 'x', containerPort: 1 },
          { name: 'y', containerPort: 1, protocol: 'TCP' },
        ],
      }),
      found: 'Deployment a: two of c: port 1 TCP',
    },
    {
      what: 'two mounts at one place',
      object: workloadWith({ ...good, volumeMounts: ['v', 'w'].map((name) => ({ name, mountPath: '/m' })) }),
      found: 'Deployment a: two of c: mount /m',
    },
    {
      what: 'two volumes of one name',
      object: workloadWith(good, { volumes: [{ name: 'v' }, { name: 'v' }] }),
      found: 'Deployment a: two of volume v',
    },
  ])('given $what, then it is found', ({ object, found }) => {
    expect(violations([object], allowance)).toEqual([found]);
  });

  it('given an object that keeps to the rules, then nothing is found', () => {
    expect(violations([workloadWith(good), role(['get'])], allowance)).toEqual([]);
  });
});
