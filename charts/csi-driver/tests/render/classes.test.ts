// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { hasHelm, renderText } from '../../../testing/helm.ts';
import { ofKind, one } from '../../../testing/manifest.ts';
import { valuesFiles } from '../../../testing/matrix.ts';
import { chart, driverName, everyApi, notesWith, renderWith } from '../minimal.ts';

const minimal = valuesFiles(chart).find(({ name }) => name === 'minimal')!.path;
const parametersOf = async (parameters: object): Promise<unknown> =>
  one(await renderWith({ storageClasses: [{ name: 'a', parameters }] }), 'StorageClass').parameters;

describe.skipIf(!hasHelm)('the classes', () => {
  it('[packaging#27] given parameters that are numbers and booleans, then they are rendered as the strings that the API wants', async () => {
    expect(await parametersOf({ iops: 3000, large: 10_000_000, share: 0.5, encrypted: true })).toEqual({
      iops: '3000',
      large: '10000000',
      share: '0.5',
      encrypted: 'true',
    });
  });

  it('[packaging#28] given strings that look like numbers, then they are quoted, so that no reader changes them', async () => {
    const parameters = { size: '1e6', mode: '0755', yes: 'on', version: '1.10', empty: '' };
    expect(await parametersOf(parameters)).toEqual(parameters);
    const text = await renderText({ chart, files: [minimal], values: { storageClasses: [{ name: 'a', parameters }] } });
    expect(text).toContain('  mode: "0755"\n');
    expect(text).toContain('  size: "1e6"\n');
  });

  it('given a StorageClass, then its provisioner is the driver, and it waits for its consumer unless it says otherwise', async () => {
    const objects = await renderWith({
      storageClasses: [{ name: 'a', default: true, allowVolumeExpansion: true, mountOptions: ['noatime'] }],
    });
    expect(one(objects, 'StorageClass')).toMatchObject({
      provisioner: driverName,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
      mountOptions: ['noatime'],
      metadata: { name: 'a', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    });
  });

  it('[packaging#29] given a name with a hash, then a change of an immutable field makes a new class, and one of a mutable field does not', async () => {
    const nameWith = async (fields: object): Promise<string> =>
      one(await renderWith({ storageClasses: [{ name: 'a', nameSuffixFromHash: true, ...fields }] }), 'StorageClass')
        .metadata.name;
    const base = await nameWith({});
    expect(base).toMatch(/^a-[0-9a-f]{8}$/);
    expect(await nameWith({ allowVolumeExpansion: true, mountOptions: ['ro'], labels: { a: 'b' } })).toBe(base);
    const changed = await Promise.all(
      [{ volumeBindingMode: 'Immediate' }, { reclaimPolicy: 'Retain' }, { parameters: { type: 'ssd' } }].map(nameWith),
    );
    expect(new Set([base, ...changed]).size).toBe(4);
  });

  it('given secrets, then the class names them by the keys of the sidecars, and data becomes a Secret', async () => {
    const objects = await renderWith({
      storageClasses: [
        {
          name: 'a',
          secrets: { controllerExpand: { name: 's', namespace: 'n' }, nodeStage: { data: { user: 'admin' } } },
        },
      ],
    });
    expect(one(objects, 'StorageClass').parameters).toEqual({
      'csi.storage.k8s.io/controller-expand-secret-name': 's',
      'csi.storage.k8s.io/controller-expand-secret-namespace': 'n',
      'csi.storage.k8s.io/node-stage-secret-name': 'test-csi-driver-sc-a-node-stage',
      'csi.storage.k8s.io/node-stage-secret-namespace': 'storage',
    });
    expect(one(objects, 'Secret')).toMatchObject({
      metadata: { name: 'test-csi-driver-sc-a-node-stage', namespace: 'storage' },
      stringData: { user: 'admin' },
    });
  });

  it('given snapshot classes, then they are rendered if snapshots are on, with the keys of the snapshot programs', async () => {
    const values = {
      volumeSnapshotClasses: [
        {
          name: 's',
          default: true,
          deletionPolicy: 'Delete',
          secrets: { snapshotterList: { name: 'x', namespace: 'n' } },
        },
      ],
      volumeGroupSnapshotClasses: [
        {
          name: 'g',
          default: true,
          deletionPolicy: 'Retain',
          secrets: { groupSnapshotter: { name: 'x', namespace: 'n' } },
        },
      ],
      volumeAttributesClasses: [{ name: 'v', parameters: { iops: 1 } }],
    };
    const objects = await renderWith(values, { apiVersions: everyApi });
    expect(one(objects, 'VolumeSnapshotClass')).toMatchObject({
      apiVersion: 'snapshot.storage.k8s.io/v1',
      driver: driverName,
      deletionPolicy: 'Delete',
      metadata: { annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' } },
      parameters: {
        'csi.storage.k8s.io/snapshotter-list-secret-name': 'x',
        'csi.storage.k8s.io/snapshotter-list-secret-namespace': 'n',
      },
    });
    expect(one(objects, 'VolumeGroupSnapshotClass')).toMatchObject({
      apiVersion: 'groupsnapshot.storage.k8s.io/v1',
      metadata: { annotations: { 'groupsnapshot.storage.kubernetes.io/is-default-class': 'true' } },
      parameters: { 'csi.storage.k8s.io/group-snapshotter-secret-name': 'x' },
    });
    expect(one(objects, 'VolumeAttributesClass')).toMatchObject({
      apiVersion: 'storage.k8s.io/v1',
      driverName,
      parameters: { iops: '1' },
    });
    const offline = await renderWith(values);
    for (const kind of ['VolumeSnapshotClass', 'VolumeGroupSnapshotClass', 'VolumeAttributesClass']) {
      expect(ofKind(offline, kind)).toEqual([]);
    }
    const beta = await renderWith(values, { apiVersions: ['storage.k8s.io/v1beta1/VolumeAttributesClass'] });
    expect(one(beta, 'VolumeAttributesClass').apiVersion).toBe('storage.k8s.io/v1beta1');
  });

  it('given further objects, as objects or as text, then both are rendered as templates', async () => {
    const objects = await renderWith({
      extraObjects: [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-a' } },
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Values.driver.name }}"}',
      ],
    });
    expect(
      ofKind(objects, 'ConfigMap')
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual([driverName, 'test-a']);
  });
});

describe.skipIf(!hasHelm)('the CSIDriver', () => {
  it('given the defaults, then fields that are unset are not rendered', async () => {
    const driver = one(await renderWith(), 'CSIDriver');
    expect(driver.metadata.name).toBe(driverName);
    expect(driver.metadata.annotations).toBeUndefined();
    expect(driver.spec).toEqual({
      attachRequired: true,
      podInfoOnMount: false,
      volumeLifecycleModes: ['Persistent'],
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      requiresRepublish: false,
    });
  });

  it('given an older Kubernetes, then a field that it does not know is left out', async () => {
    const values = { csiDriver: { nodeAllocatableUpdatePeriodSeconds: 60 } };
    const specOn = async (kubeVersion: string): Promise<unknown> =>
      one(await renderWith(values, { kubeVersion }), 'CSIDriver').spec;
    expect(await specOn('1.32.0')).not.toHaveProperty('nodeAllocatableUpdatePeriodSeconds');
    expect(await specOn('1.33.0')).toHaveProperty('nodeAllocatableUpdatePeriodSeconds', 60);
  });

  it('[packaging#33] given csiDriver.keep, then the object outlives the release, and without it the notes say what an uninstall means', async () => {
    const kept = one(await renderWith({ csiDriver: { keep: true } }), 'CSIDriver');
    expect(kept.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    const text = await notesWith();
    expect(text).toMatch(/volumes stay and running pods keep them/);
    expect(text).toMatch(/set csiDriver\.keep/);
    expect(await notesWith({ csiDriver: { keep: true } })).not.toMatch(/set csiDriver\.keep/);
  });
});
