// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { add, node } from '../../../testing/cluster.ts';
import { controller, driverContainer, programs, sidecar, zone } from '../../../testing/workloads.ts';
import { installation, snapshotControllerSet } from '../../../testing/installation.ts';
import { type Case, doctor, judged, ofVersion, titleOf } from '../../../testing/examining.ts';
import { isBelow, minorOf, oldestOfOurs, versionText } from '../readings/versions.ts';
import type { Program } from '../../verdict.ts';

const withImage = (program: Program, image: string) =>
  controller({
    containers: [driverContainer, ...programs.map((each) => sidecar(each, [], each === program ? { image } : {}))],
  });
const upstream = (program: Program, tag: string) => withImage(program, `registry.k8s.io/sig-storage/${program}:${tag}`);
const kubelet = (kubeletVersion: string) =>
  node('node-b', {
    metadata: { labels: { [zone]: 'z1' } },
    status: { nodeInfo: { kubeletVersion } },
  });

const cases: readonly Case[] = [
  {
    given: 'a csi-attacher of before 2025',
    change: (host) => add(host, upstream('csi-attacher', 'v4.5.1')),
    found: ['warn pod-4'],
    seen: ['registry.k8s.io/sig-storage/csi-attacher:v4.5.1', '4.6'],
  },
  {
    given: 'the oldest csi-attacher that had patches in 2025',
    change: (host) => add(host, upstream('csi-attacher', 'v4.6.0')),
    found: [],
  },
  {
    given: 'an image of that name from another project, with a version of its own',
    change: (host) => add(host, withImage('csi-attacher', 'registry.example.com/csi-attacher:v1.0')),
    found: [],
  },
  {
    given: 'csi-provisioner v6 and Kubernetes 1.33',
    change: (host) => add(host, upstream('csi-provisioner', 'v6.0.0')),
    found: ['warn pod-5'],
    seen: ['registry.k8s.io/sig-storage/csi-provisioner:v6.0.0', 'v1.33.4'],
    version: 'v1.33.4',
  },
  {
    given: 'csi-provisioner v6 and Kubernetes 1.34',
    change: () => undefined,
    found: [],
    version: 'v1.34.0',
  },
  {
    given: 'csi-provisioner v5 and Kubernetes 1.33 of a provider',
    change: (host) => add(host, upstream('csi-provisioner', 'v5.3.0')),
    found: [],
    version: 'v1.33.1-eks-1234abc',
  },
  {
    given: 'programs of ours and Kubernetes 1.29',
    change: (host) => add(host, withImage('csi-resizer', 'registry.example.com/csi-sidecars/csi-resizer:v1.2.3')),
    args: ['--skip=pod-5,crd'],
    found: [],
    version: 'v1.29.0',
  },
  {
    given: 'a snapshot-controller of ours and Kubernetes 1.29',
    change: (host) => {
      const image = 'registry.example.com/csi-sidecars/snapshot-controller:v1.2.3';
      const container = { name: 'snapshot-controller', image, args: ['--leader-election'] };
      add(host, snapshotControllerSet({ containers: [container] }), upstream('csi-provisioner', 'v5.3.0'));
    },
    found: ['warn pod-5'],
    seen: ['registry.example.com/csi-sidecars/snapshot-controller:v1.2.3', 'v1.29.0'],
    version: 'v1.29.0',
  },
  {
    given: 'a kubelet that is newer than the API server',
    change: (host) => add(host, kubelet('v1.38.0')),
    found: ['warn node-7'],
    seen: ['v1.38.0', 'v1.37.0'],
  },
  {
    given: 'a kubelet that is four minor versions older',
    change: (host) => add(host, kubelet('v1.33.9')),
    found: ['warn node-7'],
  },
  { given: 'a kubelet that is three minor versions older', change: (host) => add(host, kubelet('v1.34.0')), found: [] },
  { given: 'a kubelet with a newer patch', change: (host) => add(host, kubelet('v1.37.9')), found: [] },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, each) => {
  expect(await judged(each)).toEqual({ found: each.found.toSorted(), unseen: [], notRun: [] });
});

it('given an API server that does not say its version, when examined, then what needs it is not run', async () => {
  const { code, found, document } = await doctor(installation({ intercept: ofVersion('') }));
  expect([code, found, document.notRun.map(({ id }) => id)]).toEqual([5, [], ['pod-5', 'node-7']]);
});

describe('versions', () => {
  it.each([
    ['v1.37.2', '1.37'],
    ['1.30.4-eks-abc', '1.30'],
    ['v1.30+', '1.30'],
  ])('given %s, then it is %s', (text, short) => {
    expect(versionText(minorOf(text) ?? { major: 0, minor: 0 })).toBe(short);
  });

  it.each(['', 'devel', 'v1', undefined])('given %s, then it is no version, and below none', (text) => {
    expect(isBelow(minorOf(text), { major: 99, minor: 0 })).toBe(false);
  });

  it('given the charts, then the oldest Kubernetes of our programs is theirs', () => {
    const chart = join(import.meta.dirname, '../../../../../charts/csi-driver/Chart.yaml');
    const [, oldest] = /^kubeVersion: .*>=\s*(\d+\.\d+)/m.exec(readFileSync(chart, 'utf8')) ?? [];
    expect(oldest).toBe(versionText(oldestOfOurs));
  });
});
