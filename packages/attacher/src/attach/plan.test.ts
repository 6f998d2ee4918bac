// SPDX-License-Identifier: Apache-2.0
/** The publish request without secrets and node id. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aDriver, anAttachment, aVolume, finalizer, someSettings, type VolumeFacts } from '../../testing/builders.ts';
import { toPlan, toTarget } from './plan.ts';

const always = 'PUBLISH_UNPUBLISH_VOLUME';
interface PlanSetUp {
  readonly capabilities?: readonly string[];
  readonly defaultFsType?: string;
  readonly inline?: PersistentVolume['spec'];
}

function planOf(volume: VolumeFacts, { capabilities = [], defaultFsType = '', inline }: PlanSetUp = {}) {
  const context = {
    driver: aDriver({ controller: [always, ...capabilities] }),
    settings: someSettings({ defaultFsType }),
    finalizer,
  };
  const attachment = anAttachment(inline === undefined ? {} : { source: { inlineVolumeSpec: inline } });
  return toPlan(attachment, aVolume(volume), context);
}

function requestOf(volume: VolumeFacts, facts?: PlanSetUp) {
  const plan = planOf(volume, facts);
  if (plan.kind === 'error') throw new Error(plan.message);
  return plan.value.request;
}

it.each([
  { readOnly: true, capabilities: ['PUBLISH_READONLY'], sent: true },
  { readOnly: true, capabilities: [], sent: false },
  { readOnly: false, capabilities: ['PUBLISH_READONLY'], sent: false },
])(
  '[attacher#16] given readOnly $readOnly and the capabilities $capabilities, then readonly $sent is sent',
  ({ readOnly, capabilities, sent }) => {
    expect(requestOf({ csi: { readOnly } }, { capabilities }).readonly).toBe(sent);
  },
);

it('[attacher#17] given volume attributes of a PersistentVolume or an inline volume, then they are the volume context; without them it is not set', () => {
  const volumeAttributes = { foo: 'bar' };
  const csi = { driver: 'd', volumeHandle: 'h', volumeAttributes };
  expect(requestOf({ csi: { volumeAttributes } }).volume_context).toEqual({ foo: 'bar' });
  expect(requestOf({}, { inline: { csi, accessModes: ['ReadWriteOnce'] } }).volume_context).toEqual({ foo: 'bar' });
  expect(requestOf({})).not.toHaveProperty('volume_context');
});

it('[attacher#132] given an in-tree GCE disk, then the request carries the handle with its unspecified parts', () => {
  const { csi: _csi, ...spec } = aVolume().spec ?? {};
  const volume = { ...aVolume(), spec: { ...spec, gcePersistentDisk: { pdName: 'disk' } } };
  const context = { driver: aDriver(), settings: someSettings(), finalizer };
  const plan = toPlan(anAttachment(), volume, context);
  expect(plan).toMatchObject({
    kind: 'ok',
    value: { migrated: true, request: { volume_id: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk' } },
  });
});

describe('the volume of an attachment', () => {
  it('given a PersistentVolume that does not exist, then there is no target', () => {
    const message = 'persistentvolume "pv1" not found';
    expect(toTarget(anAttachment(), undefined)).toEqual({ kind: 'error', message });
  });

  it('given an attachment without a source, then there is no target', () => {
    const message = 'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source';
    expect(toTarget(anAttachment({ source: {} }), undefined)).toEqual({ kind: 'error', message });
  });

  it('given a secret reference without a namespace, then the namespace is empty', () => {
    const volume = aVolume({ csi: { controllerPublishSecretRef: { name: 's' } } });
    expect(toTarget(anAttachment(), volume)).toMatchObject({
      value: { reference: { name: 's', namespace: '' } },
    });
  });
});

describe('the access mode', () => {
  const smw = 'SINGLE_NODE_MULTI_WRITER';
  const exclusive =
    'Kubernetes does not support use of ReadWriteOncePod with other access modes on the same PersistentVolume';
  const both = 'CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume';
  const rows = [
    { modes: ['ReadWriteOncePod', 'ReadWriteOnce'], without: exclusive, with: exclusive },
    { modes: ['ReadWriteOncePod'], without: 'SINGLE_NODE_WRITER', with: 'SINGLE_NODE_SINGLE_WRITER' },
    { modes: ['ReadWriteMany', 'ReadOnlyMany'], without: 'MULTI_NODE_MULTI_WRITER', with: 'MULTI_NODE_MULTI_WRITER' },
    { modes: ['ReadOnlyMany', 'ReadWriteOnce'], without: both, with: both },
    { modes: ['ReadOnlyMany'], without: 'MULTI_NODE_READER_ONLY', with: 'MULTI_NODE_READER_ONLY' },
    { modes: ['ReadWriteOnce'], without: 'SINGLE_NODE_WRITER', with: 'SINGLE_NODE_MULTI_WRITER' },
    { modes: [], without: 'unsupported AccessMode combination: []', with: 'unsupported AccessMode combination: []' },
  ];
  const shown = (accessModes: readonly string[], volumeMode: string, capabilities: readonly string[]): unknown => {
    const plan = planOf({ spec: { accessModes, volumeMode } }, { capabilities });
    if (plan.kind === 'error') return plan.message;
    const { access_mode: mode, block } = plan.value.request.volume_capability ?? {};
    expect(block !== undefined).toBe(volumeMode === 'Block');
    return mode?.mode;
  };

  it.each(rows)(
    '[attacher#20] given the access modes $modes, then the result is $without, or $with with SINGLE_NODE_MULTI_WRITER',
    (row) => {
      for (const volumeMode of ['Filesystem', 'Block']) {
        expect([shown(row.modes, volumeMode, []), shown(row.modes, volumeMode, [smw])]).toEqual([
          row.without,
          row.with,
        ]);
      }
    },
  );

  it('[attacher#24] given ReadWriteOncePod twice, then it counts once', () => {
    expect(shown(['ReadWriteOncePod', 'ReadWriteOncePod'], 'Filesystem', [])).toBe('SINGLE_NODE_WRITER');
  });
});

describe('the file system', () => {
  const mountOf = (volume: VolumeFacts, defaultFsType = '') =>
    requestOf(volume, { defaultFsType }).volume_capability?.mount;

  it('[attacher#21] given mount options, then they are sent in their order; without them none is sent', () => {
    expect(mountOf({ spec: { mountOptions: ['first', 'second'] } })?.mount_flags).toEqual(['first', 'second']);
    expect(mountOf({})?.mount_flags).toEqual([]);
  });

  it.each([
    { fsType: 'xfs', byDefault: 'ext4', sent: 'xfs' },
    { fsType: '', byDefault: 'ext4', sent: 'ext4' },
    { fsType: '', byDefault: '', sent: '' },
  ])(
    '[attacher#22] given the file system "$fsType" and the default "$byDefault", then "$sent" is sent',
    ({ fsType, byDefault, sent }) => {
      expect(mountOf({ csi: { fsType } }, byDefault)?.fs_type).toBe(sent);
    },
  );

  it('[attacher#23] given a block volume, then neither a file system nor mount options are sent', () => {
    const volume = { csi: { fsType: 'xfs' }, spec: { volumeMode: 'Block', mountOptions: ['first'] } };
    expect(
      requestOf(
        { ...volume, spec: { ...volume.spec, csi: aVolume(volume).spec?.csi } as VolumeFacts['spec'] & object },
        { defaultFsType: 'ext4' },
      ).volume_capability,
    ).toEqual({
      block: {},
      access_mode: { mode: 'SINGLE_NODE_WRITER' },
    });
  });
});
