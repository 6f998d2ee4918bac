// SPDX-License-Identifier: Apache-2.0
import type { CSINode, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aCsiNode, anAttachment, aVolume, driverName } from '../../testing/builders.ts';
import { listerOf } from '../../testing/lister-of.ts';
import { annotations } from '../names.ts';
import { namesOf } from './listed.ts';

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
  it('given a known volume and a known node, then the names are the volume handle and the node id', () => {
    expect(names(anAttachment())).toEqual({ volumeHandle: 'volume-1', nodeId: 'id-of-node1' });
  });

  it('given a volume that is being deleted, then the names are the volume handle and the node id', () => {
    const volumes = [aVolume({ deleting: 'yes', csi: { volumeHandle: 'volume-1' } })];
    expect(names(anAttachment(), { volumes })).toEqual({ volumeHandle: 'volume-1', nodeId: 'id-of-node1' });
  });

  it('[attacher#125] given no CSINode, then the node id on the attachment is used, and without it the names cannot be determined', () => {
    expect(names(anAttachment(), { csiNodes: [] })).toBe('csinode.storage.k8s.io "node1" not found');
    const remembering = anAttachment({ annotations: { [annotations.nodeId]: 'old-id' } });
    expect(names(remembering, { csiNodes: [] })).toEqual({ volumeHandle: 'volume-1', nodeId: 'old-id' });
    expect(names(remembering)).toEqual({ volumeHandle: 'volume-1', nodeId: 'id-of-node1' });
  });

  it('[attacher#126] given a PersistentVolume that is gone, then the names cannot be determined', () => {
    expect(names(anAttachment(), { volumes: [] })).toBe('persistentvolume "pv1" not found');
  });

  it('given an attachment without a source, or a volume without a CSI source, then the names cannot be determined', () => {
    expect(names(anAttachment({ source: {} }))).toBe(
      'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source',
    );
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    expect(names(anAttachment(), { volumes: [{ ...aVolume(), spec }] })).toBe(
      'pv spec contained non-csi source that was not migrated',
    );
  });

  it('[attacher#131] given an inline volume, then its names are determined only if its driver replaced an in-tree plugin', () => {
    const inline = (driver: string): VolumeAttachment =>
      anAttachment({ source: { inlineVolumeSpec: { csi: { driver, volumeHandle: 'vol-1' } } } });
    expect(names(inline(driverName))).toBe(`could not find In-Tree driver name for CSI plugin ${driverName}`);
    expect(names(inline('ebs.csi.aws.com'))).toEqual({ volumeHandle: 'vol-1', nodeId: 'id-of-node1' });
  });

  it('[attacher#132] given a GCE disk, then project and zone of the handle are completed from the node id', () => {
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    const volumes = [{ ...aVolume(), spec: { ...spec, gcePersistentDisk: { pdName: 'disk' } } }];
    const csiNodes = [aCsiNode('node1', 'projects/p/zones/us-east1-b/instances/i')];
    expect(names(anAttachment(), { volumes, csiNodes })).toEqual({
      volumeHandle: 'projects/p/zones/us-east1-b/disks/disk',
      nodeId: 'projects/p/zones/us-east1-b/instances/i',
    });
  });
});
