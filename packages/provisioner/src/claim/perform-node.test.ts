// SPDX-License-Identifier: Apache-2.0
/** The actions of node deployment alone, and which reads end with the run. */
import { ApiError, type KubeObject, type PersistentVolume, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aNodeDeployment, aVolume, someSettings } from '../../testing/builders.ts';
import { context, plan, state, type StateFacts } from '../../testing/claim-states.ts';
import { uidOf } from './claim.ts';
import { createInstanceWaits } from './instance-waits.ts';
import { createClaimMemory } from './memory.ts';
import { performers } from './perform.ts';
import type { Action, ClaimState } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;

interface SetUp {
  readonly action: StepAction;
  readonly state?: StateFacts;
  /** The claim in the cache; null: it is gone. Default: that of the run. */
  readonly cached?: PersistentVolumeClaim | null;
  /** The answer to each request. Default: what was sent. */
  readonly answer?: KubeObject | ApiError;
  /** The answer of the driver to GetCapacity. */
  readonly available?: string | Error;
  /** Resolves when the source may be held. Default: at once. */
  readonly held?: Promise<void>;
}

const { signal } = new AbortController();
const key = uidOf(aClaim());
const refusal = (status: number, reason = ''): ApiError => new ApiError({ status, reason, message: 'no' });

async function perform({ action, state: facts = {}, cached = aClaim(), answer, available = '0', held }: SetUp) {
  const requests: string[] = [];
  const request =
    (verb: string) =>
    async (_resource: object, object: KubeObject, options: { readonly signal?: AbortSignal } = {}) => {
      requests.push(`${verb}${options.signal === signal ? ', ends with the run' : ''}`);
      const found = answer ?? object;
      if (found instanceof ApiError) throw found;
      return found;
    };
  const client = { get: request('get'), update: request('update') };
  const waits: string[] = [];
  const ownership = {
    begin: (claim: string) => void waits.push(`begin ${claim}`),
    end: (claim: string) => void waits.push(`end ${claim}`),
    forget: (claim: string) => void waits.push(`forget ${claim}`),
    leftMs: () => 700,
  };
  const channel = {
    call: async () => {
      if (available instanceof Error) throw available;
      return { available_capacity: available, maximum_volume_size: null };
    },
  };
  const deps = {
    ...context,
    settings: someSettings({ node: aNodeDeployment('n1') }),
    memory: createClaimMemory(),
    holds: { take: () => held ?? Promise.resolve() },
    ownership,
    instanceWaits: createInstanceWaits(new FakeClock()),
    channel,
  };
  const caches = {
    claims: { byIndex: () => (cached === null ? [] : [cached]), remember: () => undefined, doubt: () => undefined },
  };
  const logger = recordingLogger();
  const step = { client, clock: new FakeClock(), logger, caches, signal, key, state: state(facts), action };
  const performed = (performers(deps as never)[action.kind] as (step: unknown) => Promise<Partial<ClaimState>>)(step);
  return { performed, requests, waits, logger };
}

async function learnedFrom(setUp: SetUp) {
  const { performed, ...others } = await perform(setUp);
  return { learned: await performed, ...others };
}

describe('the node of another instance', () => {
  const action = { row: 'C48', kind: 'readNode', name: 'n2' } as const;

  it('given a server that takes its time, then nothing is learned before its answer', async () => {
    let hasAnswered = false;
    const get = async (): Promise<unknown> => {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      hasAnswered = true;
      return { metadata: { name: 'n2' } };
    };
    const instanceWaits = createInstanceWaits(new FakeClock());
    const { readNode } = performers({ ...context, instanceWaits, memory: createClaimMemory() } as never);
    expect(await readNode({ client: { get }, key, state: state(), action, signal } as never)).toEqual({
      otherNode: { presence: 'there', goneForMs: 0, waitedForMs: 0 },
    });
    expect(hasAnswered).toBe(true);
  });

  it.each([
    { given: 'that exists', answer: { metadata: { name: 'n2' } }, presence: 'there' },
    { given: 'that is not found', answer: refusal(404, 'NotFound'), presence: 'gone' },
    { given: 'that cannot be read', answer: refusal(403, 'Forbidden'), presence: 'unknown' },
  ])(
    'given a node $given, when read, then that is learned, and the read ends with the run',
    async ({ answer, presence }) => {
      const { learned, requests } = await learnedFrom({ action, answer });
      const otherNode = { presence, goneForMs: 0, waitedForMs: 0 };
      expect([learned, requests]).toEqual([{ otherNode }, ['get, ends with the run']]);
    },
  );

  it.each([
    { given: 'is written', answer: undefined, givingUp: 'done' },
    { given: 'fails', answer: refusal(500), givingUp: 'failed' },
    { given: 'conflicts', answer: refusal(409, 'Conflict'), givingUp: 'failed' },
  ])(
    'given the removal of its finalizer $given, then that is learned, with the claim',
    async ({ answer, givingUp }) => {
      const cached = aClaim({ protection: 'on' });
      const { learned } = await learnedFrom({
        action: { row: 'C50', kind: 'giveUpOther' },
        cached,
        ...(answer === undefined ? {} : { answer }),
      });
      expect(learned).toMatchObject({ givingUp, claim: { metadata: { name: 'data' } } });
      expect(learned.claim?.metadata?.finalizers).toHaveLength(givingUp === 'done' ? 0 : 1);
    },
  );
});

