// SPDX-License-Identifier: Apache-2.0
/** Rows C1 to C5. Pure; first match wins. */
import { done, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import { snapshotFinalizers, type VolumeSnapshotContent } from '@csi-sidecars/volume';
import { conclude } from '../conclusions.ts';
import { type ContentAction, type ContentState, decideProtection } from '../content-protection.ts';

const invalid: RecordedEvent = {
  type: 'Warning',
  reason: 'ContentValidationError',
  message: 'Exactly one of VolumeHandle and SnapshotHandle should be specified',
};

const rows = { unbound: 'C3', settled: 'C4', unprotected: 'C5' };

export function decide(s: ContentState<VolumeSnapshotContent>): ContentAction<VolumeSnapshotContent> {
  const { content } = s;
  if (content === undefined) return conclude('C1', done);
  const { source, volumeSnapshotRef: reference } = content.spec ?? {};
  if ((source?.volumeHandle === undefined) === (source?.snapshotHandle === undefined)) {
    return conclude('C2', retry(new Error(invalid.message)), invalid);
  }
  return decideProtection(s, { content, reference, finalizer: snapshotFinalizers.content }, rows);
}
