// SPDX-License-Identifier: Apache-2.0
import { snapshotAnnotations } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aDefaultClass, aNode, aVolume, someSettings } from '../testing/builders.ts';
import { watchedBy } from './watched.ts';

const watched = watchedBy(someSettings());
const version = { resourceVersion: '7' };

describe('what is kept', () => {
  it('given a claim, then it is kept whole, because its finalizers are written by PUT', () => {
    expect(watched.claims.transform).toBeUndefined();
  });

  it.each([true, false])(
    'given distributed snapshotting %s, then the node affinity of a volume is kept accordingly',
    (distributed) => {
      const nodeAffinity = { required: { nodeSelectorTerms: [] } };
      const volume = aVolume({ metadata: version, spec: { nodeAffinity, mountOptions: ['ro'] } });
      const { volumes } = watchedBy(someSettings({ distributed }));
      expect(volumes.transform?.apply(volume)).toEqual({
        metadata: { name: 'pv1', uid: 'uid-of-pv1', ...version },
        spec: {
          claimRef: { namespace: 'team', name: 'data', uid: 'uid-of-data' },
          csi: { driver: 'd.example.com', volumeHandle: 'handle-1' },
          volumeMode: 'Filesystem',
          ...(distributed ? { nodeAffinity } : {}),
        },
      });
    },
  );

  it('given a class and a node, then the mark of the default and the labels are kept', () => {
    expect(watched.classes.transform?.apply(aDefaultClass())?.metadata?.annotations).toEqual({
      [snapshotAnnotations.isDefaultClass]: 'true',
    });
    const { nodes } = watchedBy(someSettings({ distributed: true }));
    expect(nodes?.transform?.apply(aNode('n', { zone: 'a' }))).toEqual({
      metadata: { name: 'n', uid: 'uid-of-n', labels: { zone: 'a' } },
    });
  });

  it('[snapshot-controller#132] given a resync period, then snapshots, groups and the contents of both are looked at again, and nothing else', () => {
    const { snapshots, contents, groups, groupContents, ...others } = watchedBy(
      someSettings({ resyncMs: 7, distributed: true }),
    );
    expect([snapshots, contents, groups, groupContents].map((each) => each?.resyncMs)).toEqual([7, 7, 7, 7]);
    const periods = Object.values(others).map((each) => each?.resyncMs);
    expect(periods).toEqual(periods.map(() => undefined));
  });

  it('[P21] given that groups are switched off, then nothing of them is watched', () => {
    const { groups, groupContents, groupClasses, volumes } = watchedBy(someSettings({ groups: false }));
    expect([groups, groupContents, groupClasses, volumes.indexers]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
