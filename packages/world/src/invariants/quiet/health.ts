// SPDX-License-Identifier: Apache-2.0
import { healthOf } from '@csi-sidecars/health-monitor';
import { type PersistentVolume, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { plainDriverName } from '../../names.ts';
import { byHand, shownOf } from '../../sicknesses.ts';
import type { World } from '../../world.ts';

/** Each bound claim shows what the driver reports of its volume. What is not of the driver shows what people have written. */
export function unsettledHealth({ sim, story, drivers: [main], record }: World): readonly string[] {
  if (story.shape.health === undefined) return [];
  const { objects } = sim.server;
  const wantedOf = (uid: string, volume: PersistentVolume | undefined): ReturnType<typeof shownOf> => {
    const { claimRef, csi } = volume?.spec ?? {};
    if (claimRef?.uid !== uid) return [];
    if (csi?.driver === plainDriverName) return record.healthByHand.has(uid) ? byHand : [];
    // The claim keeps its health until the PersistentVolume is gone.
    if (volume?.metadata?.deletionTimestamp !== undefined || volume?.status?.phase !== 'Bound') return undefined;
    return shownOf(main.model.volumes().find(({ id }) => id === csi?.volumeHandle)?.health);
  };
  return objects.list(persistentVolumeClaims).flatMap((claim) => {
    const { uid = '', name } = claim.metadata ?? {};
    const wanted = wantedOf(uid, objects.get(persistentVolumes, { name: claim.spec?.volumeName ?? '' }));
    const shown = healthOf(claim)?.healthConditions ?? [];
    const texts = [shown, wanted].map((each) => JSON.stringify(each));
    if (wanted === undefined || texts[0] === texts[1]) return [];
    return [`claim ${name} shows the health ${texts[0]} instead of ${texts[1]}`];
  });
}
