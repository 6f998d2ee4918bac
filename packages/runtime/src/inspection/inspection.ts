// SPDX-License-Identifier: Apache-2.0
/**
 * What only this process knows about a key: the run under way, the last decision, the backoff, the place in the queue. Recorded for
 * `/debug/explain` (debug-explain.ts). Without an inspection a loop tests one `undefined`, and records and allocates nothing.
 *
 * Not here: who may ask, and how often.
 */
import type { Clock } from '../clock/clock.ts';
import type { Conclusion } from '../controller/reconcile.ts';
import type { CallParent } from '../tracing/tracer.ts';
import { answerOf, type LoopAnswer, type QueueSummary, summaryOf } from './answers.ts';
import type { Inspected, InspectedLoop, InspectedObject, Subject } from './inspected-loop.ts';
import { LastDecisions } from './last-decisions.ts';
import { RunRecord } from './run-record.ts';

/** What a loop reports. */
export interface LoopRecord<Key extends string> {
  /** `trace`: the span of the run, if it has one. */
  readonly began: (run: InspectedObject<Key>, trace: CallParent | undefined) => OpenRecord;
  /** The object of the key is gone: what is known of it is not about the next one of its name. */
  readonly forget: (key: Key) => void;
}

/** Of one run. Calls below it go through it, so that it knows which one is open. */
export interface OpenRecord extends CallParent {
  /** The run takes this step next. */
  decided(row: string, action: string): void;
  /** A conclusion, or what the run threw. */
  ended(end: { readonly conclusion: Conclusion } | { readonly error: unknown }): void;
}

/** What a process knows of a controller beside its loops. Null: it does not know, or does not apply. */
export interface ControllerFacts {
  readonly driver: {
    readonly name: string;
    readonly connected: boolean;
    /** As the driver names them: `CREATE_DELETE_VOLUME`. */
    readonly capabilities: readonly string[];
  } | null;
  /** Flags whose values are not the defaults, as texts. Without flags that lead to credentials: every reader of the endpoint sees them. */
  readonly settings: Readonly<Record<string, string>> | null;
  /** Those that its account lacks. */
  readonly rights:
    | readonly {
        readonly verb: string;
        readonly group: string;
        readonly resource: string;
        readonly namespace: string | null;
      }[]
    | null;
}

export interface Inspection {
  /** The name of the program. */
  readonly program: string;
  /** Called when loops are assembled. */
  loop<Key extends string>(loop: InspectedLoop<Key>): LoopRecord<Key>;
  /** A term as the leader begins; disposing of it ends the term. Loops of an earlier term are forgotten. */
  leads(): Disposable;
  /** Called when an election begins. */
  elects(elector: { readonly holder: string }): void;
  /** The facts are asked for in each answer. Called for each run of the controller; before, nothing is known. */
  describe(facts: () => ControllerFacts): void;
  facts(): ControllerFacts;
  state(): InspectionState;
  /** Each loop that works on objects of this kind; empty while the process does not lead. */
  answers(subject: Subject): readonly LoopAnswer[];
  summaries(): readonly QueueSummary[];
}

export interface InspectionState {
  /** Milliseconds since the epoch; undefined: another replica leads, or nobody. */
  readonly leadingSinceMs: number | undefined;
  /** Empty: nobody, or not known. */
  readonly holder: string;
  readonly caches: readonly { readonly kind: string; readonly synced: boolean }[];
  /** Every loop has the caches that it waits for. */
  readonly isSynced: boolean;
}

const noFacts: ControllerFacts = { driver: null, settings: null, rights: null };

/** Decisions of keys beyond these are forgotten, the oldest first. */
const keptDecisions = 2_000;

export function createInspection(
  { clock }: { readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'> },
  program: string,
): Inspection {
  const last = new LastDecisions(keptDecisions);
  let loops: Inspected[] = [];
  let leadingSinceMs: number | undefined;
  let facts = (): ControllerFacts => noFacts;
  let elector: { readonly holder: string } | undefined;
  const working = (): readonly Inspected[] => (leadingSinceMs === undefined ? [] : loops);

  return {
    program,
    loop<Key extends string>(loop: InspectedLoop<Key>): LoopRecord<Key> {
      const running = new Map<string, RunRecord>();
      loops.push({ loop: loop as unknown as InspectedLoop<string>, running, last });
      return {
        began: ({ key, uid }, trace) => {
          const record = new RunRecord({ clock, trace, uid }, (decision) => {
            if (running.get(key) === record) running.delete(key);
            if (decision !== undefined) last.put(loop.name, key, decision);
          });
          running.set(key, record);
          return record;
        },
        forget: (key) => last.delete(loop.name, key),
      };
    },
    leads: () => {
      leadingSinceMs = clock.nowMs();
      loops = [];
      return { [Symbol.dispose]: () => (leadingSinceMs = undefined) };
    },
    elects: (made) => {
      elector = made;
    },
    describe: (described) => {
      facts = described;
    },
    facts: () => facts(),
    state: () => {
      const caches = working().flatMap(({ loop }) => loop.caches);
      const synced = new Map<string, boolean>();
      for (const { plural, isSynced } of caches) synced.set(plural, (synced.get(plural) ?? true) && isSynced());
      return {
        leadingSinceMs,
        holder: elector?.holder ?? '',
        caches: [...synced].map(([kind, isSynced]) => ({ kind, synced: isSynced })),
        isSynced: caches.every(({ isOptional, isSynced }) => isOptional || isSynced()),
      };
    },
    answers: (subject) =>
      working()
        .filter(({ loop }) => loop.plural === subject.plural)
        .map((inspected) => answerOf(clock, inspected, subject)),
    summaries: () => working().map((inspected) => summaryOf(clock, inspected)),
  };
}
