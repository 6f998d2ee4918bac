// SPDX-License-Identifier: Apache-2.0
/** The content of a dynamic group, from its class and the volumes that it selects. Pure. */
import { keyOf, type Node, type PersistentVolume, type RecordedEvent } from '@csi-sidecars/runtime';
import {
  classSecretOf,
  groupContentNameOf,
  managedByLabel,
  ok,
  refuse,
  type Result,
  snapshotAnnotations,
  snapshotFinalizers,
  snapshotSecrets,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
} from '@csi-sidecars/volume';
import { defaultClassOf } from '../class-resolution.ts';
import { hasAffinity, managingNode } from '../managed-by.ts';
import { selectorLabel } from '../selector.ts';
import { type Source, sourceVolume } from '../source-volume.ts';
import { updateError } from '../update-error.ts';
import { groupKind } from './kind.ts';
import * as messages from './messages.ts';

/** The volumes of the claims that were selected, in their order. */
function groupVolumes(sources: readonly Source[], { spec }: VolumeGroupSnapshot): Result<readonly PersistentVolume[]> {
  if (sources.length === 0) return refuse(messages.nothingSelected(selectorLabel(spec?.source?.selector ?? {})));
  const volumes: PersistentVolume[] = [];
  for (const source of sources) {
    const volume = sourceVolume(source, 'group snapshot');
    if (volume.kind === 'error') return volume;
    volumes.push(volume.value);
  }
  return ok(volumes);
}

/** The default class of the driver of the first volume. */
export function defaultClassFor(
  classes: readonly VolumeGroupSnapshotClass[],
  group: VolumeGroupSnapshot,
  sources: readonly Source[],
): Result<VolumeGroupSnapshotClass> {
  const volumes = groupVolumes(sources, group);
  if (volumes.kind === 'error') return volumes;
  const driver = volumes.value[0]?.spec?.csi?.driver;
  return driver === undefined
    ? refuse(`snapshotting non-CSI volumes is not supported, group snapshot:${keyOf(group)}`)
    : defaultClassOf(classes, driver, groupKind.classes);
}

export type Plan =
  | {
      readonly kind: 'content';
      readonly content: VolumeGroupSnapshotContent;
      readonly warning: RecordedEvent | undefined;
    }
  /** With an event of its own where a volume is to blame. */
  | { readonly kind: 'refused'; readonly message: string; readonly event?: RecordedEvent };

export interface GroupInputs {
  readonly groupClass: VolumeGroupSnapshotClass | undefined;
  readonly sources: readonly Source[];
  readonly nodes: readonly Node[];
}

export function planContent({ groupClass, sources, nodes }: GroupInputs, group: VolumeGroupSnapshot): Plan {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = group.metadata ?? {};
  const refused = (message: string): Plan => ({ kind: 'refused', message: messages.noInput(name, message) });
  if (groupClass === undefined) return refused(`failed to take group snapshot ${name} without a group snapshot class`);
  const volumes = groupVolumes(sources, group);
  if (volumes.kind === 'error') return refused(volumes.message);
  const namespaceTokens = {
    'volumegroupsnapshotcontent.name': groupContentNameOf(uid),
    'volumegroupsnapshot.namespace': namespace,
  };
  const tokens = { namespace: namespaceTokens, name: { ...namespaceTokens, 'volumegroupsnapshot.name': name } };
  const secret = classSecretOf(groupClass.parameters ?? {}, snapshotSecrets.group, tokens);
  if (secret.kind === 'error') return refused(secret.message);
  const { driver = '', deletionPolicy } = groupClass;
  const handles = handlesOf(volumes.value, driver, group);
  if (handles.kind === 'refused') return handles;
  const node = managingNode(volumes.value, nodes);
  return {
    kind: 'content',
    // One csi-snapshotter for all nodes serves such a group, so that it is not refused.
    warning: nodes.length > 0 && node === '' && hasAffinity(volumes.value) ? messages.noNode : undefined,
    content: {
      apiVersion: 'groupsnapshot.storage.k8s.io/v1',
      kind: 'VolumeGroupSnapshotContent',
      metadata: {
        name: groupContentNameOf(uid),
        finalizers: [snapshotFinalizers.groupContent],
        ...(node === '' ? {} : { labels: { [managedByLabel]: node } }),
        ...(secret.value && {
          annotations: {
            [snapshotAnnotations.groupDeletionSecretName]: secret.value.name,
            [snapshotAnnotations.groupDeletionSecretNamespace]: secret.value.namespace,
          },
        }),
      },
      spec: {
        volumeGroupSnapshotRef: {
          apiVersion: 'groupsnapshot.storage.k8s.io/v1',
          kind: 'VolumeGroupSnapshot',
          namespace,
          name,
          uid,
          resourceVersion,
        },
        source: { volumeHandles: handles.handles },
        volumeGroupSnapshotClassName: groupClass.metadata?.name ?? '',
        ...(deletionPolicy === undefined ? {} : { deletionPolicy }),
        driver,
      },
    },
  };
}

type Handles = { readonly kind: 'handles'; readonly handles: readonly string[] } | Extract<Plan, { kind: 'refused' }>;

function handlesOf(volumes: readonly PersistentVolume[], driver: string, group: VolumeGroupSnapshot): Handles {
  const key = keyOf(group);
  const handles: string[] = [];
  for (const { metadata, spec } of volumes) {
    const volume = metadata?.name ?? '';
    const { csi } = spec ?? {};
    if (csi === undefined) {
      const message = `cannot snapshot a non-CSI volume for group snapshot ${key}: ${volume}`;
      return { kind: 'refused', message, event: messages.volumeNotCsi(volume) };
    }
    if (csi.driver !== driver) {
      const event = messages.driverMismatch({ volumeDriver: csi.driver, classDriver: driver }, key, volume);
      return { kind: 'refused', message: updateError(key, event.message), event };
    }
    handles.push(csi.volumeHandle);
  }
  return { kind: 'handles', handles };
}
