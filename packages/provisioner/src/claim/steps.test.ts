// SPDX-License-Identifier: Apache-2.0
/** Each step of the claim loop alone: the requests that it sends, what it returns, and what it leaves in memory. */
import { ApiError, type KubeObject, type PersistentVolume, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aNodeDeployment,
  aVolume,
  type ClaimFacts,
  driverName,
  someSettings,
} from '../../testing/builders.ts';
import { context, made, pinned, plan, state, type StateFacts } from '../../testing/claim-states.ts';
import { annotations } from '../names.ts';
import { createSharedRequests } from '../source/shared-requests.ts';
import { uidOf } from './claim.ts';
import { createInstanceWaits, type InstanceWaits } from './instance-waits.ts';
import { createClaimMemory, type ClaimRecord } from './memory.ts';
import type { ClaimRun, Known } from './state.ts';
import * as step from './steps.ts';

type Answer = KubeObject | ApiError;

interface SetUp {
  readonly state?: StateFacts;
  readonly claim?: ClaimFacts;
  /** The claim in the cache, if it is another version than that of the run. */
  readonly cached?: PersistentVolumeClaim;
  /** One answer for each request. Default: every write is stored as it was sent. */
  readonly answers?: readonly Answer[];
  readonly onNode?: string | undefined;
  readonly protectionMode?: 'always';
  /** Resolves when the source may be held. Default: at once. */
  readonly held?: Promise<void>;
}

const refusal = (status: number): ApiError =>
  new ApiError({ status, reason: status === 404 ? 'NotFound' : status === 409 ? 'Conflict' : '', message: 'no' });
const { signal } = new AbortController();
const key = uidOf(aClaim());
const on = { protection: 'on' } as const;

function aRun({
  state: facts = {},
  claim = {},
  cached,
  answers = [],
  onNode,
  protectionMode,
  held = Promise.resolve(),
}: SetUp) {
  const requests: string[] = [];
  const left = [...answers];
  const request =
    (verb: string) =>
    async (
      _resource: object,
      object: KubeObject & { name?: string },
      options: { readonly signal?: AbortSignal } = {},
    ) => {
      const what = verb === 'get' ? `get ${object.name ?? ''}` : verb;
      requests.push(options.signal === signal ? `${what}, ends with the run` : what);
      // A server that takes its time: nothing is returned before its answer.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      const answer = left.shift() ?? object;
      if (answer instanceof ApiError) throw answer;
      return answer;
    };
  const remembered: KubeObject[] = [];
  const remember = (object: KubeObject): void => void remembered.push(object);
  const effects: string[] = [];
  const effect =
    (name: string) =>
    (...args: readonly string[]): void =>
      void effects.push([name, ...args].join(' '));
  const events: unknown[] = [];
  const memory = createClaimMemory();
  const known: Known = state(facts, claim);
  if (known.memory.kind !== 'none') memory.set(known.memory);
  const clock = new FakeClock();
  const waits = createInstanceWaits(clock);
  const looks: unknown[] = [];
  const { lines, ...logger } = recordingLogger();
  const run = {
    client: { get: request('get'), update: request('update'), create: request('create') },
    clock,
    logger,
    key,
    signal,
    caches: {
      claims: { byIndex: () => (cached === undefined ? [] : [cached]), remember, doubt: () => undefined },
      volumes: { remember },
    },
    context: {
      ...context,
      ...(onNode !== undefined && {
        settings: someSettings({
          node: aNodeDeployment(onNode),
          ...(protectionMode && { provisioningProtection: protectionMode }),
        }),
      }),
      memory,
      events: { record: (_claim: KubeObject, event: unknown) => events.push(event) },
      saves: { wake: effect('wake') },
      references: { acquire: () => held, requests: () => createSharedRequests(clock) },
      ownership: { begin: (of: string) => (effect('begin')(of), 700), end: effect('end'), forget: effect('forget') },
      instanceWaits: {
        ...waits,
        looked: (...look: Parameters<InstanceWaits['looked']>) => (looks.push(look), waits.looked(...look)),
      },
    },
  } as unknown as ClaimRun;
  const entry = (): ClaimRecord | undefined => memory.get(key);
  return { run, known, requests, remembered, effects, events, lines, looks, entry, clock };
}

