// SPDX-License-Identifier: Apache-2.0
/**
 * The lists and watches of one collection as a script: each request takes the next answer, requests beyond the script wait
 * until they are aborted. Watches are controlled by the test. For answers that a correct server never gives; otherwise use the
 * fake API server.
 */
import type { StreamRequest } from '../src/api/client.ts';
import { ApiError } from '../src/api/errors.ts';
import type { KubeObject } from '../src/api/objects.ts';
import { abortError, type TransportResponse } from '../src/api/transport.ts';
import type { Clock } from '../src/clock/clock.ts';

/** An error is thrown by the request; a body answers it. */
export type CollectionAnswer = Error | ScriptedBody;

export interface CollectionRequest {
  /** `list rv=0 limit=500`, `watch rv=7`, `stream rv=7` (a watch that asks for initial events). */
  readonly summary: string;
  readonly path: string;
  readonly accept: string | undefined;
  readonly signal: AbortSignal;
  /** Monotonic. */
  readonly atMs: number;
}

export class ScriptedCollection {
  readonly #clock: Clock;
  readonly #requests: CollectionRequest[] = [];
  readonly #answers: CollectionAnswer[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get requests(): readonly CollectionRequest[] {
    return this.#requests;
  }

  /** The requests so far. */
  get summaries(): readonly string[] {
    return this.#requests.map(({ summary }) => summary);
  }

  /** Appends to the script. */
  answers(...answers: readonly CollectionAnswer[]): this {
    this.#answers.push(...answers);
    return this;
  }

  /** As `ApiClient.stream`. */
  readonly stream = async ({ path, accept }: StreamRequest, signal: AbortSignal): Promise<TransportResponse> => {
    this.#requests.push({ summary: summaryOf(path), path, accept, signal, atMs: this.#clock.monotonicMs() });
    const answer = this.#answers.shift() ?? new ScriptedBody();
    if (answer instanceof Error) throw answer;
    answer.openedWith(signal);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: answer };
  };
}

/** A body that a test writes while it is read. */
export class ScriptedBody implements AsyncIterable<Uint8Array> {
  readonly #parts: (Uint8Array | Error | 'end')[] = [];
  #wake: (() => void) | undefined;
  #signal: AbortSignal | undefined;
  /** Chunks taken by the reader. */
  taken = 0;
  /** The reader has ended or aborted it, or read it to its end. */
  closed = false;

  openedWith(signal: AbortSignal): void {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake?.(), { once: true });
  }

  /** One chunk. */
  write(chunk: string | Uint8Array): this {
    return this.#push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
  }

  /** Watch events, each in a chunk of its own. */
  event(type: string, object: unknown): this {
    return this.write(`${JSON.stringify({ type, object })}\n`);
  }

  /** A bookmark; `end` marks the end of the initial events. */
  bookmark(resourceVersion: string, mark?: 'end'): this {
    const annotations = mark === 'end' ? { 'k8s.io/initial-events-end': 'true' } : undefined;
    return this.event('BOOKMARK', {
      kind: 'PersistentVolume',
      apiVersion: 'v1',
      metadata: { resourceVersion, annotations },
    });
  }

  /** An ERROR event: the server ends the watch. */
  refuse({ status: code, reason, message }: ApiError): this {
    return this.event('ERROR', { kind: 'Status', code, reason, message });
  }

  end(): this {
    return this.#push('end');
  }

  /** The connection breaks after what was written. */
  fail(error: Error): this {
    return this.#push(error);
  }

  #push(part: Uint8Array | Error | 'end'): this {
    this.#parts.push(part);
    this.#wake?.();
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        if (this.#signal?.aborted === true) throw abortError(this.#signal);
        const part = this.#parts.shift();
        if (part === 'end') return;
        if (part instanceof Error) throw part;
        if (part === undefined) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
          continue;
        }
        this.taken += 1;
        yield part;
      }
    } finally {
      this.closed = true;
    }
  }
}

/** A streaming list of these objects, synced at that version. */
export function syncedStream(resourceVersion: string, ...objects: readonly KubeObject[]): ScriptedBody {
  const body = new ScriptedBody();
  for (const object of objects) body.event('ADDED', object);
  return body.bookmark(resourceVersion, 'end');
}

/** Common refusals of lists and watches. */
export const collectionErrors: Readonly<
  Record<'busy' | 'expired' | 'unsupported' | 'forbidden' | 'missing', ApiError>
> = {
  busy: new ApiError({ status: 429, reason: 'TooManyRequests', message: 'busy' }),
  expired: new ApiError({ status: 410, reason: 'Expired', message: 'too old resource version' }),
  unsupported: new ApiError({ status: 422, reason: 'Invalid', message: 'sendInitialEvents is forbidden' }),
  forbidden: new ApiError({ status: 403, reason: 'Forbidden', message: 'forbidden' }),
  missing: new ApiError({
    status: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
  }),
};

export interface ListPageFacts {
  readonly resourceVersion: string;
  readonly next?: string;
  /** Kind of the items, which do not carry it. Default PersistentVolume. */
  readonly kind?: string;
}

/** A page of a list, as built-in types have it. */
export function listPage(
  items: readonly KubeObject[],
  { resourceVersion, next, kind = 'PersistentVolume' }: ListPageFacts,
): ScriptedBody {
  const bare = items.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => item);
  const metadata = { resourceVersion, continue: next };
  return new ScriptedBody()
    .write(JSON.stringify({ kind: `${kind}List`, apiVersion: 'v1', metadata, items: bare }))
    .end();
}

function summaryOf(path: string): string {
  const query = new URL(path, 'http://server').searchParams;
  const verb = query.has('watch') ? (query.has('sendInitialEvents') ? 'stream' : 'watch') : 'list';
  const facts = [`rv=${query.get('resourceVersion') ?? ''}`];
  for (const name of ['limit', 'continue']) if (query.has(name)) facts.push(`${name}=${query.get(name)}`);
  return `${verb} ${facts.join(' ')}`;
}
