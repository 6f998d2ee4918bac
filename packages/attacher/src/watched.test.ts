// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aCsiNode, anAttachment, attached, aVolume, driverName, finalizer } from '../testing/builders.ts';
import { watchedAttachments, watchedBy, watchedCsiNodes, watchedVolumes } from './watched.ts';

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

  it('given a volume without a spec, then it is kept only if it has our finalizer', () => {
    const of = (finalizers: readonly string[]) => {
      const { spec: _spec, ...volume } = aVolume({ finalizers });
      return kept(watchedVolumes(options), volume)?.metadata?.name;
    };
    expect([of([]), of([finalizer])]).toEqual([undefined, 'pv1']);
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

  it('given a volume of ours, then only the fields that the loops read are kept', () => {
    const { metadata, spec } = aVolume({ labels: { a: 'b' }, annotations: { c: 'd' }, deleting: 'yes' });
    const { name, uid, resourceVersion, labels, annotations, finalizers, deletionTimestamp } = metadata ?? {};
    const affinity = { nodeAffinity: {}, storageClassName: 'fast' };
    const volume = { metadata: { ...metadata, managedFields: [{ manager: 'x' }] }, spec: { ...spec, ...affinity } };
    expect(kept(watchedVolumes(options), volume)).toStrictEqual({
      metadata: { name, uid, resourceVersion, labels, annotations, finalizers, deletionTimestamp },
      spec: { accessModes: spec?.accessModes, volumeMode: spec?.volumeMode, csi: spec?.csi },
    });
  });

  it('given a volume of ours without optional metadata, then the cache has no empty fields for them', () => {
    const volume = kept(watchedVolumes(options), aVolume({ finalizers: [] }));
    expect(volume?.metadata).toStrictEqual({ name: 'pv1', uid: 'uid-of-pv1', resourceVersion: '9' });
  });

  it('given a volume that is neither in-tree nor ours, then a driver that replaced an in-tree plugin does not keep it', () => {
    const cinder = { ...options, driverName: 'cinder.csi.openstack.org' };
    expect(kept(watchedVolumes(cinder), aVolume({ finalizers: [] }))).toBeUndefined();
  });
});

it('given an attachment of an inline volume, then the index by volume does not contain it', () => {
  const { indexers } = watchedAttachments(options);
  expect(indexers?.['volume']?.(anAttachment({ source: { inlineVolumeSpec: {} } }))).toEqual([]);
});

it('given a resync interval, then all watches have it, and filters of their own', () => {
  const { attachments, volumes, csiNodes } = watchedBy({ driverName, resyncMs: 5_000 });
  const watches = [attachments, volumes, csiNodes];
  expect(watches.map(({ resyncMs }) => resyncMs)).toEqual([5_000, 5_000, 5_000]);
  expect(watches.map(({ transform }) => transform?.id)).toEqual([
    `attacher attachments of ${driverName}`,
    `attacher volumes of ${driverName}`,
    `attacher CSINodes of ${driverName}`,
  ]);
});