const finalizersOf = (claim: PersistentVolumeClaim | undefined) => claim?.metadata?.finalizers;
const ours = finalizersOf(aClaim(on))?.[0];
const none = { kind: 'none' };

it('given a claim that is announced, then its event names it, the start is logged, and deprecated parameters cause warnings', () => {
  const { run, known, events, lines } = aRun({ state: { storageClass: aClass({ parameters: { fstype: 'ext4' } }) } });
  step.announce(run, known);
  const message = 'External provisioner is provisioning volume for claim "team/data"';
  expect(events).toEqual([{ type: 'Normal', reason: 'Provisioning', message, isStart: true }]);
  expect(lines.map((line) => `${line.kind} ${line.message}`)).toEqual([
    'info Started',
    expect.stringMatching(/^warn .*fstype/),
  ]);
});

describe('another look', () => {
  const look = (setUp: SetUp): unknown => {
    const { run, known } = aRun(setUp);
    return step.lookAgain(run, known);
  };
  const other = aClaim({ node: 'n2' });

  it('given a deletion, then it is older; given none, then nothing', () => {
    const deletion = { seenMs: -5, answers: [], forMs: 0, seenForMs: 0 };
    expect(look({ state: { deletion } })).toMatchObject({ deletion: { seenForMs: 5 } });
    expect(look({ cached: other })).toEqual({});
  });

  it.each([
    ['another node is selected', other, { claim: other }],
    ['the same node is selected', aClaim(), {}],
    ['it is being deleted', aClaim({ node: 'n2', deleting: 'yes' }), {}],
  ])('given node deployment, when %s by now, then that is returned', (_what, cached, changes) => {
    expect(look({ cached, onNode: 'n1' })).toEqual(changes);
  });

  it('given node deployment, when the claim has left the cache, then nothing is returned', () => {
    expect(look({ onNode: 'n1' })).toEqual({});
  });
});

describe('reads', () => {
  it('given an attributes class, a secret, the Node of an instance, then each read ends with the run', async () => {
    const gold = { driverName, parameters: { tier: 'gold' } };
    const { run, requests } = aRun({ answers: [gold as KubeObject, { data: { key: 'eA==' } } as KubeObject] });
    expect(await step.readAttributesClass(run, 'gold')).toEqual(gold);
    expect(await step.readSecret(run, { namespace: 'ns', name: 's' })).toEqual({ kind: 'found', values: { key: 'x' } });
    await step.readNode(run, { name: 'n2', isDeleted: true });
    expect(requests).toEqual(['gold', 's', 'n2'].map((name) => `get ${name}, ends with the run`));
  });

  it.each([
    ['exists', {}, 'there'],
    ['is not found', refusal(404), 'gone'],
    ['cannot be read', refusal(403), 'unknown'],
  ])('given the Node of an instance that %s, then it is %3$s', async (_what, answer, presence) => {
    const { run } = aRun({ answers: [answer] });
    expect(await step.readNode(run, { name: 'n2', isDeleted: false })).toEqual({
      presence,
      goneForMs: 0,
      waitedForMs: 0,
    });
  });

  it.each([
    ['by default, then a break of two looks ends a row of looks', {}, 120_000],
    ['with always, then a break of two patient looks does', { protectionMode: 'always' }, 600_000],
    ['in central deployment, then any break does', { onNode: undefined }, 0],
  ] as const)('given the Node of an instance %s', async (...[, more, breakMs]) => {
    const { run, looks } = aRun({ onNode: 'n1', ...more });
    await step.readNode(run, { name: 'n2', isDeleted: true });
    expect(looks).toEqual([[key, { node: 'n2', presence: 'there', isDeleted: true, breakMs }]]);
  });

  it('given a removal of the finalizer of a source that is under way, then the source is read after it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { run, requests } = aRun({ held: promise, answers: [{}] });
    const reading = step.readSource(run, { kind: 'snapshot', namespace: 'team', name: 'daily' });
    expect(requests).toEqual([]);
    resolve();
    const source = await reading;
    expect(source).toEqual({ kind: 'snapshot', snapshot: { kind: 'found', object: {} }, content: 'unread' });
    await step.readBacking(run, source, 'content');
    expect(requests).toEqual(['get daily, ends with the run', 'get content, ends with the run']);
  });
});

