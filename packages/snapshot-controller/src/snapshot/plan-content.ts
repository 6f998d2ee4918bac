// SPDX-License-Identifier: Apache-2.0
/** The class and the content of a dynamic snapshot, from its volume. Pure. */
import { keyOf, type PersistentVolume } from '@csi-sidecars/runtime';
import {
  classSecretOf,
  contentNameOf,
  managedByLabel,
  ok,
  refuse,
  type Result,
  snapshotAnnotations,
  snapshotFinalizers,
  snapshotSecrets,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { classNamed, defaultClassOf, missingClass } from '../class-resolution.ts';
import type { SnapshotControllerSettings } from '../settings.ts';
import { missingClaim, sourceVolume } from '../source-volume.ts';
import { snapshotKind } from './kind.ts';
import * as messages from './messages.ts';
import type { Observed } from './observe.ts';

/** The default class of the driver whose volume the claim has. */
export function defaultClassFor(
  { classes, claim, volume: found }: Pick<Observed, 'classes' | 'claim' | 'volume'>,
  snapshot: VolumeSnapshot,
): Result<VolumeSnapshotClass> {
  const claimName = snapshot.spec?.source?.persistentVolumeClaimName;
  if (claimName === undefined) return refuse('the snapshot source PVC name is not specified');
  const key = keyOf(snapshot);
  if (claimName === '') return refuse(`the PVC name is not specified in snapshot ${key}`);
  if (claim === undefined) return refuse(missingClaim(claimName));
  const volume = sourceVolume({ claim, volume: found }, 'snapshot');
  if (volume.kind === 'error') return volume;
  const driver = volume.value.spec?.csi?.driver;
  if (driver === undefined) return refuse(`snapshotting non-CSI volumes is not supported, snapshot:${key}`);
  return defaultClassOf(classes, driver, snapshotKind.classes);
}

type Sources = Pick<Observed, 'classes' | 'claim' | 'volume' | 'node'>;
type ContentSettings = Pick<SnapshotControllerSettings, 'recordVolumeMode'>;

export function planContent(
  s: Sources,
  snapshot: VolumeSnapshot,
  { recordVolumeMode }: ContentSettings,
): Result<VolumeSnapshotContent> {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = snapshot.metadata ?? {};
  const inputs = inputsOf(s, snapshot);
  if (inputs.kind === 'error') return refuse(messages.noInput(name, inputs.message));
  const { snapshotClass, volume, annotations } = inputs.value;
  const volumeName = volume.metadata?.name ?? '';
  const { csi, volumeMode } = volume.spec ?? {};
  if (csi === undefined) return refuse(`cannot find CSI PersistentVolumeSource for volume ${volumeName}`);
  const { driver = '', deletionPolicy } = snapshotClass;
  if (driver !== csi.driver) {
    const drivers = { volumeDriver: csi.driver, classDriver: driver };
    return refuse(messages.driverMismatch(drivers, keyOf(snapshot), volumeName));
  }
  return ok({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: {
      name: contentNameOf(uid),
      // Without it, who deletes the content in its first moment loses the snapshot in the storage.
      finalizers: [snapshotFinalizers.content],
      ...(s.node === '' ? {} : { labels: { [managedByLabel]: s.node } }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      volumeSnapshotRef: {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshot',
        namespace,
        name,
        uid,
        resourceVersion,
      },
      source: { volumeHandle: csi.volumeHandle },
      volumeSnapshotClassName: snapshotClass.metadata?.name ?? '',
      ...(deletionPolicy === undefined ? {} : { deletionPolicy }),
      driver,
      ...(recordVolumeMode && volumeMode !== undefined ? { sourceVolumeMode: volumeMode } : {}),
    },
  });
}

interface Inputs {
  readonly snapshotClass: VolumeSnapshotClass;
  readonly volume: PersistentVolume;
  /** The secret for the deletion, which may happen after the class is gone. */
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

function inputsOf({ classes, claim, volume: found }: Sources, snapshot: VolumeSnapshot): Result<Inputs> {
  const { name = '', namespace = '', uid = '' } = snapshot.metadata ?? {};
  const className = snapshot.spec?.volumeSnapshotClassName;
  if (className === undefined) return refuse(`failed to take snapshot ${name} without a snapshot class`);
  const snapshotClass = classNamed(classes, className);
  if (snapshotClass === undefined) return refuse(missingClass(snapshotKind.classes, className));
  if (claim === undefined) return refuse(missingClaim(snapshot.spec?.source?.persistentVolumeClaimName ?? ''));
  const volume = sourceVolume({ claim, volume: found }, 'snapshot');
  if (volume.kind === 'error') return volume;
  const namespaceTokens = {
    'volumesnapshotcontent.name': contentNameOf(uid),
    'volumesnapshot.namespace': namespace,
  };
  const tokens = { namespace: namespaceTokens, name: { ...namespaceTokens, 'volumesnapshot.name': name } };
  const secret = classSecretOf(snapshotClass.parameters ?? {}, snapshotSecrets.snapshotter, tokens);
  if (secret.kind === 'error') return secret;
  const annotations = secret.value && {
    [snapshotAnnotations.deletionSecretName]: secret.value.name,
    [snapshotAnnotations.deletionSecretNamespace]: secret.value.namespace,
  };
  return ok({ snapshotClass, volume: volume.value, annotations });
}
