// SPDX-License-Identifier: Apache-2.0
/** Watches what becomes of the attachments and volumes of one place, and notes when (monotonic milliseconds of this process). */
import { persistentVolumes, volumeAttachments, type VolumeAttachment } from '@csi-sidecars/runtime';
import type { Place } from '../side-by-side/place.ts';
import { anInformer, watching, type Watching } from '../side-by-side/watching.ts';
import { attach, createVolumes, namesOf } from './fleet.ts';

export interface AttachmentWatch extends Watching {
  /** By attachment. */
  readonly attachedAtMs: ReadonlyMap<string, number>;
  readonly detachedAtMs: ReadonlyMap<string, number>;
  readonly releasedVolumes: ReadonlySet<string>;
}

export async function watchAttachments({ stand, driver }: Place): Promise<AttachmentWatch> {
  const { clock } = stand;
  const attachments = anInformer(stand, volumeAttachments);
  const volumes = anInformer(stand, persistentVolumes);
  const attachedAtMs = new Map<string, number>();
  const detachedAtMs = new Map<string, number>();
  const releasedVolumes = new Set<string>();

  const see = ({ metadata, spec, status }: VolumeAttachment): void => {
    const name = metadata?.name ?? '';
    if (spec.attacher !== driver.name || status?.attached !== true || attachedAtMs.has(name)) return;
    attachedAtMs.set(name, clock.monotonicMs());
  };
  attachments.addHandler({
    add: see,
    update: (_previous, attachment) => see(attachment),
    delete: ({ object }) => {
      if (object.spec.attacher === driver.name) detachedAtMs.set(object.metadata?.name ?? '', clock.monotonicMs());
    },
  });
  volumes.addHandler({
    delete: ({ object }) => {
      if (object.spec?.csi?.driver === driver.name) releasedVolumes.add(object.metadata?.name ?? '');
    },
  });
  return { attachedAtMs, detachedAtMs, releasedVolumes, ...(await watching(stand, [attachments, volumes])) };
}

/** Attaches one volume; resolves with when it was seen attached. */
export async function attachOne(place: Place, watch: AttachmentWatch, what: string): Promise<number> {
  const names = namesOf(place, what, 1);
  await createVolumes(place, names);
  await attach(place, names);
  await watch.until(`${what} is attached`, () => names.every((name) => watch.attachedAtMs.has(name)));
  return Math.max(...names.map((name) => watch.attachedAtMs.get(name) ?? NaN));
}