describe('reading a claim whose PersistentVolume is about to be lost', () => {
  const record = aVolume({ deleting: 'yes', phase: 'Bound' });
  const gone = { presence: 'gone', isProtected: false, volume: { kind: 'own' } };

  it.each([
    ['names no volume', aClaim(), { presence: 'live', volume: { kind: 'losing', record } }],
    [
      'names the volume',
      aClaim({ spec: { volumeName: 'pvc-uid-data' } }),
      { presence: 'live', volume: { kind: 'own' } },
    ],
    ['is being deleted', aClaim({ deleting: 'yes' }), { presence: 'deleting', volume: { kind: 'own' } }],
  ])('given one that %s, then it is returned and remembered', async (_what, claim, changes) => {
    const { run, known, requests, remembered } = aRun({ answers: [claim] });
    expect(await step.readClaim(run, known, record)).toEqual({ claim, ...changes });
    expect([remembered, requests]).toEqual([[claim], ['get data, ends with the run']]);
  });

  it.each([
    ['that is gone', refusal(404)],
    ['of another UID', aClaim({ uid: 'another' })],
  ])('given one %s, then it is gone', async (_what, answer) => {
    const { run, known, remembered } = aRun({ answers: [answer], claim: on });
    expect(await step.readClaim(run, known, record)).toEqual(gone);
    expect(remembered).toEqual([]);
  });

  it('given one that cannot be read, then that is the failure', async () => {
    const { run, known } = aRun({ answers: [refusal(500)] });
    await expect(step.readClaim(run, known, record)).rejects.toThrow('no');
  });
});

describe('the PersistentVolume of a claim, made by any instance', () => {
  const onNode = (node: string, volume: PersistentVolume = aVolume()): PersistentVolume => {
    const matchExpressions = [{ key: 'node', operator: 'In', values: [node] }];
    return {
      ...volume,
      spec: { ...volume.spec, nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } },
    };
  };
  const going = onNode('n1', aVolume({ deleting: 'yes', phase: 'Available' }));
  const deletion = { seenMs: 0, answers: [], forMs: 0, seenForMs: 0 };
  const ofOtherClaim = aVolume({ spec: { claimRef: { namespace: 'team', name: 'other', uid: 'uid-other' } } });

  it.each([
    ['that does not exist', refusal(404), {}],
    ['of this node', onNode('n1'), { volume: { kind: 'own' } }],
    ['of this node that is being deleted', going, { volume: { kind: 'losing', record: going } }],
    [
      'of another claim',
      onNode('n2', ofOtherClaim),
      { volume: { kind: 'taken', name: 'pvc-uid-data', owner: 'team/other' } },
    ],
    ['of another driver', aVolume({ annotations: {}, spec: { csi: { driver: 'other', volumeHandle: 'h' } } }), {}],
    ['of another node', onNode('n2'), { volume: { kind: 'elsewhere', record: onNode('n2') }, deletion }],
  ])('given one %s, then that is returned, and the read ends with the run', async (_what, answer, changes) => {
    const { run, known, requests } = aRun({ answers: [answer], state: { remembers: 'pinned' }, onNode: 'n1' });
    expect(await step.readRecord(run, known)).toEqual(changes);
    expect(requests).toEqual(['get pvc-uid-data, ends with the run']);
  });

  it('given a deletion that is known, then it stays', async () => {
    const facts = { remembers: 'pinned', presence: 'deleting', deletedForMs: 5 } as const;
    const { run, known } = aRun({ answers: [onNode('n2')], state: facts, onNode: 'n1' });
    expect(await step.readRecord(run, known)).toMatchObject({ deletion: { forMs: 5 } });
  });

  it('given one that cannot be read, then that is the failure', async () => {
    const { run, known } = aRun({ answers: [refusal(500)], onNode: 'n1' });
    await expect(step.readRecord(run, known)).rejects.toThrow('no');
  });
});

