// SPDX-License-Identifier: Apache-2.0
import type { Volume } from '@csi-sidecars/csi';
import type { PersistentVolume, StorageClass } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aDriver, type ClaimFacts, driverName, someSettings } from '../../testing/builders.ts';
import type { ProvisionerSettings } from '../settings.ts';
import { toPersistentVolume } from './persistent-volume.ts';
import { toPlan } from './plan.ts';

interface Given {
  readonly claim?: ClaimFacts;
  readonly storageClass?: Partial<StorageClass>;
  readonly settings?: Partial<ProvisionerSettings>;
  readonly volume?: Partial<Volume>;
  readonly bytes?: bigint;
  readonly supportsTopology?: boolean;
}

function build(given: Given = {}): PersistentVolume {
  const claim = aClaim(given.claim);
  const driver = aDriver({ controller: ['CREATE_DELETE_VOLUME', 'MODIFY_VOLUME'] });
  const settings = someSettings(given.settings);
  const planned = toPlan({
    claim,
    storageClass: aClass(given.storageClass),
    driver,
    settings,
    cluster: undefined,
    purpose: 'provision',
    source: { kind: 'none' },
  });
  if (planned.kind !== 'planned') throw new Error(planned.message);
  const volume = {
    volume_id: 'vol-1',
    capacity_bytes: '0',
    volume_context: {},
    content_source: null,
    accessible_topology: [],
    ...given.volume,
  };
  const { bytes = 5n << 30n, supportsTopology = false } = given;
  return toPersistentVolume({ claim, plan: planned.plan, volume, bytes, driver, settings, supportsTopology });
}
const key = (name: string): string => `csi.storage.k8s.io/${name}`;
const withModes = (...accessModes: string[]): Given => ({ claim: { spec: { accessModes } } });

describe('the PersistentVolume', () => {
  it('[provisioner#111] given a plain claim, when built, then exactly these fields, both deletion annotations empty', () => {
    expect(build()).toEqual({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: {
        name: 'pvc-uid-data',
        finalizers: ['external-provisioner.volume.kubernetes.io/finalizer'],
        annotations: {
          'pv.kubernetes.io/provisioned-by': driverName,
          'volume.kubernetes.io/provisioner-deletion-secret-name': '',
          'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
        },
      },
      spec: {
        capacity: { storage: '5Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: 'fast',
        volumeMode: 'Filesystem',
        claimRef: {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          namespace: 'team',
          name: 'data',
          uid: 'uid-data',
          resourceVersion: '7',
        },
        csi: {
          driver: driverName,
          volumeHandle: 'vol-1',
          volumeAttributes: {
            'storage.kubernetes.io/csiProvisionerIdentity': '1700000000000-1234-test.csi.example.com',
          },
        },
      },
    });
  });

  it('[provisioner#25] given the beta class annotation, when built, then it names the class', () => {
    const claim = { annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } };
    expect(build({ claim }).spec?.storageClassName).toBe('old');
  });

  it('[provisioner#77,78,79] given class and default file system types, when built, then the class takes precedence over the default', () => {
    const fsType = (parameters: Record<string, string>, defaultFsType: string): unknown =>
      build({ storageClass: { parameters }, settings: { defaultFsType } }).spec?.csi?.fsType;
    expect([
      fsType({}, 'ext4'),
      fsType({}, ''),
      fsType({ [key('fstype')]: 'xfs' }, ''),
      fsType({ [key('fstype')]: 'xfs' }, 'ext4'),
    ]).toEqual(['ext4', undefined, 'xfs', 'xfs']);
  });

  it('[provisioner#80] given an explicitly empty type, when built, then the default is used', () => {
    const given = { storageClass: { parameters: { [key('fstype')]: '' } }, settings: { defaultFsType: 'ext4' } };
    expect(build(given).spec?.csi?.fsType).toBe('ext4');
  });

  it('[provisioner#81,85] given a block claim with mount options, when built, then options but no file system type', () => {
    const given = {
      claim: { spec: { volumeMode: 'Block' } },
      storageClass: { mountOptions: ['ro'] },
      settings: { defaultFsType: 'ext4' },
    };
    const { spec } = build(given);
    expect([spec?.volumeMode, spec?.mountOptions, spec?.csi?.fsType]).toEqual(['Block', ['ro'], undefined]);
  });

  it('[provisioner#90,91,92] given --controller-publish-readonly, when ReadOnlyMany is the only mode, then read-only, for block as well', () => {
    const settings = { controllerPublishReadonly: true };
    const readOnly = (given: Given): unknown => build(given).spec?.csi?.readOnly;
    expect(readOnly({ ...withModes('ReadOnlyMany'), settings })).toBe(true);
    expect(readOnly(withModes('ReadOnlyMany'))).toBeUndefined();
    expect(readOnly({ ...withModes('ReadOnlyMany', 'ReadWriteMany'), settings })).toBeUndefined();
    const block = { spec: { accessModes: ['ReadOnlyMany'], volumeMode: 'Block' } };
    expect(readOnly({ claim: block, settings })).toBe(true);
  });

  it('[provisioner#108] given the default secret, when built, then all five references and four annotations', () => {
    const parameters = { [key('secret-name')]: 's', [key('secret-namespace')]: 'ns' };
    const { metadata, spec } = build({ storageClass: { parameters } });
    const reference = { name: 's', namespace: 'ns' };
    expect(spec?.csi).toMatchObject({
      controllerPublishSecretRef: reference,
      nodeStageSecretRef: reference,
      nodePublishSecretRef: reference,
      controllerExpandSecretRef: reference,
      nodeExpandSecretRef: reference,
    });
    expect(metadata?.annotations).toEqual({
      'pv.kubernetes.io/provisioned-by': driverName,
      'volume.kubernetes.io/provisioner-deletion-secret-name': 's',
      'volume.kubernetes.io/provisioner-deletion-secret-namespace': 'ns',
      'volume.kubernetes.io/controller-modify-secret-name': 's',
      'volume.kubernetes.io/controller-modify-secret-namespace': 'ns',
    });
  });

  it('given a volume context, when built, then its entries take precedence over ours', () => {
    const context = { a: '1', 'storage.kubernetes.io/csiProvisionerIdentity': 'theirs' };
    expect(build({ volume: { volume_context: context } }).spec?.csi?.volumeAttributes).toEqual(context);
  });

  it('[provisioner#170,172] given a topology in the response, when built, then an affinity only if topology is supported', () => {
    const volume = { accessible_topology: [{ segments: { zone: 'z1' } }] };
    const nodeSelectorTerms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['z1'] }] }];
    expect(build({ volume, supportsTopology: true }).spec?.nodeAffinity).toEqual({ required: { nodeSelectorTerms } });
    expect(build({ volume }).spec!.nodeAffinity).toBeUndefined();
  });

  it('[provisioner#163] given an attributes class, when built, then it is named', () => {
    const claim = { spec: { volumeAttributesClassName: 'gold' } };
    expect(build({ claim }).spec?.volumeAttributesClassName).toBe('gold');
  });
});
