// SPDX-License-Identifier: Apache-2.0
/** One step of a loop alone: context and step as a run passes them, and ports that answer what the test says. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { type Attempt, type EventRecorder, isFailed, type LoopPorts } from '@csi-sidecars/runtime';
import {
  FakeClock,
  learnedAtStop,
  type RecordingLogger,
  recordingLogger,
  seededRandom,
} from '@csi-sidecars/runtime/testing';
import { type Claim, type ClaimKey, claimKey } from '../src/claim.ts';
import { type ClaimMemory, createClaimMemory } from '../src/claim-memory.ts';
import type { ResizerDriver } from '../src/driver.ts';
import { createOpenCalls, type OpenCalls } from '../src/open-calls.ts';
import { createOwnWrites, type OwnWrites } from '../src/own-writes.ts';
import type { ResizerSettings } from '../src/settings.ts';
import { createVolumeTurns, type VolumeTurns } from '../src/volume-turns.ts';
import { aClaim, aDriver, someSettings } from './builders.ts';

/** Target, detail and options of a request; method, request and options of a call. */
type Answer = (target: never, detail: never, options: never) => Promise<unknown>;
interface Options {
  readonly signal?: AbortSignal;
}

/** Never answers; ends with the reason of the signal. */
export const silence = (_target: unknown, _detail: unknown, { signal }: Options): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

export interface StepAlone<Entry extends { readonly uid: string }> {
  readonly context: {
    readonly driver: ResizerDriver;
    readonly channel: CsiChannel;
    readonly settings: ResizerSettings;
    readonly events: EventRecorder;
    readonly memory: ClaimMemory<Entry>;
    readonly turns: VolumeTurns;
    readonly ownWrites: OwnWrites;
    readonly openCalls: OpenCalls;
  };
  /** All but the action. */
  readonly step: {
    readonly client: LoopPorts['client'];
    readonly clock: FakeClock;
    readonly random: LoopPorts['random'];
    readonly logger: RecordingLogger;
    readonly key: ClaimKey;
    readonly state: object;
    readonly caches: object;
    readonly signal: AbortSignal;
  };
}

export interface StepAloneOptions {
  /** Default: nothing answers. */
  readonly patch?: Answer;
  readonly call?: Answer;
  readonly claim?: Claim;
  readonly state?: object;
}

export function stepAlone<Entry extends { readonly uid: string }>({
  patch = silence,
  call = silence,
  claim = aClaim(),
  state = {},
}: StepAloneOptions = {}): StepAlone<Entry> {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const cache = { remember: () => undefined, doubt: () => undefined };
  return {
    context: {
      driver: aDriver(),
      channel: { call } as unknown as CsiChannel,
      settings: someSettings(),
      events: { record: () => undefined, flush: () => Promise.resolve() },
      memory: createClaimMemory(),
      turns: createVolumeTurns(),
      ownWrites: createOwnWrites(),
      openCalls: createOpenCalls({ clock, logger }),
    },
    step: {
      client: { patch, get: silence } as unknown as LoopPorts['client'],
      clock,
      random: seededRandom(1),
      logger,
      key: claimKey(claim),
      state,
      caches: { claims: cache, volumes: cache },
      signal: new AbortController().signal,
    },
  };
}

/** What fails in a step that nothing answers when the process has to stop at once. */
export async function failedAtStop(
  perform: (step: never) => unknown,
  { step, action }: Pick<StepAlone<never>, 'step'> & { readonly action: object },
): Promise<readonly unknown[]> {
  const learned = await learnedAtStop((signal) => perform({ ...step, signal, action } as never) as object, step.clock);
  return Object.values(learned ?? {}).filter((result) => isFailed(result as Attempt));
}

/** The body of a patch of a claim. */
export interface SentPatch {
  readonly metadata: { readonly resourceVersion?: string; readonly annotations?: object };
  readonly status: {
    readonly conditions?: readonly { readonly $patch?: string; readonly type: string }[];
    readonly '$setElementOrder/conditions'?: unknown;
  };
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