describe('protect', () => {
  it('given a claim without finalizer, then the written claim is returned, and the write does not end with the run', async () => {
    const { run, known, requests, remembered } = aRun({});
    expect(await step.protect(run, known)).toEqual({ protecting: 'done', isProtected: true, claim: remembered[0] });
    expect([finalizersOf(remembered[0] as PersistentVolumeClaim), requests]).toEqual([[ours], ['update']]);
  });

  it('given a newer version in the cache, then that one is written', async () => {
    const { run, known } = aRun({ cached: aClaim({ finalizers: ['x/y'] }) });
    expect(finalizersOf((await step.protect(run, known)).claim)).toEqual(['x/y', ours]);
  });

  it('given the instance of another node was faster, then the finalizer is not ours', async () => {
    const cached = aClaim({ ...on, node: 'n2' });
    const { run, known } = aRun({ cached, onNode: 'n1' });
    expect(await step.protect(run, known)).toEqual({ protecting: 'done', isProtected: false, claim: cached });
  });

  it.each([
    [403, { protecting: 'refused' }, 1],
    [500, { protecting: 'failed' }, 0],
    [404, { protecting: 'refused', presence: 'gone' }, 0],
  ])('given an update that ends with %i, then %o, with %i warnings', async (status, changes, warnings) => {
    const { run, known, lines } = aRun({ answers: [refusal(status)] });
    expect(await step.protect(run, known)).toEqual({ ...changes, claim: aClaim() });
    expect(lines.map(({ message }) => message)).toEqual(
      Array(warnings).fill('Cannot put the provisioning finalizer on a claim'),
    );
  });
});

describe('unprotect', () => {
  const settled = (refused: boolean): ClaimRecord => {
    const refusal_ = refused ? { untilMs: 1, classUid: 'c' } : undefined;
    return { kind: 'settled', claim: aClaim(on), refusal: refusal_ };
  };

  it.each([
    ['a settled claim', { memory: settled(false) }, none, undefined],
    ['the refusal of a class', { memory: settled(true) }, settled(true), settled(true)],
    ['a volume that may exist', { remembers: 'open' }, none, undefined],
  ] as const)('given %s, then the finalizer is removed', async (...[, facts, memory, left]) => {
    const { run, known, entry } = aRun({ state: facts, claim: on });
    const changes = await step.unprotect(run, known);
    expect(changes).toMatchObject({ isProtected: false, memory });
    expect([finalizersOf(changes.claim), entry()]).toEqual([[], left]);
  });

  it('given a claim that is gone, then it is forgotten', async () => {
    const { run, known, entry } = aRun({ state: { remembers: 'settled' }, claim: on, answers: [refusal(404)] });
    expect(await step.unprotect(run, known)).toMatchObject({ presence: 'gone', isProtected: false, memory: none });
    expect(entry()).toBeUndefined();
  });

  it('given an update that fails, then the claim stays protected and in memory', async () => {
    const { run, known, entry } = aRun({ state: { remembers: 'settled' }, claim: on, answers: [refusal(500)] });
    expect(await step.unprotect(run, known)).toEqual({ claim: aClaim(on) });
    expect(entry()).toEqual(known.memory);
  });
});

describe('reschedule', () => {
  const claim = { ...on, node: 'n1' } as const;
  const set = { state: { remembers: 'settled' }, claim } as const;
  const nodeOf = (written: PersistentVolumeClaim | undefined) =>
    written?.metadata?.annotations?.[annotations.selectedNode];

  it('given that the finalizer is kept, then only the selected node is removed, and memory stays', async () => {
    const { run, known, entry } = aRun(set);
    const changes = await step.reschedule(run, known, 'keep');
    expect(changes).toEqual({ write: 'done', claim: changes.claim });
    expect([nodeOf(changes.claim), finalizersOf(changes.claim), entry()]).toEqual([undefined, [ours], known.memory]);
  });

  it('given that the finalizer is removed, then both are, and the claim is forgotten', async () => {
    const { run, known, entry } = aRun(set);
    const changes = await step.reschedule(run, known, 'remove');
    expect(changes).toMatchObject({ write: 'done', isProtected: false, memory: none });
    expect([nodeOf(changes.claim), finalizersOf(changes.claim), entry()]).toEqual([undefined, [], undefined]);
  });

  it('given a conflict, then it is not repeated, and memory stays', async () => {
    const { run, known, entry, requests } = aRun({ ...set, answers: [refusal(409)] });
    expect(await step.reschedule(run, known, 'remove')).toEqual({ write: 'failed', claim: aClaim(claim) });
    expect([entry(), requests]).toEqual([known.memory, ['update']]);
  });
});

