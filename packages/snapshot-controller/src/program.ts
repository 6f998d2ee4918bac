// SPDX-License-Identifier: Apache-2.0
/** snapshot-controller as a program: what is its own between the first argument and the exit code. */
import { isForbidden, isNotFound, neededRules } from '@csi-sidecars/runtime';
import {
  type ControllerContext,
  ExitError,
  exitCodes,
  type ProgramDeps,
  runControllerProgram,
} from '@csi-sidecars/sidecar';
import {
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { type SnapshotControllerGate, snapshotControllerProgram, type SnapshotControllerValues } from './flags.ts';
import { component, lockName } from './names.ts';
import { clusterRules } from './rbac.ts';
import { crdWaitMs, refusedFlags, toSettings } from './read-settings.ts';
import type { SnapshotControllerSettings } from './settings.ts';
import { createSnapshotController } from './snapshot-controller.ts';
import { waitForKinds } from './wait-for-kinds.ts';

type Context = ControllerContext<SnapshotControllerValues, SnapshotControllerGate>;

export function runSnapshotController(deps: ProgramDeps): Promise<number> {
  return runControllerProgram<SnapshotControllerValues, SnapshotControllerGate, Opened>(
    deps,
    snapshotControllerProgram,
    {
      start: { gateExitCode: exitCodes.fatal },
      refused: refusedFlags,
      httpExitCode: exitCodes.fatal,
      // As upstream's, the page of metrics shows operations and nothing of queues and caches.
      servedMetrics: 'own',
      open: waitForDefinitions,
      prepare: async ({ metrics: operationMetrics }, { settings, hasGroups }) => ({
        lockName,
        rights: {
          cluster: neededRules(clusterRules, { groups: hasGroups, distributed: settings.distributed }),
        },
        assemble: ({ recorderOf, ...ports }) =>
          createSnapshotController({ ...ports, events: recorderOf({ component }), operationMetrics }, settings),
      }),
    },
  );
}

interface Opened {
  readonly settings: SnapshotControllerSettings;
  /** Groups are switched on and the cluster has their kinds, but this account may lack rights for them. */
  readonly hasGroups: boolean;
}

/** Without the snapshot kinds the program ends; without those of groups it does without groups. */
async function waitForDefinitions(context: Context): Promise<Opened> {
  const { started, log, signal } = context;
  const withinMs = crdWaitMs(started.values);
  await waitForSingle(context, withinMs);
  let groups = started.gates.CSIVolumeGroupSnapshot;
  let hasGroups = groups;
  if (groups) {
    const grouped = {
      kinds: [volumeGroupSnapshots, volumeGroupSnapshotClasses, volumeGroupSnapshotContents],
      withinMs,
    };
    let missing = await waitForKinds(context, grouped, signal);
    if (missing !== undefined && !isNotFound(missing) && !isForbidden(missing)) {
      // The API server may have been away, which says nothing of groups, and they would be off until the next start.
      await waitForSingle(context, withinMs);
      missing = await waitForKinds(context, grouped, signal);
    }
    if (missing !== undefined) {
      groups = false;
      hasGroups = isForbidden(missing);
      log.warn('VolumeGroupSnapshot CRDs were not found; disabling the VolumeGroupSnapshot feature for this run', {
        cause: missing.message,
      });
    }
  }
  return { settings: toSettings(started.values, { groups }), hasGroups };
}

async function waitForSingle(context: Context, withinMs: number): Promise<void> {
  const kinds = [volumeSnapshots, volumeSnapshotClasses, volumeSnapshotContents];
  const failure = await waitForKinds(context, { kinds, withinMs }, context.signal);
  if (failure === undefined) return;
  const text = `${failure.message} (asked for ${withinMs / 1000} s: is the API server reachable, are the definitions of snapshots installed, and may this account list them?)`;
  throw new ExitError(exitCodes.failure, 'Exiting due to failure to ensure CRDs exist during startup', {
    cause: new Error(text, { cause: failure }),
  });
}
