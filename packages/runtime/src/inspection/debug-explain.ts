// SPDX-License-Identifier: Apache-2.0
/**
 * `/debug/explain` of the diagnostics server: what the process knows about one object, or a summary of its queues.
 *
 * Guarantees: those of debug-route.ts; no request makes it keep anything; an answer has neither secrets nor keys of other objects.
 */
import type { Clock } from '../clock/clock.ts';
import type { HttpRoute } from '../diagnostics/diagnostics-server.ts';
import type { LoopAnswer, QueueSummary } from './answers.ts';
import { type DebugAccess, debugRoute } from './debug-route.ts';
import type { Subject } from './inspected-loop.ts';
import type { ControllerFacts, Inspection } from './inspection.ts';
import { shownText } from './shown-text.ts';
import { parseSubject } from './subject.ts';

export interface DebugExplainOptions {
  readonly access: DebugAccess;
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

export function debugExplainRoute(ports: { readonly clock: Clock }, options: DebugExplainOptions): HttpRoute {
  const { access, inspections } = options;
  return debugRoute(ports, {
    path: '/debug/explain',
    access,
    parse: (query) => {
      const asked = parseSubject(query);
      return asked.kind === 'mistake' ? undefined : asked;
    },
    answer: ({ subject }) => {
      const isStarting = inspections.length > 0 && inspections.every((each) => isListing(each));
      return isStarting ? { status: 503 } : { document: explanationOf(ports.clock, options, subject) };
    },
  });
}

function isListing(inspection: Inspection): boolean {
  const { leadingSinceMs, isSynced } = inspection.state();
  return leadingSinceMs !== undefined && !isSynced;
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

/** A value of a flag comes from the author of the command line: it may be long, and hold a credential. */
function shownFacts({ settings, ...facts }: ControllerFacts): ControllerFacts {
  if (settings === null) return { ...facts, settings };
  const shown = Object.entries(settings).map(([name, value]) => [name, shownText(value).slice(0, mostCharacters)]);
  return { ...facts, settings: Object.fromEntries(shown) as Readonly<Record<string, string>> };
}
