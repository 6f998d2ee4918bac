// SPDX-License-Identifier: Apache-2.0
/** Watches the attachments and volumes of one test bed, and records the times of changes (monotonic milliseconds of this process). */
import { persistentVolumes, volumeAttachments, type VolumeAttachment } from '@csi-sidecars/runtime';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { anInformer, watching, type Watching } from '../side-by-side/watching.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import { attach, createVolumes } from './fleet.ts';

export interface AttachmentWatch extends Watching {
  /** By attachment. */
  readonly attachedAtMs: ReadonlyMap<string, number>;
  readonly detachedAtMs: ReadonlyMap<string, number>;
  readonly releasedVolumes: ReadonlySet<string>;
}

export async function watchAttachments({ cluster, driver }: TestBed): Promise<AttachmentWatch> {
  const { clock } = cluster;
  const attachments = anInformer(cluster, volumeAttachments);
  const volumes = anInformer(cluster, persistentVolumes);
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
  return { attachedAtMs, detachedAtMs, releasedVolumes, ...(await watching(cluster, [attachments, volumes])) };
}

/** Attaches one volume; resolves with the time when it was seen attached. */
export async function attachOne(bed: TestBed, watch: AttachmentWatch, what: string): Promise<number> {
  const names = namesOf(bed, what, 1);
  await createVolumes(bed, names);
  await attach(bed, names);
  await watch.until(`${what} is attached`, () => names.every((name) => watch.attachedAtMs.has(name)));
  return Math.max(...names.map((name) => watch.attachedAtMs.get(name) ?? NaN));
}
