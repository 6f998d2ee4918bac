// SPDX-License-Identifier: Apache-2.0
import type { CSINode, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aCsiNode, anAttachment, aVolume, driverName } from '../../testing/builders.ts';
import { listerOf } from '../../testing/lister-of.ts';
import { annotations } from '../names.ts';
import { namesOf } from './observe.ts';

interface Caches {
  readonly volumes?: readonly PersistentVolume[];
  readonly csiNodes?: readonly CSINode[];
}

function names(attachment: VolumeAttachment, caches: Caches = {}): unknown {
  const { volumes = [aVolume({ csi: { volumeHandle: 'volume-1' } })], csiNodes = [aCsiNode()] } = caches;
  const result = namesOf({ volumes: listerOf(volumes), csiNodes: listerOf(csiNodes), driverName }, attachment);
  return result.kind === 'ok' ? result.value : result.message;
}

describe('the names of an attachment at the driver', () => {
  it('given volume and node are known, then their handle and id', () => {
    expect(names(anAttachment())).toEqual({ volumeHandle: 'volume-1', nodeId: 'id-of-node1' });
  });

  it('given a volume being deleted, then the same names', () => {
    const volumes = [aVolume({ deleting: 'yes', csi: { volumeHandle: 'volume-1' } })];
    expect(names(anAttachment(), { volumes })).toEqual({ volumeHandle: 'volume-1', nodeId: 'id-of-node1' });
  });

  it('[attacher#125] given no CSINode, then none; given the attachment remembers the node id, then that id', () => {
    expect(names(anAttachment(), { csiNodes: [] })).toBe('csinode.storage.k8s.io "node1" not found');
    const remembering = anAttachment({ annotations: { [annotations.nodeId]: 'old-id' } });
    expect(names(remembering, { csiNodes: [] })).toEqual({ volumeHandle: 'volume-1', nodeId: 'old-id' });
    expect(names(remembering)).toEqual({ volumeHandle: 'volume-1', nodeId: 'id-of-node1' });
  });

  it('[attacher#126] given the PersistentVolume is gone, then none', () => {
    expect(names(anAttachment(), { volumes: [] })).toBe('persistentvolume "pv1" not found');
  });

  it('given an attachment without a volume, or a volume without a driver, then none', () => {
    expect(names(anAttachment({ source: {} }))).toBe(
      'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source',
    );
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    expect(names(anAttachment(), { volumes: [{ ...aVolume(), spec }] })).toBe(
      'pv spec contained non-csi source that was not migrated',
    );
  });

  it('[attacher#131] given an inline volume, then only if its driver took the place of an in-tree plugin', () => {
    const inline = (driver: string): VolumeAttachment =>
      anAttachment({ source: { inlineVolumeSpec: { csi: { driver, volumeHandle: 'vol-1' } } } });
    expect(names(inline(driverName))).toBe(`could not find In-Tree driver name for CSI plugin ${driverName}`);
    expect(names(inline('ebs.csi.aws.com'))).toEqual({ volumeHandle: 'vol-1', nodeId: 'id-of-node1' });
  });

  it('[attacher#132] given a GCE disk, then its handle without gaps', () => {
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    const volumes = [{ ...aVolume(), spec: { ...spec, gcePersistentDisk: { pdName: 'disk' } } }];
    const csiNodes = [aCsiNode('node1', 'projects/p/zones/us-east1-b/instances/i')];
    expect(names(anAttachment(), { volumes, csiNodes })).toEqual({
      volumeHandle: 'projects/p/zones/us-east1-b/disks/disk',
      nodeId: 'projects/p/zones/us-east1-b/instances/i',
    });
  });
});
