// SPDX-License-Identifier: Apache-2.0
/** Topologies of odd shapes. The answers are those of upstream's library. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import type { PersistentVolumeSpec } from './provider.ts';
import { toCsiNodeAffinity, toInTreeVolume } from './translate.ts';

type Affinity = NonNullable<PersistentVolumeSpec['nodeAffinity']>;
type Term = NonNullable<Affinity['required']>['nodeSelectorTerms'][number];
const stable = { zone: 'topology.kubernetes.io/zone', region: 'topology.kubernetes.io/region' };
const beta = { zone: 'failure-domain.beta.kubernetes.io/zone', region: 'failure-domain.beta.kubernetes.io/region' };
const affinityOf = (...nodeSelectorTerms: readonly Term[]): Affinity => ({ required: { nodeSelectorTerms } });
const term = (...keys: readonly (readonly [key: string, ...values: string[]])[]): Term => ({
  matchExpressions: keys.map(([key, ...values]) => ({ key, operator: 'In', values })),
});
/** Terms have fields beside their expressions, which the translation does not touch. */
const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n1'] }];

describe('a volume that a driver made', () => {
  const drivers = {
    cinder: { driver: 'cinder.csi.openstack.org', zone: 'topology.cinder.csi.openstack.org/zone' },
    gce: { driver: 'pd.csi.storage.gke.io', zone: 'topology.gke.io/zone' },
    vsphere: {
      driver: 'csi.vsphere.vmware.com',
      zone: 'topology.csi.vmware.com/zone',
      region: 'topology.csi.vmware.com/region',
    },
  } as const;
  const handles = { cinder: 'v1', gce: 'projects/p/zones/z/disks/d', vsphere: 'id' };
  function recorded(plugin: keyof typeof drivers, nodeAffinity: Affinity, labels?: Record<string, string>): unknown {
    const csi = {
      driver: drivers[plugin].driver,
      volumeHandle: handles[plugin],
      volumeAttributes: { initialvolumefilepath: 'path' },
    };
    const metadata = labels === undefined ? { name: 'pv1' } : { name: 'pv1', labels };
    const result = toInTreeVolume({ metadata, spec: { csi, nodeAffinity } });
    if (result.kind === 'error') return result.message;
    return { labels: result.value.metadata?.labels, nodeAffinity: result.value.spec?.nodeAffinity };
  }

  it.each<{
    given: string;
    plugin: keyof typeof drivers;
    of: Affinity;
    labels?: Record<string, string>;
    expected: unknown;
  }>([
    {
      given: 'an affinity that requires nothing',
      plugin: 'cinder',
      of: {},
      expected: { labels: undefined, nodeAffinity: {} },
    },
    {
      given: 'a term of fields alone',
      plugin: 'cinder',
      of: affinityOf({ matchFields }, term([drivers.cinder.zone, 'a'])),
      expected: { labels: { [stable.zone]: 'a' }, nodeAffinity: affinityOf({ matchFields }, term([stable.zone, 'a'])) },
    },
    {
      given: 'a term of expressions and fields',
      plugin: 'cinder',
      of: affinityOf({ ...term([drivers.cinder.zone, 'a']), matchFields }),
      expected: {
        labels: { [stable.zone]: 'a' },
        nodeAffinity: affinityOf({ ...term([stable.zone, 'a']), matchFields }),
      },
    },
    {
      given: 'a zone that only has to exist',
      plugin: 'cinder',
      of: affinityOf({ matchExpressions: [{ key: drivers.cinder.zone, operator: 'Exists' }] }),
      expected: {
        labels: undefined,
        nodeAffinity: affinityOf({ matchExpressions: [{ key: stable.zone, operator: 'Exists' }] }),
      },
    },
    {
      given: 'a region of a driver that knows none',
      plugin: 'cinder',
      of: affinityOf(term([drivers.cinder.zone, 'a'], [stable.region, 'r'])),
      expected: {
        labels: { [stable.zone]: 'a' },
        nodeAffinity: affinityOf(term([stable.zone, 'a'], [stable.region, 'r'])),
      },
    },
    {
      given: 'beta keys in one term of two',
      plugin: 'cinder',
      of: affinityOf(term([beta.zone, 'a']), term([drivers.cinder.zone, 'b'])),
      expected: {
        labels: { [beta.zone]: 'a__b' },
        nodeAffinity: affinityOf(term([beta.zone, 'a']), term([beta.zone, 'b'])),
      },
    },
    {
      given: 'a term without expressions, of a driver whose volumes name their region',
      plugin: 'gce',
      of: affinityOf({ matchFields }),
      expected:
        'failed to translate topology. PV:pv1. Error:Failed to handle region topology. error: no zones specified',
    },
    {
      given: 'terms of which one names its region',
      plugin: 'gce',
      of: affinityOf({ ...term([drivers.gce.zone, 'us-east1-b']), matchFields }, term([stable.region, 'us-east1'])),
      expected: {
        labels: { [stable.zone]: 'us-east1-b', [stable.region]: 'us-east1' },
        nodeAffinity: affinityOf(
          { ...term([stable.zone, 'us-east1-b'], [stable.region, 'us-east1']), matchFields },
          term([stable.region, 'us-east1']),
        ),
      },
    },
    {
      given: 'two zones and two regions of vSphere, then the first ones are its labels',
      plugin: 'vsphere',
      of: affinityOf(term([drivers.vsphere.zone, 'b', 'a'], [drivers.vsphere.region, 's', 'r'])),
      expected: {
        labels: { [stable.zone]: 'a', [stable.region]: 'r' },
        nodeAffinity: affinityOf(term([stable.zone, 'b', 'a'], [stable.region, 's', 'r'])),
      },
    },
    {
      given: 'zones of vSphere without a region',
      plugin: 'vsphere',
      of: affinityOf(term([drivers.vsphere.zone, 'a'])),
      expected: { labels: { [stable.zone]: 'a' }, nodeAffinity: affinityOf(term([stable.zone, 'a'])) },
    },
    {
      given: 'labels of its own',
      plugin: 'cinder',
      of: affinityOf(term([drivers.cinder.zone, 'a'])),
      labels: { team: 't', [stable.zone]: 'own' },
      expected: { labels: { team: 't', [stable.zone]: 'own' }, nodeAffinity: affinityOf(term([stable.zone, 'a'])) },
    },
  ])('given $given, then $expected', ({ plugin, of, labels, expected }) => {
    expect(recorded(plugin, of, labels)).toStrictEqual(expected);
  });
});

