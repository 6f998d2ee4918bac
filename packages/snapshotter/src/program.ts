// SPDX-License-Identifier: Apache-2.0
/** csi-snapshotter as a program: what is its own between the first argument and the exit code. */
import {
  type DriverInfo,
  getControllerCapabilities,
  getGroupControllerCapabilities,
  getPluginCapabilities,
} from '@csi-sidecars/csi';
import { isForbidden, isNotFound, neededRules } from '@csi-sidecars/runtime';
import {
  ExitError,
  exitCodes,
  orExit,
  type ProgramDeps,
  runSidecarProgram,
  type SidecarProgram,
  type StartContext,
} from '@csi-sidecars/sidecar';
import { volumeGroupSnapshotClasses, volumeGroupSnapshotContents } from '@csi-sidecars/volume';
import { type SnapshotterGate, snapshotterProgram, type SnapshotterValues } from './flags.ts';
import { lockNameOf } from './names.ts';
import { clusterRules } from './rbac.ts';
import { refusedFlags, refusedGroupFlags, toSettings } from './read-settings.ts';
import { createSnapshotter } from './snapshotter.ts';

type Context = StartContext<SnapshotterValues, SnapshotterGate>;

export const snapshotterSidecar: SidecarProgram<SnapshotterValues, SnapshotterGate> = {
  program: snapshotterProgram,
  // As upstream, whose fatal logger ends the process.
  start: { gateExitCode: exitCodes.fatal },
  httpExitCode: exitCodes.fatal,
  refused: refusedFlags,
  driver: (values, env) => {
    // Before the driver is waited for.
    nodeNameOf(values, env);
    return { probeTimeoutMs: values.timeout, nameTimeoutMs: values.timeout, order: 'nameFirst' };
  },
  prepare: async (context) => {
    const { name, channel, started, host, auditBoard } = context;
    const driver = await askDriver(context);
    const groups = started.gates.CSIVolumeGroupSnapshot ? await lookForGroups(context) : 'absent';
    const groupSnapshots = groups === 'usable';
    if (groupSnapshots) await prepareGroups(context);
    const nodeName = nodeNameOf(started.values, host.env);
    const snapshotTopology = started.gates.VolumeSnapshotTopology;
    const settings = toSettings(started.values, { nodeName, groupSnapshots, snapshotTopology });
    return {
      lockName: lockNameOf(name),
      driver,
      rights: { cluster: neededRules(clusterRules, { groups: groups !== 'absent' }) },
      assemble: ({ recorderOf, ...ports }) => {
        const events = recorderOf({ component: `csi-snapshotter ${name}` });
        return createSnapshotter({ ...ports, channel, events, auditBoard }, { driver, settings });
      },
    };
  },
};

export function runSnapshotter(deps: ProgramDeps): Promise<number> {
  return runSidecarProgram(deps, snapshotterSidecar);
}

/** Undefined without `--node-deployment`. */
function nodeNameOf(values: SnapshotterValues, env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (!values['node-deployment']) return undefined;
  const name = env['NODE_NAME'] ?? '';
  if (name === '') {
    const message = 'The NODE_NAME environment variable must be set when using --node-deployment';
    throw new ExitError(exitCodes.fatal, message, { reason: 'commandLine' });
  }
  return name;
}

async function askDriver(context: Context): Promise<DriverInfo> {
  const { name, channel, started, signal } = context;
  const controllerCapabilities = await orExit('Failed to get the capabilities of the CSI controller', () =>
    getControllerCapabilities(channel, { timeoutMs: started.values.timeout, signal }),
  );
  if (!controllerCapabilities.has('CREATE_DELETE_SNAPSHOT')) {
    const message = `CSI driver ${name} does not support ControllerCreateSnapshot`;
    throw new ExitError(exitCodes.failure, message, { reason: 'driver' });
  }
  return { name, pluginCapabilities: await pluginCapabilitiesOf(context), controllerCapabilities };
}

/** Nothing but the alpha gate needs them. */
async function pluginCapabilitiesOf({ channel, started, signal }: Context): Promise<DriverInfo['pluginCapabilities']> {
  if (!started.gates.VolumeSnapshotTopology) return new Set();
  return orExit('Failed to get the capabilities of the CSI driver', () =>
    getPluginCapabilities(channel, { timeoutMs: started.values.timeout, signal }),
  );
}

/**
 * Without `usable` the cluster has no group snapshots, or this program may not see them, and a restart is needed to find them. After any
 * other failure the informers go on trying, which disturbs no single snapshot.
 */
async function lookForGroups({ client, started, log, signal }: Context): Promise<'usable' | 'forbidden' | 'absent'> {
  const { timeout: timeoutMs } = started.values;
  try {
    await client.list(volumeGroupSnapshotContents, { limit: 1 }, { timeoutMs, signal });
    await client.list(volumeGroupSnapshotClasses, { limit: 1 }, { timeoutMs, signal });
    return 'usable';
  } catch (error) {
    if (!isNotFound(error) && !isForbidden(error)) {
      log.error(error, 'Failed to look for the volume group snapshot resources');
      return 'usable';
    }
    log.info(0, 'Warning: volume group snapshots are disabled until the next start, the resources cannot be listed', {
      cause: String(error),
    });
    return isForbidden(error) ? 'forbidden' : 'absent';
  }
}

/** A missing capability prevents nothing: the calls fail, and the contents show it. */
async function prepareGroups({ name, channel, started, log, signal }: Context): Promise<void> {
  const { values } = started;
  const refused = refusedGroupFlags(values);
  if (refused !== undefined) throw new ExitError(exitCodes.failure, refused, { reason: 'commandLine' });
  try {
    const groupCapabilities = await getGroupControllerCapabilities(channel, { timeoutMs: values.timeout, signal });
    if (groupCapabilities.has('CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT')) return;
    log.info(0, 'Warning: the CSI driver does not support volume group snapshots', { driver: name });
  } catch (error) {
    log.error(error, 'Failed to get the capabilities of the CSI group controller');
  }
}
