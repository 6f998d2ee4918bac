// SPDX-License-Identifier: Apache-2.0
/** The meaning of errors of the channel that neither the driver's model nor a fault rule can produce. */
import { type CsiChannel, CsiError } from '@csi-sidecars/csi';
import { type ApiClient, ApiError } from '@csi-sidecars/runtime';
import { FakeClock, type RecordingLogger, recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aVolume, driverName } from '../../testing/builders.ts';
import { context, made, pinned, state, unusable } from '../../testing/claim-states.ts';
import { uidOf } from './claim.ts';
import { createClaimMemory } from './memory.ts';
import type { ClaimRun, Known } from './state.ts';
import { type Call, checkSpace, cleanUp, createVolume } from './volume-calls.ts';

const method = '/csi.v1.Controller/CreateVolume';
const internal = new CsiError({ code: 'Internal', method, detail: 'no' });
const unreadable = new CsiError({
  code: 'Internal',
  method,
  detail: 'Response message parsing error',
  isUnreadable: true,
});

function depsWith(error: Error, lost = new AbortController().signal) {
  const call = async (): Promise<never> => {
    throw error;
  };
  const channel: CsiChannel = { call, lost, close: () => undefined };
  return { ...context, channel, memory: createClaimMemory() };
}
const { signal } = new AbortController();
/** No PersistentVolume of our name is in the API server. */
const client = {
  get: async () => {
    throw new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
  },
} as unknown as ApiClient;
const key = uidOf(aClaim());
const first: Call = { pinned, isFirst: true };

/** A run with these dependencies. */
function aRun(deps: object, others: object = {}): ClaimRun {
  const caches = { claims: { byIndex: () => [] }, volumes: { list: () => [] } };
  const logger = recordingLogger();
  return {
    client,
    clock: new FakeClock(),
    logger,
    key,
    signal,
    caches,
    context: deps,
    ...others,
  } as unknown as ClaimRun;
}

const create = (
  deps: object,
  { call = first, known = state(), ...others }: { call?: Call; known?: Known; signal?: AbortSignal } = {},
) => createVolume(aRun(deps, others), known, call);

/** A driver that gives these answers in order, the last one for ever, and takes some time for each. */
function aDriverThat(answers: readonly unknown[], { clock = new FakeClock(), takesMs = 0 } = {}) {
  const calls: { readonly method: string; readonly request: unknown; readonly options: unknown }[] = [];
  const left = [...answers];
  const call = async (name: string, request: unknown, options: unknown): Promise<unknown> => {
    calls.push({ method: name, request, options });
    await clock.advance(takesMs);
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const channel = { call: call as CsiChannel['call'], lost: new AbortController().signal, close: () => undefined };
  return { deps: { ...context, channel, memory: createClaimMemory() }, calls, clock };
}

it('given a volume, when it is created, then the call has the timeout of calls and ends with the run, and the request is remembered', async () => {
  const { deps, calls } = aDriverThat([{ volume: made.volume }]);
  const learned = await create(deps);
  const memory = { kind: 'pinned', claim: aClaim(), pinned, deletion: undefined };
  expect(learned).toEqual({ memory, created: made });
  expect(deps.memory.get(uidOf(aClaim()))).toEqual(memory);
  expect(calls).toEqual([{ method, request: pinned.request, options: { timeoutMs: 10_000, signal, migrated: false } }]);
});

it('given a claim that is being deleted, when its volume is created, then memory still knows since when', async () => {
  const { deps } = aDriverThat([{ volume: made.volume }]);
  const deleted = state({ deletedForMs: 5 }, { deleting: 'yes' });
  const { memory, deletion } = await create(deps, { known: deleted });
  expect(memory).toMatchObject({ kind: 'pinned', deletion: { forMs: 5 } });
  expect(deletion).toMatchObject({ seenMs: 0 });
});

it('given a driver that replaced an in-tree plugin, when it answers with the source in another form, then that is no volume of the claim', async () => {
  const handle = (project: string): string => `projects/${project}/zones/z/disks/d`;
  const { deps } = aDriverThat([{ volume: { ...made.volume, volume_id: handle('p') } }]);
  const request = { ...pinned.request, volume_content_source: { volume: { volume_id: handle('UNSPECIFIED') } } };
  const call = { pinned: { ...pinned, request }, isFirst: true };
  const driver = { ...context.driver, name: 'pd.csi.storage.gke.io' };
  expect((await create({ ...deps, driver }, { call })).created).toMatchObject({ kind: 'malformed' });
});

it('given a driver that takes its time, when a volume is deleted, then nothing is returned before its answer', async () => {
  const { deps, clock } = aDriverThat([{}]);
  let hasAnswered = false;
  const call = async (): Promise<unknown> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    hasAnswered = true;
    return {};
  };
  const channel = { ...deps.channel, call: call as CsiChannel['call'] };
  await cleanUp(aRun({ ...deps, channel }, { clock }), state({ pinned }), unusable);
  expect(hasAnswered).toBe(true);
});

