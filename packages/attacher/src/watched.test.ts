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

describe('what is kept, flaw 13', () => {
  it('given an attachment of ours, then all of it; of others, the names; of others without a volume, nothing', () => {
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

  it('given attachments, then they are found by volume, and ours by node, flaw 12', () => {
    const { indexers } = watchedAttachments(options);
    const both = (attacher: string): unknown =>
      ['volume', 'node'].map((index) => indexers?.[index]?.(anAttachment({ attacher })));
    expect([both(driverName), both('other')]).toEqual([
      [['pv1'], ['node1']],
      [['pv1'], []],
    ]);
  });

  it('given a volume of another driver, then nothing, unless it has our finalizer', () => {
    const of = (finalizers: readonly string[]) =>
      kept(watchedVolumes(options), aVolume({ csi: { driver: 'other' }, finalizers }));
    expect([of([]), of(['x/y']), of([finalizer])?.metadata?.name]).toEqual([undefined, undefined, 'pv1']);
  });

  it('given an in-tree volume, then it is kept by a driver that replaced a plugin', () => {
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    const volume = { ...aVolume({ finalizers: [] }), spec: { ...spec, cinder: { volumeID: 'x' } } };
    const cinder = { ...options, driverName: 'cinder.csi.openstack.org' };
    expect(kept(watchedVolumes(options), volume)).toBeUndefined();
    expect(kept(watchedVolumes(cinder), volume)?.spec?.cinder).toEqual({ volumeID: 'x' });
  });

  it('given a CSINode, then our driver in it, or none; a server sends null for none', () => {
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
