// SPDX-License-Identifier: Apache-2.0
/**
 * Invariants of attachments. Each violation is reported as a sentence.
 *
 * At every step: no volume is attached to two nodes; for every volume that the driver has attached there is a VolumeAttachment
 * with a finalizer, of a PersistentVolume with a finalizer.
 * When quiet: VolumeAttachments and the driver agree about what is attached; nothing is being deleted.
 */
import { persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import type { DriverModel } from '@csi-sidecars/test-driver';

export interface Stage {
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
}

/** `<PersistentVolume> on <node id>` of everything that the driver has attached. */
function attachedIn({ server, driver }: Stage): readonly { readonly volume: string; readonly nodeId: string }[] {
  const names = new Map(
    server.objects.list(persistentVolumes).map(({ metadata, spec }) => [spec?.csi?.volumeHandle, metadata?.name]),
  );
  return driver
    .volumes()
    .flatMap(({ id, attachments }) => attachments.map(({ nodeId }) => ({ volume: names.get(id) ?? id, nodeId })));
}

export function unprotectedAttachments(stage: Stage): readonly string[] {
  const { server } = stage;
  const attached = attachedIn(stage);
  const known = server.objects.list(volumeAttachments);
  const breaches: string[] = [];
  for (const { volume, nodeId } of attached) {
    if (attached.some((other) => other.volume === volume && other.nodeId !== nodeId)) {
      breaches.push(`${volume} is attached to two nodes`);
    }
    const object = server.objects.get(persistentVolumes, { name: volume });
    if (!isHeld(object?.metadata?.finalizers)) breaches.push(`${volume} is attached and its object may go`);
    const attachment = known.find(
      ({ spec }) => spec.source.persistentVolumeName === volume && nodeId.endsWith(spec.nodeName),
    );
    if (!isHeld(attachment?.metadata?.finalizers)) breaches.push(`${volume} is on ${nodeId} and its attachment may go`);
  }
  return breaches;
}

export function unsettledAttachments(stage: Stage): readonly string[] {
  // If the driver cannot attach, no program maintains them.
  if (!stage.driver.settings.capabilities.controller.includes('PUBLISH_UNPUBLISH_VOLUME')) return [];
  const attached = new Set(attachedIn(stage).map(({ volume, nodeId }) => `${volume} on ${nodeId}`));
  const breaches: string[] = [];
  for (const { metadata, spec, status } of stage.server.objects.list(volumeAttachments)) {
    const { name = '', deletionTimestamp } = metadata ?? {};
    const wanted = [...attached].some(
      (each) => each.startsWith(`${spec.source.persistentVolumeName} on `) && each.endsWith(spec.nodeName),
    );
    if (deletionTimestamp !== undefined) breaches.push(`attachment ${name} is still being deleted`);
    if (status?.attached !== true) breaches.push(`attachment ${name} is not attached`);
    if (!wanted) breaches.push(`attachment ${name} is not what the driver has`);
    if (status?.attachError !== undefined) breaches.push(`attachment ${name} still has an error`);
  }
  return breaches;
}

function isHeld(finalizers: readonly string[] = []): boolean {
  return finalizers.some((each) => each.startsWith('external-attacher/'));
}
