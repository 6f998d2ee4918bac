// SPDX-License-Identifier: Apache-2.0
/** A run for one step alone: context and ports as a loop passes them, and ports that answer what the test says. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { ApiError, type KubeObject, type LoopPorts } from '@csi-sidecars/runtime';
import {
  FakeClock,
  failureAtStop as failureOf,
  type RecordingLogger,
  recordingLogger,
  seededRandom,
} from '@csi-sidecars/runtime/testing';
import { claimKey } from '../src/claim.ts';
import { type CallEntry, createClaimMemory } from '../src/claim-memory.ts';
import { createOpenCalls } from '../src/open-calls.ts';
import { createOwnWriteFilter } from '../src/own-write-filter.ts';
import type { ClaimRun } from '../src/steps.ts';
import { createVolumeLocks } from '../src/volume-locks.ts';
import { aClaim, aDriver, someSettings } from './builders.ts';

/** Target, detail and options of a request; method, request and options of a call. */
type Answer = (target: never, detail: never, options: never) => Promise<unknown>;
interface Options {
  readonly signal?: AbortSignal;
}

/** Never answers; ends with the reason of the signal. */
export const silence = (_target: unknown, _detail: unknown, { signal }: Options): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

export interface Answers {
  /** Default: nothing answers. */
  readonly patch?: Answer;
  readonly get?: Answer;
  readonly list?: Answer;
  readonly call?: Answer;
}

/** Only handed on to the driver's channel. */
export const span = { child: () => undefined } as never;

export type RunAlone = ClaimRun & { readonly clock: FakeClock; readonly logger: RecordingLogger };

export function runAlone({ patch = silence, get = silence, list = silence, call = silence }: Answers = {}): RunAlone {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const cache = { remember: () => undefined, doubt: () => undefined } as unknown;
  return {
    context: {
      driver: aDriver(),
      channel: { call } as unknown as CsiChannel,
      settings: someSettings(),
      events: { record: () => undefined, flush: () => Promise.resolve() },
      memory: createClaimMemory(),
      locks: createVolumeLocks(),
      ownWriteFilter: createOwnWriteFilter(),
      openCalls: createOpenCalls({ clock, logger }),
    },
    client: { patch, get, list } as unknown as LoopPorts['client'],
    clock,
    random: seededRandom(1),
    logger,
    key: claimKey(aClaim()),
    caches: { claims: cache, volumes: cache } as ClaimRun['caches'],
    signal: new AbortController().signal,
    span,
  };
}

/** With which failure a step ends that nothing answers when the process has to stop at once. */
export async function failureAtStop(step: (run: RunAlone) => unknown): Promise<unknown> {
  const run = runAlone();
  return await failureOf((signal) => step({ ...run, signal }), run.clock);
}

/** The body of a patch of a claim, or of a PersistentVolume. */
export interface SentPatch {
  readonly spec?: object;
  readonly metadata: { readonly resourceVersion?: string; readonly annotations?: object };
  readonly status: {
    readonly conditions?: readonly { readonly $patch?: string; readonly type: string }[];
    readonly '$setElementOrder/conditions'?: unknown;
  };
}

/** What a write sends, what it resolves or fails with, and what is known of the last call of the claim, `entry` before. */
export async function written(
  write: (run: RunAlone) => Promise<unknown>,
  answer: () => Promise<KubeObject>,
  entry?: CallEntry,
): Promise<{ readonly sent: readonly SentPatch[]; readonly result: unknown; readonly entry: CallEntry | undefined }> {
  const sent: SentPatch[] = [];
  const patch = async (_target: unknown, { body }: { readonly body: SentPatch }): Promise<KubeObject> => {
    sent.push(body);
    return await answer();
  };
  const run = runAlone({ patch });
  if (entry !== undefined) run.context.memory.set(run.key, entry);
  const result = await write(run).catch((error: unknown) => error);
  return { sent, result, entry: run.context.memory.get(run.key, 'uid-of-data') };
}

/**
 * The API server refuses the first try of a write, because others were faster, and then shows the object as it is `now`. What is sent for
 * that, what the write resolves with, and what is known of the last call of the claim.
 */
export async function overtaken(
  write: (run: RunAlone) => Promise<unknown>,
  now: KubeObject,
): Promise<{ readonly sent: readonly SentPatch[]; readonly result: unknown; readonly entry: CallEntry | undefined }> {
  const read = { ...now, metadata: { ...now.metadata, resourceVersion: '9' } };
  const sent: SentPatch[] = [];
  const patch = async (_target: unknown, { body }: { readonly body: SentPatch }): Promise<KubeObject> => {
    sent.push(body);
    if (sent.length === 1) throw new ApiError({ status: 409, reason: 'Conflict', message: 'changed' });
    return read;
  };
  const run = runAlone({
    patch,
    get: () => Promise.resolve(read),
    list: () => Promise.resolve({ items: [read] }),
  });
  const writing = write(run);
  await run.clock.advance(1_000);
  const result = await writing;
  return { sent: sent.slice(1), result, entry: run.context.memory.get(run.key, 'uid-of-data') };
}

/** The version that guards it, its annotations, the conditions that it sets, the types of those that it removes, and the rest of its status. */
export function shownBy({ metadata, status }: SentPatch): object {
  const { conditions = [], '$setElementOrder/conditions': _order, ...rest } = status;
  return {
    guarded: metadata.resourceVersion,
    annotations: metadata.annotations,
    set: conditions.filter(({ $patch }) => $patch === undefined),
    removed: conditions.filter(({ $patch }) => $patch === 'delete').map(({ type }) => type),
    rest,
  };
}
