// SPDX-License-Identifier: Apache-2.0
/**
 * Connects to the driver of this process, waits until it is ready, asks for its name, and measures its calls. The loss of the
 * driver ends what works with it, so that a replica beside a running driver takes over.
 *
 * Upstream opens a second connection once it knows that the driver replaces an in-tree plugin, because its metrics need another
 * label then. Here the measurements of calls are kept until the name is known, so one connection is enough.
 */
import { connectCsi, createCallMetrics, getDriverName, probeForever } from '@csi-sidecars/csi';
import type { CallMetrics, ConnectCsiOptions, CsiConnection, ObservedCall } from '@csi-sidecars/csi';
import type { Clock, Logger, Metrics } from '@csi-sidecars/runtime';
import { exitCodes, orExit } from './exit.ts';
import type { ProgramHost } from './host.ts';

export interface DriverOptions extends Pick<
  ConnectCsiOptions,
  'address' | 'connectTimeoutMs' | 'maxLoggedResponseBytes'
> {
  readonly probeTimeoutMs: number;
  readonly nameTimeoutMs: number;
  /** csi-snapshotter asks for the name first. */
  readonly order?: 'probeFirst' | 'nameFirst';
  /** The exit code if the driver does not return its name; default 1. */
  readonly nameExitCode?: number;
  /** Drivers that replace an in-tree plugin: their calls are distinguished by the metric label `migrated`. */
  readonly isMigrated?: (driverName: string) => boolean;
}

export interface DriverDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly host: Pick<ProgramHost, 'connectCsi'>;
  /** Called once, when the connection is lost. */
  readonly onLost: () => void;
  readonly signal: AbortSignal;
}

export interface Driver {
  readonly name: string;
  readonly channel: CsiConnection;
  /** If the name was requested first, the driver has to be ready before further calls. */
  readonly whenReady: () => Promise<void>;
}

const lostText = 'Lost connection to CSI driver, exiting';

/** Rejects with an ExitError. */
export async function connectDriver(deps: DriverDeps, options: DriverOptions): Promise<Driver> {
  const { clock, log, host, signal } = deps;
  const connect = host.connectCsi ?? connectCsi;
  const early = earlyCalls();
  const channel = await orExit('Failed to connect to CSI driver', () =>
    connect({ clock, log, metrics: early }, { ...options, lossPolicy: 'end', signal }),
  );
  channel.lost.addEventListener('abort', deps.onLost);
  try {
    return await getToKnow(deps, { channel, early }, options);
  } catch (error) {
    channel.close();
    throw error;
  }
}

async function getToKnow(
  { clock, log, metrics, signal }: DriverDeps,
  { channel, early }: { readonly channel: CsiConnection; readonly early: EarlyCalls },
  options: DriverOptions,
): Promise<Driver> {
  const { order = 'probeFirst', probeTimeoutMs, nameTimeoutMs } = options;
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
  const callMetrics = createCallMetrics(metrics, { labelNames: isMigrated ? ['migrated'] : [] });
  // For a migrated driver upstream replaces its first set of metrics, with all that it holds.
  early.settle(callMetrics, { areKept: !isMigrated });
  callMetrics.setDriverName(name);
  const whenReady = (): Promise<void> => (order === 'nameFirst' ? beReady() : Promise.resolve());
  return { name, channel, whenReady };
}

export interface LossDeps {
  readonly log: Logger;
  readonly host: Pick<ProgramHost, 'writeTerminationLog'>;
  /** Ends the run. */
  readonly cutShort: (code: number) => void;
}

/** The end of a program that is nothing without its driver. */
export function endWithDriver({ log, host, cutShort }: LossDeps): void {
  try {
    host.writeTerminationLog(lostText);
  } catch (error) {
    log.error(error, 'Failed to write a message to the termination logfile');
  }
  log.error(undefined, lostText);
  cutShort(exitCodes.failure);
}

interface EarlyCalls extends Pick<CallMetrics, 'record'> {
  /** From this call on, measurements go to the target. Earlier ones are passed on or dropped. */
  readonly settle: (target: CallMetrics, earlier: { readonly areKept: boolean }) => void;
}

/** The calls that were made before their labels are known. */
function earlyCalls(): EarlyCalls {
  const calls: ObservedCall[] = [];
  let target: CallMetrics | undefined;
  return {
    record: (call) => {
      if (target) target.record(call);
      else calls.push(call);
    },
    settle: (metrics, { areKept }) => {
      target = metrics;
      if (areKept) for (const call of calls) metrics.record(call);
    },
  };
}
