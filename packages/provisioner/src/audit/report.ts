// SPDX-License-Identifier: Apache-2.0
/** The events of the periodic audit. Each is recorded once in a day, and a pass records few: the metrics have the whole count. */
import type { EventRecorder, KubeObject } from '@csi-sidecars/runtime';
import type { Finding } from '@csi-sidecars/volume';
import { messages } from './messages.ts';

const onceInMs = 24 * 60 * 60_000;
const mostInPass = 20;
const namedHandles = 3;

export interface EventDeps {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly driverName: string;
  /** The PersistentVolume of a finding. */
  readonly volumeOf: (name: string) => KubeObject | undefined;
}

/** Remembers what was recorded when. */
export function createAuditEvents(): (deps: EventDeps, findings: readonly Finding[], nowMs: number) => void {
  const recordedMs = new Map<string, number>();
  return ({ events, driverName, volumeOf }, findings, nowMs) => {
    for (const [key, ms] of recordedMs) if (nowMs - ms >= onceInMs) recordedMs.delete(key);
    const isNew = (key: string): boolean => {
      if (recordedMs.has(key)) return false;
      recordedMs.set(key, nowMs);
      return true;
    };
    let left = mostInPass;
    const confirmed = findings.filter((finding) => finding.confirmed);
    const unrecorded = confirmed.filter(({ class: group }) => group === 'unrecorded').map(({ handle }) => handle);
    if (unrecorded.length > 0 && isNew('unrecorded')) {
      left -= 1;
      const driver = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driverName } };
      const message = messages.unrecorded(unrecorded.length, unrecorded.slice(0, namedHandles));
      events.record(driver, { type: 'Warning', reason: 'UnrecordedVolumes', message });
    }
    for (const { class: group, handle, object } of confirmed) {
      if (group !== 'missing' || object === undefined || left <= 0) continue;
      const volume = volumeOf(object.name);
      if (volume === undefined || !isNew(`missing ${handle}`)) continue;
      left -= 1;
      events.record(volume, { type: 'Warning', reason: 'BackendVolumeMissing', message: messages.missing(handle) });
    }
  };
}
