// SPDX-License-Identifier: Apache-2.0
import type { VolumeGroupSnapshot, VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { type Milestones, type Reporting, reportMilestones } from '../milestones.ts';
import * as messages from './messages.ts';
import { groupKey } from './group.ts';

const milestones: Milestones = {
  created: { operation: 'CreateGroupSnapshot', message: messages.created },
  ready: { operation: 'CreateGroupSnapshotAndReady', message: messages.ready },
};

/** What the status of a group says and was not reported yet. */
export function reportStatus(
  reporting: Reporting,
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent | undefined,
): void {
  const driver = content?.spec?.driver ?? '';
  reportMilestones(reporting, milestones, { object: group, key: groupKey(group), driver });
}
