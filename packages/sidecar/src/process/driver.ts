// SPDX-License-Identifier: Apache-2.0
/**
 * The driver of this process: connected, ready, known by name, measured. Its loss ends the process, so that a replica
 * beside a living driver takes over.
 *
 * Upstream opens a second connection once it knows that the driver replaces an in-tree plugin, because its metrics need
 * another label then. Here calls are kept until the name is known, and one connection does.
 */
import { connectCsi, createCallMetrics, getDriverName, probeForever } from '@csi-sidecars/csi';
import type { CallMetrics, CsiChannel, ObservedCall } from '@csi-sidecars/csi';
import type { Clock, Logger, Metrics } from '@csi-sidecars/runtime';
import { exitCodes, orExit } from './exit.ts';
import type { World } from './world.ts';

export interface DriverOptions {
  readonly address: string;
  readonly probeTimeoutMs: number;
  readonly nameTimeoutMs: number;
  /** csi-snapshotter asks for the name first. */
  readonly order?: 'probeFirst' | 'nameFirst';
  /** Exit code when the name cannot be had; default 1. */
  readonly nameExitCode?: number;
  /** Drivers that replace an in-tree plugin: their calls are told apart by the metric label `migrated`. */
  readonly isMigrated?: (driverName: string) => boolean;
  readonly maxLoggedResponseBytes?: number;
}

export interface DriverDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly world: Pick<World, 'writeTerminationLog'>;
  /** Ends the run. */
  readonly cutShort: (code: number) => void;
  readonly signal: AbortSignal;
}

export interface Driver {
  readonly name: string;
  readonly channel: CsiChannel;
  readonly callMetrics: CallMetrics;
  /** Where the name was asked for first: the driver has to be ready before it is asked for more. */
  readonly whenReady: () => Promise<void>;
}

const lostText = 'Lost connection to CSI driver, exiting';

/** Rejects with an ExitError. */
export async function connectDriver(deps: DriverDeps, options: DriverOptions): Promise<Driver> {
  const { clock, log, signal } = deps;
  const { order = 'probeFirst', probeTimeoutMs, nameTimeoutMs } = options;
  const early = earlyCalls();
  const channel = await orExit('Failed to connect to CSI driver', () =>
    connectCsi(
      { clock, log, metrics: early },
      {
        address: options.address,
        lossPolicy: 'end',
        signal,
        maxLoggedResponseBytes: options.maxLoggedResponseBytes ?? 0,
      },
    ),
  );
  channel.lost.addEventListener('abort', () => announceLoss(deps), { once: true });
  const beReady = (): Promise<void> =>
    orExit('Failed to probe the CSI driver', () =>
      probeForever({ channel, clock, log }, { timeoutMs: probeTimeoutMs, signal }),
    );
  if (order === 'probeFirst') await beReady();
  const name = await orExit(
    'Failed to get the CSI driver name',
    () => getDriverName(channel, { timeoutMs: nameTimeoutMs, signal }),
    options.nameExitCode,
  );
  log.info(2, 'CSI driver name', { driver: name });
  const isMigrated = options.isMigrated?.(name) === true;
  const callMetrics = createCallMetrics(deps.metrics, { labelNames: isMigrated ? ['migrated'] : [] });
  // For a migrated driver upstream replaces its first set of metrics, with all that it holds.
  early.settle(callMetrics, isMigrated ? 'dropped' : 'kept');
  callMetrics.setDriverName(name);
  const whenReady = (): Promise<void> => (order === 'nameFirst' ? beReady() : Promise.resolve());
  return { name, channel, callMetrics, whenReady };
}

function announceLoss({ log, world, cutShort }: DriverDeps): void {
  try {
    world.writeTerminationLog(lostText);
  } catch (error) {
    log.error(error, 'Failed to write a message to the termination logfile');
  }
  log.error(undefined, lostText);
  cutShort(exitCodes.failure);
}

interface EarlyCalls extends Pick<CallMetrics, 'record'> {
  /** From now on calls go to the target; those until now are passed on, or dropped. */
  readonly settle: (target: CallMetrics, earlier: 'kept' | 'dropped') => void;
}

/** Calls made before it is known which labels they have. */
function earlyCalls(): EarlyCalls {
  const calls: ObservedCall[] = [];
  let target: CallMetrics | undefined;
  return {
    record: (call) => {
      if (target) target.record(call);
      else calls.push(call);
    },
    settle: (metrics, earlier) => {
      target = metrics;
      if (earlier === 'kept') for (const call of calls) metrics.record(call);
    },
  };
}
