// SPDX-License-Identifier: Apache-2.0
/** The meaning of errors of the channel that neither the driver's model nor a fault rule can produce. */
import { type CsiChannel, CsiError } from '@csi-sidecars/csi';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { context, pinned, state, unusable } from '../../testing/claim-states.ts';
import { createClaimMemory } from './memory.ts';
import { cleanUp, createVolume } from './volume-calls.ts';

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
const action = { row: 'C22', kind: 'createVolume', pinned, request: pinned.request, isFirst: true } as const;
const first = { state: state(), action, signal };

describe('an error of CreateVolume', () => {
  it('given an answer that cannot be decoded, when it comes, then the outcome is ambiguous, whatever its code', async () => {
    const { created } = await createVolume(depsWith(unreadable), first);
    expect(created).toEqual({ row: 'O1', kind: 'ambiguous', message: unreadable.message, isAnswer: true });
  });

  it('given the same code from the driver, when it comes, then it is final', async () => {
    const { created } = await createVolume(depsWith(internal), first);
    expect(created).toEqual({ row: 'O5', kind: 'final', message: internal.message, isSettled: true });
  });

  it('given an earlier call, when the driver answers with that code, then the claim is not settled', async () => {
    const { created } = await createVolume(depsWith(internal), {
      state: state({ pinned }),
      action: { ...action, isFirst: false },
      signal,
    });
    expect(created).toEqual({ row: 'O4', kind: 'final', message: internal.message, isSettled: false });
  });

  it('[provisioner#P7] given a lost connection or a process that ends, when a call fails, then that does not count as an answer; a deadline does', async () => {
    const unavailable = new CsiError({ code: 'Unavailable', method, detail: 'connection lost' });
    const deadline = new CsiError({ code: 'DeadlineExceeded', method, detail: 'context deadline exceeded' });
    const created = async (
      error: Error,
      options: { lost?: AbortSignal; signal?: AbortSignal } = {},
    ): Promise<unknown> =>
      (await createVolume(depsWith(error, options.lost), { ...first, signal: options.signal ?? signal })).created;
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
      await createVolume({ ...deps, channel }, { ...first, action: { ...action, pinned: of } });
      await cleanUp(
        { ...deps, channel },
        {
          clock: new FakeClock(),
          caches: { volumes: { list: () => [] } },
          state: state({ pinned: of }),
          action: { row: 'C28', kind: 'cleanUp', volume: unusable, secrets: {} },
          signal,
        },
      );
      expect(said).toEqual(Array(6).fill(migrated));
    },
  );
});

describe('an error of the DeleteVolume that cleans up', () => {
  const step = {
    clock: new FakeClock(),
    caches: { volumes: { list: () => [] } },
    state: state({ pinned }),
    action: { row: 'C28', kind: 'cleanUp', volume: unusable, secrets: {} },
    signal,
  } as const;

  it('given an answer that cannot be decoded, when it comes, then the deletion may still be running', async () => {
    const { cleanedUp, memory } = await cleanUp(depsWith(unreadable), step);
    expect(cleanedUp).toEqual({ failure: unreadable.message, isOpen: true });
    expect(memory?.kind === 'pinned' && memory.pinned.deleting).toEqual(unusable);
  });

  it('given a final code, when it comes, then no deletion is running', async () => {
    const { cleanedUp, memory } = await cleanUp(depsWith(internal), step);
    expect(cleanedUp).toEqual({ failure: internal.message, isOpen: false });
    expect(memory?.kind === 'pinned' && memory.pinned.deleting).toBeUndefined();
  });
});
