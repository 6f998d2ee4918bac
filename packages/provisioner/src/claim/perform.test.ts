// SPDX-License-Identifier: Apache-2.0
/** Each action of the claim loop alone: the requests that it sends, what it learns, and what it leaves in memory. */
import {
  ApiError,
  type KubeObject,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type RecordedEvent,
} from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aVolume, driverName } from '../../testing/builders.ts';
import { context, made, pinned, plan, state, type StateFacts } from '../../testing/claim-states.ts';
import type { ClaimFacts } from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { uidOf } from './claim.ts';
import { createClaimMemory, type Entry } from './memory.ts';
import { performers } from './perform.ts';
import type { Action, ClaimState } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;
type Answer = KubeObject | ApiError;

interface SetUp {
  readonly action: StepAction;
  readonly state?: StateFacts;
  readonly claim?: ClaimFacts;
  /** The claim in the cache, if it is another version than that of the run. */
  readonly cached?: PersistentVolumeClaim;
  /** One answer for each request. Default: every write is stored as it was sent. */
  readonly answers?: readonly Answer[];
}

const refusal = (status: number): ApiError => new ApiError({ status, message: `refused with ${status}` });
const { signal } = new AbortController();
const uid = uidOf(aClaim());
const on = { protection: 'on' } as const;

async function perform({ action, state: facts = {}, claim = {}, cached, answers = [] }: SetUp) {
  const requests: { verb: string; object: unknown; isOfTheRun: boolean }[] = [];
  const left = [...answers];
  const request =
    (verb: string) =>
    async (_resource: object, object: KubeObject, options: { readonly signal?: AbortSignal } = {}) => {
      requests.push({ verb, object, isOfTheRun: options.signal === signal });
      const answer = left.shift() ?? object;
      if (answer instanceof ApiError) throw answer;
      return answer;
    };
  const client = { get: request('get'), update: request('update'), create: request('create') };
  const remembered: KubeObject[] = [];
  const remember = (object: KubeObject): void => void remembered.push(object);
  const caches = {
    claims: { byIndex: () => (cached === undefined ? [] : [cached]), remember, doubt: () => undefined },
    volumes: { remember },
  };
  const events: RecordedEvent[] = [];
  const woken: unknown[] = [];
  const memory = createClaimMemory();
  const before: ClaimState = state(facts, claim);
  if (before.memory.kind !== 'none') memory.set(before.memory);
  const deps = {
    ...context,
    memory,
    events: { record: (_claim: KubeObject, event: RecordedEvent) => events.push(event) },
    saves: { wake: (...call: unknown[]) => woken.push(call) },
  };
  const clock = new FakeClock();
  const logger = recordingLogger();
  const step = { client, clock, logger, caches, signal, key: uid, state: before, action };
  const learned = await (performers(deps as never)[action.kind] as (step: unknown) => Promise<Partial<ClaimState>>)(
    step,
  );
  return { learned, requests, remembered, events, woken, logger, entry: memory.get(uid), before, clock };
}

const finalizersOf = (claim: PersistentVolumeClaim | undefined) => claim?.metadata?.finalizers;
const ours = finalizersOf(aClaim(on))?.[0];

describe('announce', () => {
  it('given a claim, then its event names it, the start is logged, and deprecated parameters of its class cause warnings', async () => {
    const storageClass = aClass({ parameters: { fstype: 'ext4' } });
    const { learned, events, logger } = await perform({
      action: { row: 'C13', kind: 'announce' },
      state: { storageClass },
    });
    expect(learned).toEqual({ announced: 'yes' });
    expect(events).toEqual([
      {
        type: 'Normal',
        reason: 'Provisioning',
        message: 'External provisioner is provisioning volume for claim "team/data"',
      },
    ]);
    expect(logger.lines.map(({ kind, message }) => `${kind} ${message}`)).toEqual([
      'info Started',
      expect.stringMatching(/^warn .*fstype/),
    ]);
  });
});