describe('an error of CreateVolume', () => {
  it('given an answer that cannot be decoded, when it comes, then the outcome is ambiguous, whatever its code', async () => {
    const { created } = await create(depsWith(unreadable));
    expect(created).toEqual({ row: 'O1', kind: 'ambiguous', message: unreadable.message, isAnswer: true });
  });

  it('given the same code from the driver, when it comes, then it is final', async () => {
    const { created } = await create(depsWith(internal));
    expect(created).toEqual({ row: 'O5', kind: 'final', message: internal.message, isSettled: true });
  });

  it('given an earlier call, when the driver answers with that code, then the claim is not settled', async () => {
    const { created } = await create(depsWith(internal), {
      known: state({ pinned }),
      call: { pinned, isFirst: false },
    });
    expect(created).toEqual({ row: 'O4', kind: 'final', message: internal.message, isSettled: false });
  });

  it('[provisioner#P7] given a lost connection or a process that ends, when a call fails, then that does not count as an answer; a deadline does', async () => {
    const unavailable = new CsiError({ code: 'Unavailable', method, detail: 'connection lost' });
    const deadline = new CsiError({ code: 'DeadlineExceeded', method, detail: 'context deadline exceeded' });
    const created = async (
      error: Error,
      options: { lost?: AbortSignal; signal?: AbortSignal } = {},
    ): Promise<unknown> => (await create(depsWith(error, options.lost), { signal: options.signal ?? signal })).created;
    const over = AbortSignal.abort(new Error('over'));
    expect(await created(unavailable)).toMatchObject({ kind: 'ambiguous', isAnswer: true });
    expect(await created(deadline)).toMatchObject({ kind: 'ambiguous', isAnswer: true });
    expect(await created(unavailable, { lost: over })).toMatchObject({ kind: 'ambiguous', isAnswer: false });
    expect(await created(deadline, { signal: over })).toMatchObject({ kind: 'ambiguous', isAnswer: false });
  });
});

describe('[provisioner#I7] the metric label of calls', () => {
  it.each([true, false])(
    'given a plan that is migrated: %s, when calls are made, then they say so',
    async (migrated) => {
      const said: unknown[] = [];
      const deps = depsWith(internal);
      const call: CsiChannel['call'] = async (_method, _request, options) => {
        said.push(options.migrated);
        throw internal;
      };
      const of = { ...pinned, plan: { ...pinned.plan, isMigrated: migrated } };
      const channel = { ...deps.channel, call };
      await create({ ...deps, channel }, { call: { pinned: of, isFirst: true } });
      await cleanUp(aRun({ ...deps, channel }), state({ pinned: of }), unusable);
      expect(said).toEqual(Array(6).fill(migrated));
    },
  );
});

describe('an error of the DeleteVolume that cleans up', () => {
  it('given an answer that cannot be decoded, when it comes, then the deletion may still be running', async () => {
    const { cleanedUp, memory } = await cleanUp(aRun(depsWith(unreadable)), state({ pinned }), unusable);
    expect(cleanedUp).toEqual({ failure: unreadable.message, isOpen: true });
    expect(memory?.kind === 'pinned' && memory.pinned.deleting).toEqual(unusable);
  });

  it('given a final code, when it comes, then no deletion is running', async () => {
    const { cleanedUp, memory } = await cleanUp(aRun(depsWith(internal)), state({ pinned }), unusable);
    expect(cleanedUp).toEqual({ failure: internal.message, isOpen: false });
    expect(memory?.kind === 'pinned' && memory.pinned.deleting).toBeUndefined();
  });
});

it.each([
  { given: 'a selected node and topology', supportsTopology: true, selectedNode: 'n1', kind: 'reschedule' },
  { given: 'no selected node', supportsTopology: true, selectedNode: '', kind: 'final' },
  { given: 'no topology', supportsTopology: false, selectedNode: 'n1', kind: 'final' },
])('given $given, when the driver has no space, then the outcome is $kind', async (line) => {
  const exhausted = new CsiError({ code: 'ResourceExhausted', method, detail: 'full' });
  const of = { ...pinned, plan: { ...pinned.plan, selectedNode: line.selectedNode } };
  const deps = { ...depsWith(exhausted), supportsTopology: line.supportsTopology };
  const { created } = await create(deps, { call: { pinned: of, isFirst: true } });
  expect(created).toMatchObject({ kind: line.kind, message: exhausted.message });
});

