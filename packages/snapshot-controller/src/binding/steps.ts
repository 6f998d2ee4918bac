// SPDX-License-Identifier: Apache-2.0
/** What the steps do that both kinds have. No decisions: those are in `flow.ts`. */
import { definedOnly, type EventRecorder, keyOf, type RecordedEvent, type Run, toError } from '@csi-sidecars/runtime';
import { isBoundTo } from '@csi-sidecars/volume';
import { createOrGet } from '../create-or-get.ts';
import type { OperationName, Operations } from '../operations.ts';
import type { ContentFacts, Problem } from '../status.ts';
import * as writes from '../writes.ts';
import type { Types, Kind } from './kind.ts';
import { reportStatus } from './report-status.ts';

/** What the steps need of the run of a loop. */
export type StepRun<T extends Types> = Pick<Run<never>, 'client' | 'clock' | 'random' | 'signal'> & {
  readonly caches: T['caches'];
  readonly context: {
    readonly kind: Kind<T>;
    readonly events: EventRecorder;
    readonly operations: Operations;
  };
};

/** How snapshots are written. */
export function snapshotsOf<T extends Types>(run: StepRun<T>): writes.Writing<T['snapshot']> {
  const { client, clock, random, signal, context } = run;
  const { kind } = context;
  return { client, clock, random, signal, resource: kind.snapshots, cache: kind.cachesOf(run.caches).snapshots };
}

/** How contents are written. */
function contentsOf<T extends Types>(run: StepRun<T>): writes.Writing<T['content']> {
  const { client, clock, random, signal, context } = run;
  const { kind } = context;
  return { client, clock, random, signal, resource: kind.contents, cache: kind.cachesOf(run.caches).contents };
}

/** Memory only: the metrics count from here. */
export function begin<T extends Types>(
  { context: { kind, operations } }: StepRun<T>,
  snapshot: T['snapshot'],
  { names, driver }: { readonly names: readonly OperationName[]; readonly driver: string },
): void {
  const type = kind.isStatic(snapshot) ? 'pre-provisioned' : 'dynamic';
  for (const name of names) operations.start(name, snapshot.metadata?.uid ?? '', { driver, type });
}

/** The finalizers and the default class that a snapshot gets in one write. */
export interface Preparation {
  readonly finalizers: readonly string[];
  readonly className?: string | undefined;
}

export function prepare<T extends Types>(
  run: StepRun<T>,
  snapshot: T['snapshot'],
  { finalizers, className }: Preparation,
): Promise<T['snapshot']> {
  const spec = { [run.context.kind.fields.className]: className };
  return writes.prepareObject(snapshotsOf(run), snapshot, { finalizers, spec });
}

/** Read again from the API server. Undefined: it is gone. */
export function confirm<T extends Types>(run: StepRun<T>, snapshot: T['snapshot']): Promise<T['snapshot'] | undefined> {
  return writes.readAgain(snapshotsOf(run), snapshot);
}

export interface Creation<T extends Types> {
  readonly content: T['content'];
  /** What may keep a csi-snapshotter from serving the content. */
  readonly warning: RecordedEvent | undefined;
}

/** The content as it is stored, which may be that of another snapshot. */
export async function createContent<T extends Types>(
  run: StepRun<T>,
  snapshot: T['snapshot'],
  { content, warning }: Creation<T>,
): Promise<T['content']> {
  const { kind, events } = run.context;
  const key = keyOf(snapshot);
  const { resource, signal, ...ports } = contentsOf(run);
  const stored = await createOrGet(ports, { resource, object: content }, signal).catch((error: unknown) => {
    events.record(snapshot, kind.messages.contentNotCreated(key, toError(error).message));
    throw error;
  });
  if (isBoundTo(kind.referenceOf(stored), snapshot)) {
    events.record(snapshot, kind.messages.creating(key));
    if (warning !== undefined) events.record(snapshot, warning);
  }
  return stored;
}

export function bind<T extends Types>(
  run: StepRun<T>,
  snapshot: T['snapshot'],
  content: T['content'],
): Promise<T['content']> {
  const { referenceOf, mark, fields, classNameOf } = run.context.kind;
  return writes.bindContent(contentsOf(run), content, {
    owner: snapshot,
    referenceOf,
    finalizer: mark.finalizer,
    spec: definedOnly({
      [fields.reference]: { uid: snapshot.metadata?.uid },
      [fields.className]: classNameOf(snapshot),
    }),
  });
}

export async function saveStatus<T extends Types>(
  run: StepRun<T>,
  snapshot: T['snapshot'],
  { content, facts }: { readonly content: T['content']; readonly facts: ContentFacts },
): Promise<void> {
  const bound = { field: run.context.kind.fields.bound, name: content.metadata?.name ?? '' };
  const stored = await writes.saveStatusOf(snapshotsOf(run), snapshot, { facts, bound });
  reportStatus(run.context, stored, content);
}

export function saveError<T extends Types>(run: StepRun<T>, object: T['snapshot'], problem: Problem): Promise<void> {
  return writes.saveError(snapshotsOf(run), object, { problem, events: run.context.events });
}

/** Read from the API server, because the cache may be behind. */
export function askContent<T extends Types>(run: StepRun<T>, name: string): Promise<T['content'] | undefined> {
  return writes.readObject(contentsOf(run), { name });
}

export function markContent<T extends Types>(
  run: StepRun<T>,
  snapshot: T['snapshot'],
  content: T['content'],
): Promise<T['content']> {
  const { mark, isContentOf } = run.context.kind;
  return writes.markContent(contentsOf(run), content, { mark, isIts: (known) => isContentOf(snapshot, known) });
}

/** Undefined: it is gone. */
export function deleteContent<T extends Types>(
  run: StepRun<T>,
  snapshot: T['snapshot'],
  content: T['content'],
): Promise<T['content'] | undefined> {
  const { isContentOf } = run.context.kind;
  const mayGo = (known: T['content']): boolean =>
    isContentOf(snapshot, known) && known.spec?.deletionPolicy === 'Delete';
  return writes.deleteObject(contentsOf(run), content, mayGo);
}

export function removeFinalizers<T extends Types>(
  run: StepRun<T>,
  snapshot: T['snapshot'],
  finalizers: readonly string[],
): Promise<void> {
  return writes.removeFinalizers(snapshotsOf(run), snapshot, finalizers);
}
