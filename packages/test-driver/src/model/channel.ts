// SPDX-License-Identifier: Apache-2.0
/**
 * The client's end of the model. Messages pass through the real encoding, so a test sees exactly what a real connection would
 * deliver. A deadline or an aborted signal ends the caller's wait, not the operation.
 */
import { CsiError } from '@csi-sidecars/csi';
import { codecOf } from '@csi-sidecars/csi/testing';
import type { CsiCallOptions, CsiChannel, Method, RequestOf, ResponseOf } from '@csi-sidecars/csi';
import type { Clock } from '@csi-sidecars/runtime';
import type { IncomingCall, Outcome } from '../journal/journal.ts';

export interface ChannelOptions {
  /** The name of the caller in the record of calls. */
  readonly peer?: string;
  /** The node whose endpoint this is; only the node service uses it. */
  readonly nodeId?: string;
  /** `end`, the default: a crash or a dropped connection is final for this channel. */
  readonly lossPolicy?: 'end' | 'reconnect';
}

/** The driver's end. */
export interface ModelServer {
  readonly clock: Clock;
  serve(call: IncomingCall): Promise<Outcome>;
  /** A signal that aborts when the driver dies; undefined while it is down. */
  connect(): AbortSignal | undefined;
}

export function modelChannel(server: ModelServer, options: ChannelOptions = {}): CsiChannel {
  const { peer = 'model', nodeId = 'node-1', lossPolicy = 'end' } = options;
  const lost = new AbortController();
  let link: AbortController | undefined;
  join();

  function join(): void {
    const driver = server.connect();
    if (driver === undefined) return;
    const joined = new AbortController();
    link = joined;
    driver.addEventListener('abort', () => breakLink(joined), { once: true, signal: joined.signal });
  }

  function breakLink(broken: AbortController): void {
    if (link === broken) link = undefined;
    broken.abort();
    if (lossPolicy === 'end') lost.abort(new Error('lost connection to CSI driver'));
  }

  async function call<M extends Method>(
    method: M,
    request: RequestOf<M>,
    limits: CsiCallOptions,
  ): Promise<ResponseOf<M>> {
    if (link === undefined && lossPolicy === 'reconnect') join();
    const current = link;
    const unavailable = (): CsiError => new CsiError({ code: 'Unavailable', method, detail: 'connection lost' });
    if (current === undefined) throw unavailable();
    const codec = codecOf(method);
    const decoded = codec.requestDeserialize(codec.requestSerialize(request));
    const incoming = { method, request: decoded, peer, nodeId, isGone: () => current.signal.aborted };
    const outcome = await waitFor(server.serve(incoming), [
      afterDeadline(server.clock, method, limits),
      onAbort(limits.signal, () => new CsiError({ code: 'Canceled', method, detail: 'context canceled' })),
      onAbort(current.signal, unavailable),
    ]);
    switch (outcome.kind) {
      case 'answered':
        return codec.responseDeserialize(codec.responseSerialize(outcome.response)) as ResponseOf<M>;
      case 'refused':
        throw new CsiError({ code: outcome.code, method, detail: outcome.message });
      case 'interrupted':
        breakLink(current);
        throw unavailable();
    }
  }

  return {
    call,
    lost: lost.signal,
    close: () => {
      link?.abort();
      link = undefined;
    },
  };
}

/** Calls `end` when the wait ends for another reason than the answer; the returned function stops watching. */
type Watch = (end: (error: Error) => void) => () => void;

async function waitFor<T>(work: Promise<T>, watches: readonly Watch[]): Promise<T> {
  const releases: (() => void)[] = [];
  try {
    return await new Promise<T>((resolve, reject) => {
      work.then(resolve, reject);
      for (const watch of watches) releases.push(watch(reject));
    });
  } finally {
    for (const release of releases) release();
  }
}

function afterDeadline(clock: Clock, method: Method, { timeoutMs }: CsiCallOptions): Watch {
  return (end) => {
    const detail = 'context deadline exceeded';
    const timer = clock.timer(timeoutMs, () => end(new CsiError({ code: 'DeadlineExceeded', method, detail })));
    return () => timer.cancel();
  };
}

function onAbort(signal: AbortSignal | undefined, error: () => Error): Watch {
  return (end) => {
    const abort = (): void => end(error());
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
    return () => signal?.removeEventListener('abort', abort);
  };
}