describe('reads', () => {
  it('given an attributes class with and without parameters, then they are learned, and the read ends with the run', async () => {
    const action = { row: 'C20', kind: 'readAttributesClass', name: 'gold' } as const;
    const gold = { driverName, parameters: { tier: 'gold' } };
    const read = await perform({ action, answers: [gold as KubeObject] });
    expect(read.learned).toEqual({ attributes: { kind: 'found', ...gold } });
    expect(read.requests).toEqual([{ verb: 'get', object: { name: 'gold' }, isOfTheRun: true }]);
    expect((await perform({ action, answers: [{ driverName } as KubeObject] })).learned).toEqual({
      attributes: { kind: 'found', driverName, parameters: {} },
    });
  });

  it('given an attributes class that cannot be read, then its message is learned', async () => {
    const action = { row: 'C20', kind: 'readAttributesClass', name: 'gold' } as const;
    expect((await perform({ action, answers: [refusal(500)] })).learned).toEqual({
      attributes: { kind: 'failed', message: 'refused with 500' },
    });
  });

  it('given a secret, then the read ends with the run', async () => {
    const action = { row: 'C19', kind: 'readSecret', reference: { namespace: 'ns', name: 's' } } as const;
    const { learned, requests } = await perform({ action, answers: [{ data: { key: 'eA==' } } as KubeObject] });
    expect(learned).toEqual({ secrets: { kind: 'found', values: { key: 'x' } } });
    expect(requests).toEqual([{ verb: 'get', object: { namespace: 'ns', name: 's' }, isOfTheRun: true }]);
  });
});

describe('reading a claim whose PersistentVolume is about to be lost', () => {
  const record = aVolume({ deleting: 'yes', phase: 'Bound' });
  const action = { row: 'C64', kind: 'readClaim', record } as const;
  const named = aClaim({ spec: { volumeName: 'pvc-uid-data' } });
  const going = aClaim({ deleting: 'yes' });
  const gone = { reread: 'read', presence: 'gone', isProtected: false, volume: { kind: 'own' } };

  it.each([
    { given: 'no volume', claim: aClaim(), presence: 'live', volume: { kind: 'losing', record } },
    { given: 'the volume', claim: named, presence: 'live', volume: { kind: 'own' } },
    { given: 'no volume and is being deleted', claim: going, presence: 'deleting', volume: { kind: 'own' } },
  ])(
    'given one that names $given, then it is learned and remembered, and the read ends with the run',
    async ({ given: _given, claim, ...learns }) => {
      const { learned, requests, remembered } = await perform({ action, answers: [claim] });
      expect([learned, remembered]).toEqual([{ reread: 'read', claim, ...learns }, [claim]]);
      expect(requests).toEqual([{ verb: 'get', object: { namespace: 'team', name: 'data' }, isOfTheRun: true }]);
    },
  );

  it.each([
    { given: 'that is gone', answer: refusal(404), learns: gone },
    { given: 'of another UID', answer: aClaim({ uid: 'another' }), learns: gone },
    { given: 'that cannot be read', answer: refusal(500), learns: { reread: { failure: refusal(500) } } },
  ])('given one $given, then that is learned', async ({ answer, learns }) => {
    const { learned, remembered } = await perform({ action, answers: [answer], claim: on });
    expect([learned, remembered]).toEqual([learns, []]);
  });
});

describe('protect', () => {
  const action = { row: 'C21', kind: 'protect' } as const;

  it('given a claim without finalizer, then the written claim is learned, and the write does not end with the run', async () => {
    const { learned, requests, remembered } = await perform({ action });
    expect(learned).toEqual({ protecting: 'done', isProtected: true, claim: remembered[0] });
    expect(finalizersOf(learned.claim)).toEqual([ours]);
    expect(requests.map(({ verb, isOfTheRun }) => [verb, isOfTheRun])).toEqual([['update', false]]);
  });

  it('given a newer version in the cache, then that one is written', async () => {
    const cached = aClaim({ finalizers: ['x/y'] });
    const { learned } = await perform({ action, cached });
    expect(finalizersOf(learned.claim)).toEqual(['x/y', ours]);
  });

  it.each([
    { status: 403, write: 'refused', warnings: 1 },
    { status: 500, write: 'failed', warnings: 0 },
  ])('given an update that ends with $status, then it is $write, with $warnings warnings', async (row) => {
    const { learned, logger } = await perform({ action, answers: [refusal(row.status)] });
    expect(learned).toEqual({ protecting: row.write, claim: aClaim() });
    expect(logger.messages()).toEqual(Array(row.warnings).fill('Cannot put the provisioning finalizer on a claim'));
  });

  it('given a claim that is gone, then its absence is learned without a warning', async () => {
    const { learned, logger } = await perform({ action, answers: [refusal(404)] });
    expect(learned).toEqual({ protecting: 'refused', claim: aClaim(), presence: 'gone' });
    expect(logger.messages()).toEqual([]);
  });
});

