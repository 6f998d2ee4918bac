// SPDX-License-Identifier: Apache-2.0
/**
 * `/debug/explain` of the diagnostics server: what the process knows about one object, or a summary of its queues.
 *
 * Guarantees: no work but for a request that is answered, and of these five in a second at most; no request makes it keep anything; an answer
 * has at most 64 KiB, and neither secrets nor keys of other objects. It is made without a pause, so there is never a second one under way.
 */
import type { Clock } from '../clock/clock.ts';
import type { HttpClient, HttpRequest, HttpResponse, HttpRoute } from '../diagnostics/diagnostics-server.ts';
import type { LoopAnswer, QueueSummary } from './answers.ts';
import { isLoopbackAddress, isLoopbackHost } from '../api/connection/loopback.ts';
import type { Subject } from './inspected-loop.ts';
import type { ControllerFacts, Inspection } from './inspection.ts';
import { shownText } from './shown-text.ts';
import { parseSubject } from './subject.ts';

export interface DebugExplainOptions {
  /** `loopback`: only clients of this machine, as a port-forward is. `any`: as open as the metrics. */
  readonly access: 'loopback' | 'any';
  /** `v1.2.3`. */
  readonly version: string;
  readonly hostName: string;
  /** Those of the process. */
  readonly inspections: readonly Inspection[];
}

export interface DebugExplanation {
  readonly apiVersion: 'csi-sidecars/v1';
  readonly kind: 'DebugExplanation';
  readonly version: string;
  readonly pod: string;
  readonly now: string;
  /** Null: a summary. */
  readonly known: boolean | null;
  readonly controllers: readonly ControllerAnswer[];
}

export interface ControllerAnswer extends ControllerFacts {
  readonly program: string;
  readonly leading: boolean;
  readonly leadingSince: string | null;
  /** The identity in the Lease. Null: none is known, as without an election. */
  readonly holder: string | null;
  readonly caches: readonly { readonly kind: string; readonly synced: boolean }[];
  /** Of a summary: empty. */
  readonly loops: readonly LoopAnswer[];
  /** Of the answer about an object: empty. */
  readonly queues: readonly QueueSummary[];
}

const perSecond = 5;
const mostBytes = 64 * 1_024;
const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };

export function debugExplainRoute(
  { clock }: { readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'> },
  options: DebugExplainOptions,
): HttpRoute {
  const pace = createPace(clock);
  const handler = ({ method, query, client }: HttpRequest): HttpResponse => {
    if (method !== 'GET') return { ...refused(405), headers: { ...headers, allow: 'GET' } };
    if (options.access === 'loopback' && !isLocal(client)) return refused(403);
    const subject = parseSubject(query);
    if (subject.kind === 'mistake') return refused(400);
    if (!pace()) return refused(429);
    const { inspections } = options;
    const isStarting = inspections.length > 0 && inspections.every((each) => isListing(each));
    if (isStarting) return refused(503);
    return answered(explanationOf(clock, options, subject.subject));
  };
  return { path: '/debug/explain', methods: 'any', handler };
}

function refused(status: number): HttpResponse {
  return { status, headers, body: '' };
}

function answered(explanation: DebugExplanation): HttpResponse {
  const body = Buffer.from(`${JSON.stringify(explanation)}\n`);
  return body.length <= mostBytes ? { status: 200, headers, body } : refused(500);
}

/** A page that a browser shows may send requests to this machine, and may have a name that resolves to it. */
function isLocal(client: HttpClient | undefined): boolean {
  return client?.origin === undefined && isLoopbackAddress(client?.address) && isLoopbackHost(client?.host);
}

function isListing(inspection: Inspection): boolean {
  const { leadingSinceMs, isSynced } = inspection.state();
  return leadingSinceMs !== undefined && !isSynced;
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

function explanationOf(
  clock: Pick<Clock, 'nowMs'>,
  { version, hostName, inspections }: DebugExplainOptions,
  subject: Subject | undefined,
): DebugExplanation {
  const controllers = inspections.map((inspection) => controllerOf(inspection, subject));
  const isKnown = controllers.some(({ loops }) => loops.some(({ known }) => known));
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'DebugExplanation',
    version,
    pod: hostName,
    now: new Date(clock.nowMs()).toISOString(),
    known: subject === undefined ? null : isKnown,
    controllers,
  };
}

function controllerOf(inspection: Inspection, subject: Subject | undefined): ControllerAnswer {
  const { leadingSinceMs, holder, caches } = inspection.state();
  return {
    program: inspection.program,
    leading: leadingSinceMs !== undefined,
    leadingSince: leadingSinceMs === undefined ? null : new Date(leadingSinceMs).toISOString(),
    holder: holder || null,
    caches,
    ...shownFacts(inspection.facts()),
    loops: subject === undefined ? [] : inspection.answers(subject),
    queues: subject === undefined ? inspection.summaries() : [],
  };
}

const mostCharacters = 256;

/** A value of a flag is a text of whoever wrote the command line: it may be long, and hold a credential. */
function shownFacts({ settings, ...facts }: ControllerFacts): ControllerFacts {
  if (settings === null) return { ...facts, settings };
  const shown = Object.entries(settings).map(([name, value]) => [name, shownText(value).slice(0, mostCharacters)]);
  return { ...facts, settings: Object.fromEntries(shown) as Readonly<Record<string, string>> };
}
