// SPDX-License-Identifier: Apache-2.0
import type { VolumeSnapshot, VolumeSnapshotContent } from '@csi-sidecars/volume';
import { type Milestones, type Reporting, reportMilestones } from '../milestones.ts';
import * as messages from './messages.ts';
import { snapshotKey } from './snapshot.ts';

const milestones: Milestones = {
  created: { operation: 'CreateSnapshot', message: messages.created },
  ready: { operation: 'CreateSnapshotAndReady', message: messages.ready },
};

/** What the status of a snapshot says and was not reported yet. */
export function reportStatus(
  reporting: Reporting,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent | undefined,
): void {
  const driver = content?.spec?.driver ?? '';
  reportMilestones(reporting, milestones, { object: snapshot, key: snapshotKey(snapshot), driver });
}