describe('unprotect', () => {
  const action = { row: 'C3', kind: 'unprotect' } as const;

  it('given a settled claim, then its finalizer is removed and it is forgotten', async () => {
    const { learned, entry } = await perform({ action, state: { remembers: 'settled' }, claim: on });
    expect(learned).toMatchObject({ unprotecting: 'done', isProtected: false, memory: { kind: 'none' } });
    expect(finalizersOf(learned.claim)).toEqual([]);
    expect(entry).toBeUndefined();
  });

  it('given the refusal of a class, then the finalizer is removed and the refusal stays in memory', async () => {
    const settled: Entry = { kind: 'settled', claim: aClaim(on), refusal: { untilMs: 1, classUid: 'c' } };
    const { learned, entry } = await perform({ action, state: { memory: settled }, claim: on });
    expect(learned).toMatchObject({ unprotecting: 'done', isProtected: false, memory: settled });
    expect(entry).toEqual(settled);
  });

  it('given a claim that is gone, then it is forgotten', async () => {
    const set = { action, state: { remembers: 'settled' }, claim: on, answers: [refusal(404)] } as const;
    const { learned, entry } = await perform(set);
    expect(learned).toMatchObject({ unprotecting: 'refused', presence: 'gone', isProtected: false });
    expect(entry).toBeUndefined();
  });

  it('given an update that fails, then the claim stays protected and in memory', async () => {
    const set = { action, state: { remembers: 'settled' }, claim: on, answers: [refusal(500)] } as const;
    const { learned, entry, before } = await perform(set);
    expect(learned).toEqual({ unprotecting: 'failed', claim: aClaim(on) });
    expect(entry).toEqual(before.memory);
  });

  it('given a volume that may exist, then the entry in memory is dropped with the finalizer', async () => {
    const { entry } = await perform({ action, state: { remembers: 'open' }, claim: on });
    expect(entry).toBeUndefined();
  });
});

describe('settle', () => {
  it('given a claim in the cache that no class refused, then it is forgotten', async () => {
    const action = { row: 'C10', kind: 'settle' } as const;
    const { learned, entry } = await perform({ action, state: { remembers: 'pinned' }, cached: aClaim() });
    expect([learned, entry]).toEqual([{ memory: { kind: 'none' } }, undefined]);
  });
});

describe('reschedule', () => {
  const claim = { ...on, node: 'n1' } as const;
  const nodeOf = (written: PersistentVolumeClaim | undefined) =>
    written?.metadata?.annotations?.[annotations.selectedNode];

  it('given that the finalizer is kept, then only the selected node is removed, and memory stays', async () => {
    const action = { row: 'C17', kind: 'reschedule', protection: 'keep' } as const;
    const { learned, entry, before } = await perform({ action, state: { remembers: 'settled' }, claim });
    expect([learned.rescheduling, nodeOf(learned.claim), finalizersOf(learned.claim)]).toEqual([
      'done',
      undefined,
      [ours],
    ]);
    expect(learned).not.toHaveProperty('isProtected');
    expect(entry).toEqual(before.memory);
  });

  it('given that the finalizer is removed, then both are, and the claim is forgotten', async () => {
    const action = { row: 'C25', kind: 'reschedule', protection: 'remove' } as const;
    const { learned, entry } = await perform({ action, state: { remembers: 'settled' }, claim });
    expect([nodeOf(learned.claim), finalizersOf(learned.claim)]).toEqual([undefined, []]);
    expect(learned).toMatchObject({ rescheduling: 'done', isProtected: false, memory: { kind: 'none' } });
    expect(entry).toBeUndefined();
  });

  it('given a conflict, then nothing else is learned, and memory stays', async () => {
    const action = { row: 'C25', kind: 'reschedule', protection: 'remove' } as const;
    const set = { action, state: { remembers: 'settled' }, claim, answers: [refusal(409)] } as const;
    const { learned, entry, before, requests } = await perform(set);
    expect(learned).toEqual({ rescheduling: 'failed', claim: aClaim(claim) });
    expect([entry, requests.length]).toEqual([before.memory, 1]);
  });
});