describe('an error that does not come from the driver', () => {
  it('given the channel fails in another way, then the outcome is ambiguous and a deletion may still be running', async () => {
    // Errors of Node.js have codes as well.
    const defect = Object.assign(new TypeError('odd'), { code: 'Internal' });
    expect(await create(depsWith(defect))).toMatchObject({
      created: { kind: 'ambiguous', message: 'odd' },
    });
    const { deps, clock } = aDriverThat([defect]);
    expect((await cleanUp(aRun(deps, { clock }), state({ pinned }), unusable)).cleanedUp).toEqual({
      failure: 'odd',
      isOpen: true,
    });
  });
});

describe('asking for space', () => {
  const answer = (available: string, maximum?: string): unknown => ({
    available_capacity: available,
    maximum_volume_size: maximum === undefined ? null : { value: maximum },
  });
  const requests = [{ parameters: { place: '1' } }, { parameters: { place: '2' } }];

  it.each([
    ['as much as requested', [answer('100')], 'enough', 1],
    ['too little in every place', [answer('99')], 'short', 2],
    ['enough in the second place', [answer('99'), answer('100')], 'enough', 2],
    ['enough, and volumes that may be as large', [answer('1000', '100')], 'enough', 1],
    ['enough, and volumes that may not be as large', [answer('1000', '99')], 'short', 2],
    ['too little, and volumes that may be as large', [answer('99', '1000')], 'short', 2],
    ['an error', [internal], 'unknown', 1],
    ['too little, then an error', [answer('0'), internal], 'unknown', 2],
  ])('given 100 bytes and a driver that reports %s, then that is the answer', async (...[, answers, space, count]) => {
    const { deps, calls } = aDriverThat(answers);
    expect([await checkSpace(aRun(deps), requests, 100n), calls.length]).toEqual([space, count]);
  });

  it('given an error, then its reason is logged', async () => {
    const run = aRun(aDriverThat([internal]).deps);
    await checkSpace(run, requests, 100n);
    expect((run.logger as unknown as RecordingLogger).lines).toMatchObject([
      {
        level: 3,
        message: 'proceeding with becoming owner although the capacity check failed',
        facts: { claim: key, reason: `GetCapacity: ${internal.message}` },
      },
    ]);
  });

  it('given a place, then the call has the timeout of calls and ends with the run', async () => {
    const { deps, calls } = aDriverThat([answer('100')]);
    await checkSpace(aRun(deps), requests, 100n);
    const name = '/csi.v1.Controller/GetCapacity';
    expect(calls).toEqual([{ method: name, request: requests[0], options: { timeoutMs: 10_000, signal } }]);
  });

  it('given no place, then there is not enough', async () => {
    expect(await checkSpace(aRun(aDriverThat([]).deps), [], 1n)).toBe('short');
  });
});

