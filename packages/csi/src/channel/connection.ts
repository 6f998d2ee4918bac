// SPDX-License-Identifier: Apache-2.0
/**
 * The life of the connection to one driver.
 *
 *   connecting --ready--> ready --dropped--> lost       policy 'end': `lost` aborts, every call is Unavailable
 *                           ^  `--dropped--> dropped    policy 'reconnect'
 *                           `------ready------'         the next call dials; attempts are a second apart
 *
 * A drop is noticed when it happens, not at the next call: a standby must not stay leader beside a dead driver.
 * Not here: what a program does about a loss (it watches `lost`), and time limits of calls that are under way.
 */
import type { Clock, Logger } from '@csi-sidecars/runtime';
import type { CsiAddress } from './address.ts';
import type { Connection, Dial, DialResult } from './dial.ts';
import { type Exchange, canceled, failed } from './exchange.ts';
import { nextReportMs } from '../report-pace.ts';

export type LossPolicy = 'reconnect' | 'end';

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly dial: Dial;
}

export interface ConnectionOptions {
  readonly address: CsiAddress;
  /** How long to wait for the first connection; zero or less waits for ever. */
  readonly connectTimeoutMs: number;
  readonly lossPolicy: LossPolicy;
  readonly signal?: AbortSignal | undefined;
}

export interface DriverConnection {
  readonly exchange: Exchange;
  readonly lost: AbortSignal;
  readonly close: () => void;
}

type State =
  | { readonly kind: 'ready'; readonly connection: Connection }
  | { readonly kind: 'dropped'; readonly dialling?: Promise<DialResult> }
  | { readonly kind: 'lost' }
  | { readonly kind: 'closed' };

/** Not connected, and no longer trying. The text is that of Go's context, followed by the failure of the last attempt. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly kind: 'deadlineExceeded' | 'canceled';
  constructor(kind: ConnectError['kind'], detail: string, options?: ErrorOptions) {
    super(`${contextTexts[kind]}${detail}`, options);
    this.kind = kind;
  }
  /** The text without the failure of the last attempt. */
  get contextText(): string {
    return contextTexts[this.kind];
  }
}

const contextTexts = { deadlineExceeded: 'context deadline exceeded', canceled: 'context canceled' } as const;
const attemptPeriodMs = 1000;

/** Resolves with the first connection; rejects when the time limit has passed, with the failure of the last attempt. */
export async function openConnection(deps: ConnectionDeps, options: ConnectionOptions): Promise<DriverConnection> {
  if (options.lossPolicy === 'end' && !options.address.lossIsVisible) {
    throw new Error('OnConnectionLoss callback only supported for unix:// addresses');
  }
  deps.log.info(5, 'Connecting', { address: options.address.text });
  return keepConnected(deps, options, await connectFirst(deps, options));
}

async function connectFirst({ clock, log, dial }: ConnectionDeps, options: ConnectionOptions): Promise<Connection> {
  const { address, signal } = options;
  const startedMs = clock.monotonicMs();
  const budgetMs = options.connectTimeoutMs > 0 ? options.connectTimeoutMs : Infinity;
  let nextProgressMs = nextReportMs(0);
  for (;;) {
    const attemptMs = clock.monotonicMs();
    const result = await dial(address);
    if (signal?.aborted === true) {
      if (result.kind === 'connected') result.connection.close();
      throw new ConnectError('canceled', '', { cause: signal.reason });
    }
    if (result.kind === 'connected') return result.connection;
    const nextMs = Math.max(attemptMs + attemptPeriodMs, clock.monotonicMs());
    const waitUntilMs = Math.min(nextMs, startedMs + budgetMs);
    try {
      await clock.sleep(waitUntilMs - clock.monotonicMs(), signal);
    } catch (error) {
      throw new ConnectError('canceled', '', { cause: error });
    }
    const elapsedMs = clock.monotonicMs() - startedMs;
    if (elapsedMs >= budgetMs) throw new ConnectError('deadlineExceeded', `: ${explained(result.reason)}`);
    if (elapsedMs >= nextProgressMs) {
      nextProgressMs = nextReportMs(elapsedMs);
      const forSeconds = Math.round(elapsedMs / 1000);
      log.info(0, 'Still connecting', { address: address.text, forSeconds, reason: explained(result.reason) });
    }
  }
}

/** With what a user can look at. Permission depends on who asks, and images run as any user. */
function explained(reason: string): string {
  const uid = process.getuid?.();
  if (/\bENOENT\b/.test(reason))
    return `${reason} (does the driver run, and is the folder of its socket mounted in this container?)`;
  if (/\bECONNREFUSED\b/.test(reason)) return `${reason} (the driver has ended, or does not listen yet: see its log)`;
  return uid !== undefined && /\bEACCES\b/.test(reason) ? `${reason} (uid ${uid} may not write to the socket)` : reason;
}

function keepConnected(
  { clock, log, dial }: ConnectionDeps,
  { address, lossPolicy }: ConnectionOptions,
  first: Connection,
): DriverConnection {
  const lost = new AbortController();
  let state: State = adopt(first);

  function adopt(connection: Connection): State {
    void watch(connection);
    return { kind: 'ready', connection };
  }

  async function watch(connection: Connection): Promise<void> {
    await connection.ended;
    if (state.kind !== 'ready') return;
    connection.close();
    // As upstream, whose dialler detects a loss only behind these forms of an address.
    if (address.lossIsVisible) log.error(undefined, 'Lost connection', { address: address.text });
    state = lossPolicy === 'end' ? { kind: 'lost' } : { kind: 'dropped' };
    if (lossPolicy === 'end') lost.abort(new Error('lost connection to CSI driver'));
  }

  /** One attempt for all waiting calls; after a failure its result is reused for the rest of the second. */
  async function redial(): Promise<DialResult> {
    const attemptMs = clock.monotonicMs();
    const result = await dial(address);
    if (state.kind !== 'dropped') {
      if (result.kind === 'connected') result.connection.close();
    } else if (result.kind === 'connected') {
      state = adopt(result.connection);
    } else {
      clock.timer(Math.max(attemptMs + attemptPeriodMs - clock.monotonicMs(), 0), () => {
        if (state.kind === 'dropped') state = { kind: 'dropped' };
      });
    }
    return result;
  }

  const exchange: Exchange = async (method, request, options) => {
    let { timeoutMs } = options;
    if (state.kind === 'dropped') {
      const startedMs = clock.monotonicMs();
      const dialling = state.dialling ?? redial();
      state = { kind: 'dropped', dialling };
      const result = await dialling;
      if (result.kind === 'failed') return failed({ code: 'Unavailable', method, detail: result.reason });
      timeoutMs -= clock.monotonicMs() - startedMs;
    }
    switch (state.kind) {
      case 'ready':
        return state.connection.exchange(method, request, { ...options, timeoutMs });
      case 'dropped':
        return failed({ code: 'Unavailable', method, detail: 'connection lost' });
      case 'lost':
        return failed({ code: 'Unavailable', method, detail: 'connection lost, reconnecting disabled' });
      case 'closed':
        return canceled(method);
    }
  };

  return {
    exchange,
    lost: lost.signal,
    close: () => {
      const before = state;
      state = { kind: 'closed' };
      if (before.kind === 'ready') before.connection.close();
    },
  };
}