describe('the affinity of an in-tree volume for the driver', () => {
  const zone = 'topology.cinder.csi.openstack.org/zone';
  const volume = (nodeAffinity: Affinity | undefined, labels: Record<string, string> = {}): PersistentVolume => ({
    metadata: { name: 'pv1', labels },
    spec: { cinder: { volumeID: 'v1' }, ...(nodeAffinity === undefined ? {} : { nodeAffinity }) },
  });

  it.each<{ given: string; of: Affinity | undefined; labels?: Record<string, string>; expected: Affinity | undefined }>(
    [
      { given: 'neither affinity nor labels', of: undefined, expected: undefined },
      { given: 'an affinity that requires nothing', of: {}, expected: {} },
      {
        given: 'stable keys beside beta labels, then the keys count',
        of: affinityOf(term([stable.zone, 'a'])),
        labels: { [beta.zone]: 'b' },
        expected: affinityOf(term([zone, 'a'])),
      },
      {
        given: 'a beta region beside a stable zone, then it stays',
        of: affinityOf(term([stable.zone, 'a'], [beta.region, 'r'])),
        expected: affinityOf(term([zone, 'a'], [beta.region, 'r'])),
      },
      {
        given: 'a beta region beside a beta zone, then it becomes stable',
        of: affinityOf(term([beta.zone, 'a'], [beta.region, 'r'])),
        expected: affinityOf(term([zone, 'a'], [stable.region, 'r'])),
      },
      {
        given: 'zones in a label, some of them twice or empty, then they are added to every term',
        of: affinityOf({ ...term(['rack', '1']), matchFields }, { matchFields }),
        labels: { [stable.zone]: 'b__a____b' },
        expected: affinityOf(
          { ...term(['rack', '1'], [zone, 'a', 'b']), matchFields },
          { ...term([zone, 'a', 'b']), matchFields },
        ),
      },
      {
        given: 'a label without a zone',
        of: affinityOf(term(['rack', '1'])),
        labels: { [stable.zone]: '' },
        expected: affinityOf(term(['rack', '1'])),
      },
    ],
  )('given $given', ({ of, labels, expected }) => {
    expect(toCsiNodeAffinity(volume(of, labels))).toStrictEqual(expected);
  });

  it('given a CSI volume, or an object without a spec, then its affinity stays', () => {
    const nodeAffinity = affinityOf(term([stable.zone, 'a']));
    expect(toCsiNodeAffinity({ spec: { csi: { driver: 'd', volumeHandle: 'v' }, nodeAffinity } })).toEqual(
      nodeAffinity,
    );
    expect(toCsiNodeAffinity({})).toBeUndefined();
  });
});
