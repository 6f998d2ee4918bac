// SPDX-License-Identifier: Apache-2.0
/**
 * A page of the diagnostics server for a person who looks into a process: who may ask, how often, and how much is answered.
 *
 * Guarantees: no work but for a request that is answered, and of these five in a second at most; an answer has at most 64 KiB. It is made
 * without a pause, so there is never a second one under way. Of many requests at once those that are too many wait for their refusal, so that
 * a client that asks again at once does not keep the process busy.
 */
import { isLoopbackAddress, isLoopbackHost } from '../api/connection/loopback.ts';
import { createRequestLimiter } from '../api/request-limiter.ts';
import type { Clock } from '../clock/clock.ts';
import type { HttpClient, HttpRequest, HttpResponse, HttpRoute } from '../diagnostics/diagnostics-server.ts';

/** `loopback`: only clients of this machine, as a port-forward is. `any`: as open as the metrics. */
export type DebugAccess = 'loopback' | 'any';

/** A document, or the status of a refusal. */
export type DebugAnswer = { readonly document: object } | { readonly status: number };

export interface DebugPage<Question> {
  readonly path: string;
  readonly access: DebugAccess;
  /** Undefined: no such question, 400. */
  readonly parse: (query: URLSearchParams) => Question | undefined;
  readonly answer: (question: Question) => DebugAnswer;
}

const perSecond = 5;
/** How often a request that is one too many is refused. */
const refusals = { qps: 20, burst: 10 };
const mostBytes = 64 * 1_024;
const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };

export function debugRoute<Question>(
  { clock }: { readonly clock: Clock },
  { path, access, parse, answer }: DebugPage<Question>,
): HttpRoute {
  const pace = createPace(clock);
  const refusing = createRequestLimiter(clock, refusals);
  const handler = ({ method, query, client, signal }: HttpRequest): HttpResponse | Promise<HttpResponse> => {
    if (method !== 'GET') return { ...refused(405), headers: { ...headers, allow: 'GET' } };
    if (access === 'loopback' && !isLocal(client)) return refused(403);
    const question = parse(query);
    if (question === undefined) return refused(400);
    if (!pace()) {
      const turn = refusing.acquire({ priority: 'normal', signal });
      return turn === undefined ? refused(429) : turn.then(() => refused(429));
    }
    const answered = answer(question);
    if ('status' in answered) return refused(answered.status);
    const body = Buffer.from(`${JSON.stringify(answered.document)}\n`);
    return body.length <= mostBytes ? { status: 200, headers, body } : refused(500);
  };
  return { path, methods: 'any', handler };
}

function refused(status: number): HttpResponse {
  return { status, headers, body: '' };
}

/** A page that a browser shows may send requests to this machine, and may have a name that resolves to it. */
function isLocal(client: HttpClient | undefined): boolean {
  return client?.origin === undefined && isLoopbackAddress(client?.address) && isLoopbackHost(client?.host);
}

/** Whether one more may be answered now. A request that may not is not counted, so that those after it may. */
function createPace(clock: Pick<Clock, 'monotonicMs'>): () => boolean {
  let since = -Infinity;
  let count = 0;
  return () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - since >= 1_000) {
      since = nowMs;
      count = 0;
    }
    count += 1;
    return count <= perSecond;
  };
}
