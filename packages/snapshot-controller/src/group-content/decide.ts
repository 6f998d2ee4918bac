// SPDX-License-Identifier: Apache-2.0
/** Rows K1 to K5. Pure; first match wins. */
import { done, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import { snapshotFinalizers, type VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { conclude } from '../conclusions.ts';
import { type ContentAction, type ContentState, decideProtection } from '../content-protection.ts';

const invalid: RecordedEvent = {
  type: 'Warning',
  reason: 'GroupContentValidationError',
  message: 'Exactly one of GroupSnapshotHandles and VolumeHandles should be specified',
};

const rows = { unbound: 'K3', settled: 'K4', unprotected: 'K5' };

export function decide(s: ContentState<VolumeGroupSnapshotContent>): ContentAction<VolumeGroupSnapshotContent> {
  const { content } = s;
  if (content === undefined) return conclude('K1', done);
  const { source, volumeGroupSnapshotRef: reference } = content.spec ?? {};
  if (((source?.volumeHandles ?? []).length === 0) === (source?.groupSnapshotHandles === undefined)) {
    return conclude('K2', retry(new Error(invalid.message)), invalid);
  }
  return decideProtection(s, { content, reference, finalizer: snapshotFinalizers.groupContent }, rows);
}
