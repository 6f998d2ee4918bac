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
      { clock, log, metrics: early.metrics },
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
  const callMetrics = early.settle(
    options.isMigrated?.(name) === true
      ? { kind: 'forget', metrics: createCallMetrics(deps.metrics, { labelNames: ['migrated'] }) }
      : { kind: 'keep', metrics: createCallMetrics(deps.metrics) },
  );
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

interface EarlyCalls {
  readonly metrics: CallMetrics;
  readonly settle: (
    target:
      | { readonly kind: 'keep'; readonly metrics: CallMetrics }
      // Upstream's first set of metrics is replaced, with all that it holds.
      | { readonly kind: 'forget'; readonly metrics: CallMetrics },
  ) => CallMetrics;
}

/** Calls made before it is known which labels they have. */
function earlyCalls(): EarlyCalls {
  const calls: ObservedCall[] = [];
  let target: CallMetrics | undefined;
  const metrics: CallMetrics = {
    setDriverName: (name) => target?.setDriverName(name),
    withLabelValues: (values) => target?.withLabelValues(values) ?? metrics,
    record: (call) => {
      if (target) target.record(call);
      else calls.push(call);
    },
  };
  return {
    metrics,
    settle: (chosen) => {
      target = chosen.metrics;
      if (chosen.kind === 'keep') for (const call of calls) target.record(call);
      return target;
    },
  };
}
