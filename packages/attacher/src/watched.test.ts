// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aCsiNode, anAttachment, attached, aVolume, driverName, finalizer } from '../testing/builders.ts';
import { watchedAttachments, watchedCsiNodes, watchedVolumes } from './watched.ts';

const options = { driverName, resyncMs: 0 };
const kept = <T extends KubeObject>(
  watched: { readonly transform?: { readonly apply: (object: T) => T | undefined } },
  object: T,
): T | undefined => watched.transform?.apply(object);

describe('what the caches keep', () => {
  it('given attachments, then ours are kept whole, of those of others only the names, and those of others without a PersistentVolume not at all', () => {
    const ours = anAttachment(attached);
    expect(kept(watchedAttachments(options), ours)).toBe(ours);
    const others = anAttachment({ ...attached, attacher: 'other' });
    expect(kept(watchedAttachments(options), others)).toEqual({
      metadata: { name: 'va1', uid: 'uid-of-va1', resourceVersion: '7' },
      spec: { attacher: 'other', nodeName: '', source: { persistentVolumeName: 'pv1' } },
    });
    const inline = anAttachment({ attacher: 'other', source: { inlineVolumeSpec: {} } });
    expect(kept(watchedAttachments(options), inline)).toBeUndefined();
  });

  it('given attachments, then an index finds all by volume, and ours by node (upstream scans all attachments)', () => {
    const { indexers } = watchedAttachments(options);
    const both = (attacher: string): unknown =>
      ['volume', 'node'].map((index) => indexers?.[index]?.(anAttachment({ attacher })));
    expect([both(driverName), both('other')]).toEqual([
      [['pv1'], ['node1']],
      [['pv1'], []],
    ]);
  });

  it('given a volume of another driver, then it is kept only if it has our finalizer', () => {
    const of = (finalizers: readonly string[]) =>
      kept(watchedVolumes(options), aVolume({ csi: { driver: 'other' }, finalizers }));
    expect([of([]), of(['x/y']), of([finalizer])?.metadata?.name]).toEqual([undefined, undefined, 'pv1']);
  });

  it('given an in-tree volume, then only a driver that replaced an in-tree plugin keeps it', () => {
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    const volume = { ...aVolume({ finalizers: [] }), spec: { ...spec, cinder: { volumeID: 'x' } } };
    const cinder = { ...options, driverName: 'cinder.csi.openstack.org' };
    expect(kept(watchedVolumes(options), volume)).toBeUndefined();
    expect(kept(watchedVolumes(cinder), volume)?.spec?.cinder).toEqual({ volumeID: 'x' });
  });

  it('given a CSINode, then only the entry of our driver is kept; the list is empty without it, and if the server sends null', () => {
    const node = aCsiNode();
    const withOthers = { ...node, spec: { drivers: [{ name: 'other', nodeID: 'x' }, ...node.spec.drivers] } };
    const identity = { name: 'node1', uid: 'uid-of-node1', resourceVersion: '5' };
    expect(kept(watchedCsiNodes(options), withOthers)).toEqual({
      metadata: identity,
      spec: { drivers: [{ name: driverName, nodeID: 'id-of-node1' }] },
    });
    expect(kept(watchedCsiNodes(options), { ...node, spec: { drivers: null as never } })).toEqual({
      metadata: identity,
      spec: { drivers: [] },
    });
  });
});