describe('the PersistentVolume of a claim, made by any instance', () => {
  const action = { row: 'C59', kind: 'readRecord', name: 'pvc-uid-data' } as const;
  const read = ['get, ends with the run'];
  const on = (node: string, volume: PersistentVolume = aVolume()): PersistentVolume => ({
    ...volume,
    spec: {
      ...volume.spec,
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'node', operator: 'In', values: [node] }] }] },
      },
    },
  });
  const ofOther = aVolume({ spec: { claimRef: { namespace: 'team', name: 'other', uid: 'uid-other' } } });
  const going = aVolume({ deleting: 'yes', phase: 'Available' });
  const ofOtherDriver = aVolume({ annotations: {}, spec: { csi: { driver: 'other', volumeHandle: 'h' } } });

  it.each([
    { given: 'that does not exist', answer: refusal(404, 'NotFound'), learned: { record: 'read' } },
    { given: 'that cannot be read', answer: refusal(500), learned: { record: { failure: 'no' } } },
    { given: 'of this node', answer: on('n1'), learned: { record: 'read', volume: { kind: 'own' } } },
    {
      given: 'of this node, which is being deleted before the claim is bound',
      answer: on('n1', going),
      learned: { record: 'read', volume: { kind: 'losing', record: on('n1', going) } },
    },
    {
      given: 'of another claim',
      answer: on('n2', ofOther),
      learned: { record: 'read', volume: { kind: 'taken', name: 'pvc-uid-data', owner: 'team/other' } },
    },
    { given: 'of another driver', answer: on('n2', ofOtherDriver), learned: { record: 'read' } },
    {
      given: 'of another node',
      answer: on('n2'),
      learned: {
        record: 'read',
        volume: { kind: 'elsewhere', record: on('n2') },
        deletion: { seenMs: 0, answers: [], forMs: 0, seenForMs: 0 },
      },
    },
  ])('given one $given, when read, then that is learned, and the read ends with the run', async (given) => {
    const { learned, requests } = await learnedFrom({ action, answer: given.answer, state: { remembers: 'pinned' } });
    expect([learned, requests]).toEqual([given.learned, read]);
  });
});

describe('taking a claim', () => {
  const select = { row: 'C56', kind: 'selectNode', node: 'n1' } as const;

  it('given no wait, when it starts, then the time that is left is learned', async () => {
    const { learned, waits } = await learnedFrom({ action: { row: 'C53', kind: 'startWait' } });
    expect([learned, waits]).toEqual([{ waitMs: 700 }, [`begin ${key}`]]);
  });

  it.each([
    { available: '100', space: 'enough', logged: 0 },
    { available: '99', space: 'short', logged: 0 },
    { available: new Error('down'), space: { failure: 'GetCapacity: down' }, logged: 1 },
  ])(
    'given $available bytes for 100, when the space is checked, then $space, and a failure is logged',
    async (given) => {
      const { available, space, logged } = given;
      const action = { row: 'C54', kind: 'checkSpace', requests: [plan.request], bytes: 100n } as const;
      const { learned, logger } = await learnedFrom({ action, available });
      expect(learned).toEqual({ space });
      expect(logger.lines).toHaveLength(logged);
      if (logged > 0) {
        expect(logger.lines[0]).toMatchObject({ level: 3, facts: { claim: key, reason: 'GetCapacity: down' } });
      }
    },
  );

  it('given nothing in the way, when the node is selected, then the next wait is the first again', async () => {
    const { learned, waits, requests } = await learnedFrom({ action: select });
    expect([learned, waits, requests]).toEqual([
      { selecting: 'done', waitMs: undefined },
      [`forget ${key}`],
      ['update'],
    ]);
  });

  it.each([
    { given: 'that conflicts', answer: refusal(409, 'Conflict'), selecting: 'conflict' },
    { given: 'that fails', answer: refusal(500), selecting: { failure: 'no' } },
    { given: 'of a claim that is gone', answer: refusal(404, 'NotFound'), selecting: 'gone' },
  ])('given a write $given, when the node is selected, then the next wait is longer', async ({ answer, selecting }) => {
    const { learned, waits } = await learnedFrom({ action: select, answer });
    expect([learned.selecting, waits]).toEqual([selecting, [`end ${key}`]]);
  });

  it('given the cache has another node by now, then nothing is written, and the next wait is longer', async () => {
    const { learned, waits, requests } = await learnedFrom({ action: select, cached: aClaim({ node: 'n2' }) });
    expect([learned.selecting, waits, requests]).toEqual(['conflict', [`end ${key}`], []]);
  });

  it('given the claim has left the cache, then nothing is written', async () => {
    const { learned, requests } = await learnedFrom({ action: select, cached: null });
    expect([learned, requests]).toEqual([{ selecting: 'gone' }, []]);
  });
});

describe('the source of a claim', () => {
  const ref = { kind: 'snapshot', namespace: 'team', name: 'daily' } as const;
  const source = { kind: 'snapshot', snapshot: { kind: 'found', object: {} }, content: 'unread' } as const;

  it('given a removal of its finalizer that is under way, then the source is read after it, and the read ends with the run', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { performed, requests } = await perform({ action: { row: 'C42', kind: 'readSource', ref }, held: promise });
    expect(requests).toEqual([]);
    resolve();
    await performed;
    expect(requests).toEqual(['get, ends with the run']);
  });

  it('given its content is read, then the read ends with the run', async () => {
    const action = { row: 'C43', kind: 'readBacking', name: 'content' } as const;
    const { requests } = await learnedFrom({ action, state: { source } });
    expect(requests).toEqual(['get, ends with the run']);
  });

  it('given it is protected, then the write ends with the run', async () => {
    const snapshot = { kind: 'found', object: { metadata: { namespace: 'team', name: 'daily', uid: 'u' } } } as const;
    const action = { row: 'C45', kind: 'protectSource' } as const;
    const { learned, requests } = await learnedFrom({ action, state: { source: { ...source, snapshot } } });
    expect([learned, requests]).toEqual([{ protectingSource: 'done' }, ['update, ends with the run']]);
  });
});