describe('the attempts to clean up', () => {
  const volume = { ...unusable, attributes: { a: 'b' } };
  const secrets = { user: 'x' };
  const sent = { ...pinned, request: { ...pinned.request, secrets } };
  const clean = (
    deps: object,
    clock: FakeClock,
    more: { known?: Known; records?: object[]; client?: ApiClient; of?: object } = {},
  ) => {
    const { known = state({ pinned: sent }), records = [aVolume()], of = {}, ...others } = more;
    const caches = { claims: { byIndex: () => [] }, volumes: { list: () => records } };
    return cleanUp(aRun(deps, { clock, caches, ...others }), known, { ...volume, ...of });
  };

  it('given success, then one call names the volume and has the secrets, and memory no longer knows of a deletion', async () => {
    const { deps, calls, clock } = aDriverThat([{}]);
    const known = state({ pinned: { ...sent, deleting: volume } });
    const memory = { kind: 'pinned', claim: aClaim(), pinned: sent, deletion: undefined };
    expect(await clean(deps, clock, { known })).toEqual({ cleanedUp: 'yes', memory });
    expect(deps.memory.get(uidOf(aClaim()))).toEqual(memory);
    const request = { volume_id: 'v1', secrets };
    const options = { timeoutMs: 10_000, signal, migrated: false };
    expect(calls).toEqual([{ method: '/csi.v1.Controller/DeleteVolume', request, options }]);
  });

  it('given a failure, then it is tried five times without a pause; given success at last, then no more', async () => {
    const failing = aDriverThat([internal]);
    expect((await clean(failing.deps, failing.clock)).cleanedUp).toMatchObject({ failure: internal.message });
    expect(failing.calls).toHaveLength(5);
    const recovering = aDriverThat([internal, internal, {}]);
    expect((await clean(recovering.deps, recovering.clock)).cleanedUp).toBe('yes');
    expect(recovering.calls).toHaveLength(3);
  });

  it('given calls that take long, then all have one timeout together', async () => {
    const clock = new FakeClock();
    const { deps, calls } = aDriverThat([internal], { clock, takesMs: 4_000 });
    await clean(deps, clock);
    expect(calls.map(({ options }) => options)).toMatchObject(
      [10_000, 6_000, 2_000].map((timeoutMs) => ({ timeoutMs })),
    );
    const exact = aDriverThat([internal], { clock, takesMs: 5_000 });
    await clean(exact.deps, clock);
    expect(exact.calls).toHaveLength(2);
  });

  it('given no time for a call, then the deletion counts as running', async () => {
    const { deps, calls, clock } = aDriverThat([{}]);
    const settings = { ...context.settings, timeoutMs: 0 };
    const { cleanedUp } = await clean({ ...deps, settings }, clock);
    expect([cleanedUp, calls]).toEqual([{ failure: 'context deadline exceeded', isOpen: true }, []]);
  });

  it('given a PersistentVolume records the volume, then it is not deleted, and no deletion is running', async () => {
    const { deps, calls, clock } = aDriverThat([{}]);
    const own = aVolume({ name: 'pv-x', spec: { csi: { driver: driverName, volumeHandle: 'v1' } } });
    const { cleanedUp, memory } = await clean(deps, clock, { records: [aVolume(), own] });
    expect([cleanedUp, calls]).toEqual([{ failure: expect.stringContaining('pv-x') as unknown, isOpen: false }, []]);
    expect(memory).toMatchObject({ kind: 'pinned', pinned: sent });
  });

  it('given the PersistentVolume of our name has another volume, then the volume is deleted', async () => {
    const { deps, clock } = aDriverThat([{}]);
    const other = { get: async () => aVolume() } as unknown as ApiClient;
    expect((await clean(deps, clock, { client: other })).cleanedUp).toBe('yes');
  });

  it('given an in-tree PersistentVolume that names the volume by an attribute, then it is a record too', async () => {
    const { deps, calls, clock } = aDriverThat([{}]);
    const driver = { ...context.driver, name: 'csi.vsphere.vmware.com' };
    const spec = { csi: undefined as never, vsphereVolume: { volumePath: 'p' } };
    const records = [aVolume({ name: 'pv-x', spec })];
    const of = { attributes: { initialvolumefilepath: 'p' } };
    expect((await clean({ ...deps, driver }, clock, { records, of })).cleanedUp).toMatchObject({ isOpen: false });
    expect(calls).toEqual([]);
  });

  it('given a last millisecond, then it is used', async () => {
    const clock = new FakeClock();
    const { deps, calls } = aDriverThat([internal], { clock, takesMs: 9_999 });
    await clean(deps, clock);
    expect(calls.map(({ options }) => options)).toMatchObject([{ timeoutMs: 10_000 }, { timeoutMs: 1 }]);
  });

  it('given the deletion of the claim, then it is older after the attempts', async () => {
    for (const answer of [{}, internal]) {
      const clock = new FakeClock();
      const { deps } = aDriverThat([answer], { clock, takesMs: 1_000 });
      const known = state({ pinned: sent, deletion: { seenMs: 0, answers: [], forMs: 0, seenForMs: 0 } });
      const { deletion } = await clean(deps, clock, { known });
      expect(deletion?.seenForMs).toBe(clock.monotonicMs());
    }
  });

  it.each([
    [
      'records the volume',
      aVolume({ spec: { csi: { driver: driverName, volumeHandle: 'v1' } } }),
      /pvc-uid-data has it$/,
      false,
    ],
    ['cannot be read', new Error('down'), /^down$/, true],
  ])(
    'given the PersistentVolume of our name in the API server %s, then the volume is kept',
    async (...[, answer, failure, isOpen]) => {
      const options: unknown[] = [];
      const get = async (_resource: object, _ref: object, how: unknown): Promise<unknown> => {
        options.push(how);
        if (answer instanceof Error) throw answer;
        return answer;
      };
      const { deps, calls, clock } = aDriverThat([{}]);
      const { cleanedUp } = await clean(deps, clock, { client: { get } as unknown as ApiClient, records: [] });
      expect(cleanedUp).toEqual({ failure: expect.stringMatching(failure), isOpen });
      expect([calls, options]).toEqual([[], [{ signal }]]);
    },
  );
});
