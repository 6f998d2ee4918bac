// SPDX-License-Identifier: Apache-2.0
/**
 * snapshot-controller as a program: what is its own between the first argument and the exit code. With `--enable-data-source-validator` it runs
 * volume-data-source-validator beside its own loops, under the lease of that. Why here: docs/adr/0017-validator-beside-snapshot-controller.md.
 */
import {
  component as validator,
  createDataSourceValidator,
  lockName as validatorLock,
  settingsOf,
} from '@csi-sidecars/data-source-validator';
import { isForbidden, isNotFound, neededRules } from '@csi-sidecars/runtime';
import {
  type ControllerBeside,
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
  return runControllerProgram<SnapshotControllerValues, SnapshotControllerGate, Opened | undefined>(
    deps,
    snapshotControllerProgram,
    {
      start: { gateExitCode: exitCodes.fatal },
      refused: refusedFlags,
      httpExitCode: exitCodes.fatal,
      // As upstream's, the page of metrics shows operations and nothing of queues and caches.
      servedMetrics: 'own',
      beside: (values) => (isBeside(values) ? [validator] : []),
      // The validator does not wait for the definitions of snapshots.
      open: async (context) => (isBeside(context.started.values) ? undefined : await waitForDefinitions(context)),
      prepare: async (context, opened) => {
        let found = opened;
        const { values, gates } = context.started;
        const waitFor = async (signal: AbortSignal): Promise<void> => {
          found = await untilDefined({ ...context, signal });
        };
        return {
          lockName,
          rights: {
            cluster: neededRules(clusterRules, {
              groups: found?.hasGroups ?? gates.CSIVolumeGroupSnapshot,
              distributed: values['enable-distributed-snapshotting'],
              validator: isBeside(values),
            }),
          },
          before: opened === undefined ? waitFor : undefined,
          assemble: ({ recorderOf, ...ports }) => {
            if (found === undefined) throw new Error('assembled before the definitions of snapshots were found');
            const deps = { ...ports, events: recorderOf({ component }), operationMetrics: context.metrics };
            return createSnapshotController(deps, found.settings);
          },
          beside: isBeside(values) ? [validatorOf(context)] : [],
        };
      },
    },
  );
}

const isBeside = (values: SnapshotControllerValues): boolean => values['enable-data-source-validator'];

/** Its requests have a bucket of their own, so that the events of many claims delay no snapshot. */
function validatorOf({ started: { values }, withLimit, metrics: validationMetrics }: Context): ControllerBeside {
  return {
    name: validator,
    lockName: validatorLock,
    client: withLimit({ qps: values['kube-api-qps'], burst: values['kube-api-burst'] }),
    assemble: ({ recorderOf, ...ports }) =>
      createDataSourceValidator(
        { ...ports, events: recorderOf({ component: validator }), validationMetrics },
        settingsOf({ workerThreads: values['worker-threads'], claims: 'whole' }),
      ),
  };
}

/** As long as they are missing, one error in each interval. The process goes on, because it works on claims meanwhile. */
async function untilDefined(context: Context): Promise<Opened> {
  for (;;) {
    try {
      return await waitForDefinitions(context);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof ExitError)) throw error;
      context.log.error(error.cause, 'Snapshots wait for their definitions');
    }
  }
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