describe('memory', () => {
  it('given an answer that settles nothing, then the claim is remembered as open, with its deletion', () => {
    const { run, known, entry } = aRun({ state: { pinned, presence: 'deleting' } });
    const deletion = { seenMs: 0, answers: [], forMs: 0, seenForMs: 0 };
    expect(step.releaseRequest(run, known)).toEqual({ kind: 'open', claim: aClaim(), deletion });
    expect(entry()).toEqual({ kind: 'open', claim: aClaim(), deletion });
  });

  it.each([
    ['without the finalizer', {}, undefined, undefined],
    ['with the finalizer', on, undefined, { kind: 'settled', claim: aClaim(on), refusal: undefined }],
    ['that its class refused, out of the cache', {}, 'class-uid', undefined],
  ])(
    'given a settled claim %s, then it is remembered until its finalizer is removed',
    (...[, claim, refusedBy, left]) => {
      const { run, known, entry } = aRun({ state: { pinned }, claim });
      expect(step.settle(run, known, refusedBy)).toEqual(left ?? none);
      expect(entry()).toEqual(left);
    },
  );

  it('given a settled claim in the cache that no class refused, then it is forgotten', () => {
    const { run, known, entry } = aRun({ state: { pinned }, cached: aClaim() });
    expect([step.settle(run, known, undefined), entry()]).toEqual([none, undefined]);
  });

  it('given the refusal of a class, then it is remembered for five minutes', () => {
    const { run, known, entry, clock } = aRun({ state: { pinned }, cached: aClaim() });
    const refused = { untilMs: clock.monotonicMs() + 300_000, classUid: 'class-uid' };
    expect(step.settle(run, known, 'class-uid')).toEqual({ kind: 'settled', claim: aClaim(), refusal: refused });
    expect(entry()).toEqual({ kind: 'settled', claim: aClaim(), refusal: refused });
  });
});

describe('giving up', () => {
  const deleted = { state: { presence: 'deleting', remembers: 'open' }, claim: on } as const;

  it('given open answers, then the finalizer is removed, the answer is counted, and memory continues', async () => {
    const { run, known, entry } = aRun(deleted);
    const changes = await step.giveUp(run, known, 'open');
    expect(changes).toMatchObject({ isProtected: false, memory: known.memory });
    expect(finalizersOf(changes.claim)).toEqual([]);
    expect(entry()).toMatchObject({ kind: 'open', deletion: { answers: ['open'], isGivenUp: true } });
  });

  it('given a final answer, then the claim is forgotten', async () => {
    const { run, known, entry } = aRun(deleted);
    expect(await step.giveUp(run, known, 'final')).toMatchObject({ isProtected: false, memory: none });
    expect(entry()).toBeUndefined();
  });

  it('given an update that fails, then the claim stays protected and in memory', async () => {
    const { run, known, entry } = aRun({ ...deleted, answers: [refusal(500)] });
    expect(await step.giveUp(run, known, 'final')).toEqual({ claim: aClaim(on) });
    expect(entry()).toMatchObject({ kind: 'open', deletion: { answers: ['final'] } });
  });

  it('given a claim that is gone, then it counts as given up', async () => {
    const { run, known } = aRun({ ...deleted, answers: [refusal(404)] });
    expect(await step.giveUp(run, known, 'open')).toMatchObject({ presence: 'gone', isProtected: false });
  });

  it('given a claim whose deletion was not seen, then no answer is counted', async () => {
    const { run, known, entry } = aRun({ state: { remembers: 'open' }, claim: on });
    await step.giveUp(run, known, 'open');
    expect(entry()).toEqual(known.memory);
  });

  it.each([
    ['is written', [], 'done', 0],
    ['fails', [refusal(500)], 'failed', 1],
    ['conflicts', [refusal(409)], 'failed', 1],
  ])(
    'given the removal of the finalizer of another instance %s, then that is returned',
    async (...[, answers, write, left]) => {
      const { run, known } = aRun({ cached: aClaim(on), answers, onNode: 'n1' });
      const changes = await step.giveUpOther(run, known);
      expect([changes.write, finalizersOf(changes.claim)?.length]).toEqual([write, left]);
    },
  );
});

