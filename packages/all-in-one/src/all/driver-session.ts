// SPDX-License-Identifier: Apache-2.0
/**
 * The driver of the process from one connection to its loss. All controllers share the channel. What they all ask at their start (name,
 * capabilities) is asked once in a session, by whichever controller asks first; a failure is not remembered.
 */
import {
  ConnectError,
  type CsiCallOptions,
  type CsiChannel,
  type CsiConnection,
  CsiError,
  type Method,
  type RequestOf,
  type ResponseOf,
} from '@csi-sidecars/csi';
import { type Clock, type Logger, type Metrics, linkSignals } from '@csi-sidecars/runtime';
import { connectDriver, type DriverDeps, type DriverOptions, ExitError } from '@csi-sidecars/sidecar';

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
  readonly host: DriverDeps['host'];
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
      return session(clock, { name, connection: channel, linked, answerMs: options.nameTimeoutMs });
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

interface Opened {
  readonly name: string;
  readonly connection: CsiConnection;
  readonly linked: ReturnType<typeof linkSignals>;
  /** The longest that any controller would wait for an answer. */
  readonly answerMs: number;
}

function session(clock: Clock, { name, connection, linked, answerMs }: Opened): DriverSession {
  const answers = new Map<Method, Promise<unknown>>();
  /** Neither with the time limit nor with the signal of the controller that asks first: others wait for the same answer. */
  const ask = <M extends Method>(channel: CsiChannel, method: M, request: RequestOf<M>): Promise<ResponseOf<M>> => {
    let answer = answers.get(method) as Promise<ResponseOf<M>> | undefined;
    if (answer === undefined) {
      answer = channel.call(method, request, { timeoutMs: answerMs, signal: linked.signal });
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
        call: async (method, request, options) => {
          if (!questions.has(method)) return await own.call(method, request, options);
          return await within(clock, ask(own, method, request), { method, ...options });
        },
      };
    },
    close: () => {
      linked.release();
      connection.close();
    },
  };
}

/** Waits no longer than the caller's own limit. */
async function within<T>(
  clock: Clock,
  answer: Promise<T>,
  { method, timeoutMs }: CsiCallOptions & { readonly method: Method },
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const detail = 'context deadline exceeded';
  using _ = clock.timer(timeoutMs, () => late.reject(new CsiError({ code: 'DeadlineExceeded', method, detail })));
  return await Promise.race([answer, late.promise]);
}

/** Calls without content whose answers do not change while a driver runs. */
const questions: ReadonlySet<Method> = new Set<Method>([
  '/csi.v1.Identity/GetPluginInfo',
  '/csi.v1.Identity/GetPluginCapabilities',
  '/csi.v1.Controller/ControllerGetCapabilities',
  '/csi.v1.GroupController/GroupControllerGetCapabilities',
  '/csi.v1.Node/NodeGetCapabilities',
]);
