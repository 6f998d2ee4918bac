// SPDX-License-Identifier: Apache-2.0
/**
 * The driver of the process from one connection to its loss. All controllers share the channel. What they all ask at their start (name,
 * capabilities) is asked once in a session, by whichever controller asks first; a failure is not remembered.
 */
import { ConnectError, type CsiChannel, type CsiConnection, type Method } from '@csi-sidecars/csi';
import { type Clock, type Logger, type Metrics, linkSignals } from '@csi-sidecars/runtime';
import { connectDriver, type DriverOptions, ExitError } from '@csi-sidecars/sidecar';

export interface DriverSession {
  readonly name: string;
  /** Aborts when the session is over: with the reason of the stop, or because the driver is lost. */
  readonly signal: AbortSignal;
  readonly isLost: () => boolean;
  readonly channelFor: (log: Logger, limits: Pick<DriverOptions, 'maxLoggedResponseBytes'>) => CsiChannel;
  readonly close: () => void;
}

export interface SessionDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

const firstPauseMs = 1_000;
const longestPauseMs = 10_000;

/** Tries until it succeeds; undefined when the signal aborts first. Rejects for an address that can never work. */
export async function openSession(
  deps: SessionDeps,
  options: DriverOptions,
  signal: AbortSignal,
): Promise<DriverSession | undefined> {
  const { clock, log } = deps;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const linked = linkSignals([signal]);
    const lost = (): void => linked.abort(new Error('lost connection to CSI driver'));
    try {
      const { name, channel } = await connectDriver(
        { ...deps, onLost: lost, signal: linked.signal },
        { ...options, connectTimeoutMs: 0 },
      );
      return session(name, channel, linked);
    } catch (error) {
      linked.release();
      if (signal.aborted) return undefined;
      if (isHopeless(error)) throw error;
      const { message, cause } = error as ExitError;
      log.error(cause, message, { nextAttemptInSeconds: pauseMs / 1000 });
    }
    try {
      await clock.sleep(pauseMs, signal);
    } catch {
      return undefined;
    }
  }
}

/** An address that no driver can ever be reached under, or a defect. */
function isHopeless(error: unknown): boolean {
  if (!(error instanceof ExitError)) return true;
  return error.message === 'Failed to connect to CSI driver' && !(error.cause instanceof ConnectError);
}

function session(name: string, connection: CsiConnection, linked: ReturnType<typeof linkSignals>): DriverSession {
  const answers = new Map<Method, Promise<unknown>>();
  const ask = (method: Method, call: () => Promise<unknown>): Promise<unknown> => {
    let answer = answers.get(method);
    if (answer === undefined) {
      answer = call();
      answers.set(method, answer);
      answer.catch(() => answers.delete(method));
    }
    return answer;
  };
  return {
    name,
    signal: linked.signal,
    isLost: () => connection.lost.aborted,
    channelFor: (log, limits) => {
      const own = connection.loggedBy(log, limits);
      return {
        ...own,
        // The process closes the connection, no controller does.
        close: () => undefined,
        call: ((method, request, options) =>
          questions.has(method)
            ? // Not with the caller's signal: others wait for the same answer.
              ask(method, () => own.call(method, request, { ...options, signal: linked.signal }))
            : own.call(method, request, options)) as CsiChannel['call'],
      };
    },
    close: () => {
      linked.release();
      connection.close();
    },
  };
}

/** Calls without content whose answers do not change while a driver runs. */
const questions: ReadonlySet<Method> = new Set<Method>([
  '/csi.v1.Identity/GetPluginInfo',
  '/csi.v1.Identity/GetPluginCapabilities',
  '/csi.v1.Controller/ControllerGetCapabilities',
  '/csi.v1.GroupController/GroupControllerGetCapabilities',
  '/csi.v1.Node/NodeGetCapabilities',
]);
