// SPDX-License-Identifier: Apache-2.0
/** snapshot-controller as a list of loops over shared caches. Knows no process, no flags. */
import {
  type Controller,
  type ControllerPorts,
  createController,
  createKeyedLock,
  type EventRecorder,
  type Loop,
  type Metrics,
} from '@csi-sidecars/runtime';
import { claimLoop } from './claim.ts';
import { groupContentKind, singleContentKind } from './content/kinds.ts';
import { contentLoop } from './content/loop.ts';
import { groupSnapshotLoop } from './group-snapshot/loop.ts';
import { createOperations } from './operations.ts';
import type { SnapshotControllerSettings } from './settings.ts';
import { createClaimReleases } from './snapshot/claim-releases.ts';
import { snapshotLoop } from './snapshot/loop.ts';
import { watchedBy } from './watched.ts';

export interface SnapshotControllerDeps extends ControllerPorts {
  /** Source component `snapshot-controller`. */
  readonly events: EventRecorder;
  /** Where durations are shown. The metrics of queues and caches go to those of the ports. */
  readonly operationMetrics: Metrics;
}

export function createSnapshotController(
  deps: SnapshotControllerDeps,
  settings: SnapshotControllerSettings,
): Controller {
  return createController(deps, snapshotControllerLoops(deps, settings));
}

export function snapshotControllerLoops(
  { events, operationMetrics, clock }: Pick<SnapshotControllerDeps, 'events' | 'operationMetrics' | 'clock'>,
  settings: SnapshotControllerSettings,
): readonly Loop[] {
  const watched = watchedBy(settings);
  const operations = createOperations(operationMetrics, clock);
  const shared = { settings, events, operations };
  const ofClaims = { settings, releases: createClaimReleases(), claimLock: createKeyedLock() };
  const { snapshots, contents, groups, groupContents } = watched;
  return [
    snapshotLoop({ ...shared, ...ofClaims, waiting: new Set(), answersDueMs: new Map() }, watched),
    claimLoop(ofClaims, watched),
    contentLoop(shared, singleContentKind, { contents, snapshots }),
    ...(groups === undefined || groupContents === undefined
      ? []
      : [
          groupSnapshotLoop(shared, watched),
          contentLoop(shared, groupContentKind, { contents: groupContents, snapshots: groups }),
        ]),
  ];
}