describe('memory', () => {
  const deletion = { seenMs: 0, answers: [], forMs: 0, seenForMs: 0 };

  it('given an answer that settles nothing, then the claim is remembered as open, with its deletion', async () => {
    const action = { row: 'C41', kind: 'releaseRequest' } as const;
    const { learned, entry } = await perform({ action, state: { pinned, presence: 'deleting' } });
    expect(learned.memory).toEqual({ kind: 'open', claim: aClaim(), deletion });
    expect(entry).toEqual(learned.memory);
  });

  it('given a settled claim without finalizer and refusal, then it is forgotten', async () => {
    const { learned, entry } = await perform({ action: { row: 'C23', kind: 'settle' }, state: { pinned } });
    expect([learned, entry]).toEqual([{ memory: { kind: 'none' } }, undefined]);
  });

  it('given a settled claim with finalizer, then it stays in memory until the finalizer is removed', async () => {
    const { learned, entry } = await perform({ action: { row: 'C23', kind: 'settle' }, state: { pinned }, claim: on });
    expect(learned).toEqual({ memory: { kind: 'settled', claim: aClaim(on), refusal: undefined } });
    expect(entry).toEqual(learned.memory);
  });

  it('given the refusal of a class, then it is remembered for five minutes', async () => {
    const action = { row: 'C24', kind: 'settle', refusedBy: 'class-uid' } as const;
    const { learned, entry, clock } = await perform({ action, state: { pinned }, cached: aClaim() });
    const untilMs = clock.monotonicMs() + 300_000;
    expect(entry).toEqual({ kind: 'settled', claim: aClaim(), refusal: { untilMs, classUid: 'class-uid' } });
    expect(learned).toEqual({ memory: entry });
  });

  it('given the refusal of a class, when the claim has left the cache, then nothing stays in memory', async () => {
    const action = { row: 'C24', kind: 'settle', refusedBy: 'class-uid' } as const;
    const { learned, entry } = await perform({ action, state: { pinned } });
    expect([learned, entry]).toEqual([{ memory: { kind: 'none' } }, undefined]);
  });
});

describe('giveUp', () => {
  const deleted = { presence: 'deleting', remembers: 'open' } as const;

  it('given open answers, then the finalizer is removed, the answer is counted, and memory continues', async () => {
    const action = { row: 'C37', kind: 'giveUp', answer: 'open' } as const;
    const { learned, entry, before } = await perform({ action, state: deleted, claim: on });
    expect(learned).toMatchObject({ givingUp: 'done', isProtected: false, memory: before.memory });
    expect(finalizersOf(learned.claim)).toEqual([]);
    expect(entry).toMatchObject({ kind: 'open', deletion: { answers: ['open'] } });
  });

  it('given a final answer, then the claim is forgotten', async () => {
    const action = { row: 'C37', kind: 'giveUp', answer: 'final' } as const;
    const { learned, entry } = await perform({ action, state: deleted, claim: on });
    expect(learned).toMatchObject({ givingUp: 'done', memory: { kind: 'none' } });
    expect(entry).toBeUndefined();
  });

  it('given an update that fails, then the claim stays protected and in memory', async () => {
    const action = { row: 'C37', kind: 'giveUp', answer: 'final' } as const;
    const { learned, entry } = await perform({ action, state: deleted, claim: on, answers: [refusal(500)] });
    expect(learned).toEqual({ givingUp: 'failed', claim: aClaim(on) });
    expect(entry).toMatchObject({ kind: 'open', deletion: { answers: ['final'] } });
  });

  it('given a claim that is gone, then it counts as given up', async () => {
    const action = { row: 'C37', kind: 'giveUp', answer: 'open' } as const;
    const { learned } = await perform({ action, state: deleted, claim: on, answers: [refusal(404)] });
    expect(learned).toMatchObject({ givingUp: 'done', presence: 'gone', isProtected: false });
  });

  it('given a claim whose deletion was not seen, then no answer is counted', async () => {
    const action = { row: 'C37', kind: 'giveUp', answer: 'open' } as const;
    const { entry, before } = await perform({ action, state: { remembers: 'open' }, claim: on });
    expect(entry).toEqual(before.memory);
  });
});

describe('save', () => {
  const volume: PersistentVolume = aVolume();
  const action = { row: 'C31', kind: 'save', volume } as const;

  it('given a volume that is saved, then that is learned, and memory stays', async () => {
    const { learned, entry, before, woken } = await perform({ action, state: { pinned }, cached: aClaim() });
    expect(learned).toEqual({ saved: { row: 'S1', kind: 'saved', claim: 'there' } });
    expect([entry, woken]).toEqual([before.memory, []]);
  });

  it('given a save that fails, then the volume is remembered, the save loop is woken after its delay, and the failure is logged', async () => {
    const { learned, entry, woken, logger, before } = await perform({
      action,
      state: { pinned, presence: 'deleting', created: made },
      answers: [refusal(500)],
    });
    expect(learned.saved).toMatchObject({ kind: 'later' });
    expect(entry).toEqual({ kind: 'saving', claim: aClaim(), pinned, volume, deletion: before.deletion });
    expect(learned.memory).toEqual(entry);
    expect(woken).toEqual([[plan.volumeName, 'rateLimited']]);
    expect(logger.lines).toMatchObject([
      {
        kind: 'info',
        level: 2,
        message: 'successfully created PV pvc-uid-data for PVC data and csi volume name v1',
      },
      { kind: 'error', message: 'Failed to save volume', facts: { PVC: 'team/data' } },
    ]);
  });
});