describe('save', () => {
  const volume = aVolume();

  it('given a volume that is saved, then that is returned, and memory stays', async () => {
    const { run, known, entry, effects } = aRun({ state: { pinned }, cached: aClaim() });
    expect(await step.save(run, known, volume)).toEqual({ saved: { row: 'S1', kind: 'saved', claim: 'there' } });
    expect([entry(), effects]).toEqual([known.memory, []]);
  });

  describe('given a PersistentVolume of the name is there', () => {
    const exists = new ApiError({ status: 409, reason: 'AlreadyExists', message: 'exists' });
    const matchExpressions = [{ key: 'node', operator: 'In', values: ['n2'] }];
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
    const ofOther = { ...volume, spec: { ...volume.spec, nodeAffinity } };
    const saved = { row: 'S3', kind: 'saved', claim: 'gone' };
    const save = async (setUp: SetUp) => {
      const { run, known, requests } = aRun({ state: { pinned }, ...setUp });
      return [await step.save(run, known, volume), requests.length];
    };

    it('when it is read once more in node deployment, then one of another node is not the record', async () => {
      const [changes, requests] = await save({ onNode: 'n1', answers: [exists, volume, ofOther] });
      expect(changes).toMatchObject({ saved, volume: { kind: 'elsewhere', record: ofOther } });
      expect(requests).toBe(3);
    });

    it.each([
      ['is ours', volume],
      ['cannot be read', refusal(500)],
    ])('when it %s, then it is the record', async (_what, answer) => {
      expect(await save({ onNode: 'n1', answers: [exists, volume, answer] })).toEqual([{ saved }, 3]);
    });

    it('when the deployment is central, then it is not read again', async () => {
      expect(await save({ answers: [exists, volume] })).toEqual([{ saved }, 2]);
    });

    it('when it is made in node deployment, then it is not read', async () => {
      expect(await save({ onNode: 'n1' })).toMatchObject([{ saved: { row: 'S1' } }, 1]);
    });
  });

  it('given a save that fails, then the volume is remembered, the save loop is woken after its delay, and the failure is logged', async () => {
    const facts = { pinned, presence: 'deleting', created: made } as const;
    const { run, known, entry, effects, lines } = aRun({ state: facts, answers: [refusal(500)] });
    const memory = { kind: 'saving', claim: aClaim(), pinned, volume, deletion: known.deletion };
    expect(await step.save(run, known, volume)).toMatchObject({ saved: { kind: 'later' }, memory });
    expect([entry(), effects]).toEqual([memory, [`wake ${plan.volumeName} rateLimited`]]);
    const message = 'successfully created PV pvc-uid-data for PVC data and csi volume name v1';
    expect(lines).toMatchObject([
      { kind: 'info', level: 2, message },
      { kind: 'error', message: 'Failed to save volume', facts: { PVC: 'team/data' } },
    ]);
  });
});

describe('taking a claim for a node', () => {
  it('given no wait, when it starts, then the time that is left is returned', () => {
    const { run, effects } = aRun({});
    expect([step.startWait(run), effects]).toEqual([700, [`begin ${key}`]]);
  });

  it('given nothing in the way, then the next wait is the first again', async () => {
    const { run, effects, requests } = aRun({ cached: aClaim() });
    expect([await step.selectNode(run, 'n1'), effects, requests]).toEqual(['done', [`forget ${key}`], ['update']]);
  });

  it.each([
    ['a conflict', aClaim(), [refusal(409)], 'conflict', ['update']],
    ['a claim that is gone', aClaim(), [refusal(404)], 'done', ['update']],
    ['another node in the cache by now', aClaim({ node: 'n2' }), [], 'conflict', []],
  ])('given %s, then the next wait is longer', async (...[, cached, answers, selected, sent]) => {
    const { run, effects, requests } = aRun({ cached, answers });
    expect([await step.selectNode(run, 'n1'), effects, requests]).toEqual([selected, [`end ${key}`], sent]);
  });

  it('given a write that fails, then that is the failure, and the next wait is longer', async () => {
    const { run, effects } = aRun({ cached: aClaim(), answers: [refusal(500)] });
    await expect(step.selectNode(run, 'n1')).rejects.toThrow('no');
    expect(effects).toEqual([`end ${key}`]);
  });

  it('given the claim has left the cache, then nothing is written', async () => {
    const { run, effects, requests } = aRun({});
    expect([await step.selectNode(run, 'n1'), effects, requests]).toEqual(['done', [], []]);
  });
});
