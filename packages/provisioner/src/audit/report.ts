// SPDX-License-Identifier: Apache-2.0
/** The events of the periodic audit. */
import type { EventRecorder, KubeObject } from '@csi-sidecars/runtime';
import type { DailyPass, Finding } from '@csi-sidecars/volume';
import { messages } from './messages.ts';

const namedHandles = 3;

export interface EventDeps extends DailyPass {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly driverName: string;
  /** The PersistentVolume of a finding. */
  readonly volumeOf: (name: string) => KubeObject | undefined;
}

export function recordEvents({ events, driverName, volumeOf, isDue }: EventDeps, findings: readonly Finding[]): void {
  const confirmed = findings.filter((finding) => finding.confirmed);
  const unrecorded = confirmed.filter(({ class: group }) => group === 'unrecorded').map(({ handle }) => handle);
  if (unrecorded.length > 0 && isDue('unrecorded')) {
    const driver = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driverName } };
    const message = messages.unrecorded(unrecorded.length, unrecorded.slice(0, namedHandles));
    events.record(driver, { type: 'Warning', reason: 'UnrecordedVolumes', message });
  }
  for (const { class: group, handle, object } of confirmed) {
    if (group !== 'missing' || object === undefined) continue;
    const volume = volumeOf(object.name);
    if (volume === undefined || !isDue(`missing ${handle}`)) continue;
    events.record(volume, { type: 'Warning', reason: 'BackendVolumeMissing', message: messages.missing(handle) });
  }
}
