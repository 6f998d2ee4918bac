// SPDX-License-Identifier: Apache-2.0
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { there } from '@csi-sidecars/test-driver/testing';
import { volumeSnapshotClasses, volumeSnapshotContents } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClass, aContent, beingCreated, finalCodes } from '../../testing/builders.ts';
import {
  aSnapshotter,
  conflict,
  type Fixture,
  type FixtureOptions,
  forbidden,
} from '../../testing/snapshotter-fixture.ts';

const object = 'patch volumesnapshotcontents';
const status = 'patch volumesnapshotcontents/status';

/** The driver and the API server are prepared before the content appears. */
async function attempted(prepare: (s: Fixture) => void, options: FixtureOptions = {}): Promise<Fixture> {
  const s = await aSnapshotter({ ...options, seed: [aClass()] });
  prepare(s);
  s.server.seed(aContent());
  await s.settle();
  return s;
}

const shortWrites = (s: Fixture): readonly string[] =>
  s.writes().map((it) => it.replace('volumesnapshotcontents', 'c'));
const withdrawalIsRefused: FaultRule = {
  when: ({ verb, resource, subresource, request }) =>
    verb === 'patch' &&
    resource === 'volumesnapshotcontents' &&
    subresource === undefined &&
    bodyOf(request).includes('null'),
  fault: forbidden,
};
const marked = (s: Fixture): boolean => s.content()?.metadata?.annotations?.[Object.keys(beingCreated)[0]!] === 'yes';
const internal = 'failed to take snapshot of the volume volume-1: "rpc error: code = Internal desc = no"';

describe('the driver refuses', () => {
  it('given a class that changes while a snapshot waits for its next attempt, then the driver is not called earlier', async () => {
    const s = await attempted((it) => it.failCalls('Internal'));
    expect(s.calls().length).toBe(1);
    s.server.objects.change(volumeSnapshotClasses, { name: 'gold' }, (found) => ({ ...found, parameters: { a: 'b' } }));
    await s.settle();
    expect(s.calls().length).toBe(1);
    await s.clock.advance(1_200);
    expect(s.calls().length).toBe(2);
    await s.stop();
  });

  it('given a content that is gone after two failures, then another one of its name begins with the first delay', async () => {
    const s = await attempted((it) => it.failCalls('Internal', { times: 3 }));
    await s.clock.advance(1_200);
    s.server.objects.remove(volumeSnapshotContents, { name: 'content' });
    await s.settle();
    s.server.seed(aContent({ uid: 'another' }));
    await s.settle();
    expect(s.calls().length).toBe(3);
    await s.clock.advance(1_200);
    expect([s.calls().length, s.content()?.status?.readyToUse]).toEqual([4, true]);
    await s.stop();
  });

  it.each(finalCodes)(
    '[csi-snapshotter#29] given %s, which is final, then the intent is withdrawn before the error is shown',
    async (code) => {
      const s = await attempted((it) => it.failCalls(code));
      expect(shortWrites(s)).toEqual(['patch c content 200', 'patch c content 200', 'patch c/status content 200']);
      expect(marked(s)).toBe(false);
      expect(s.content()?.status).toEqual({
        readyToUse: false,
        error: {
          time: '2026-01-01T00:00:00Z',
          message: `Failed to create snapshot: failed to take snapshot of the volume volume-1: "rpc error: code = ${code} desc = no"`,
        },
      });
      await s.clock.advance(1_200);
      expect(s.content()?.status?.readyToUse).toBe(true);
      await s.stop();
    },
  );

  it.each(['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'] as const)(
    '[csi-snapshotter#30] given %s, which is not final, then the intent stays, and is not written again',
    async (code) => {
      const s = await attempted((it) => it.failCalls(code, { times: 2 }));
      expect(shortWrites(s)).toEqual(['patch c content 200', 'patch c/status content 200']);
      expect(marked(s)).toBe(true);
      await s.clock.advance(1_200);
      expect(shortWrites(s).slice(2)).toEqual(['patch c/status content 200']);
      await s.clock.advance(2_400);
      expect(shortWrites(s).slice(3)).toEqual(['patch c/status content 200', 'patch c content 200']);
      expect(new Set(s.requests('CreateSnapshot').map(({ name }) => name)).size).toBe(1);
      await s.stop();
    },
  );

  it('[csi-snapshotter#31] given the same error three times, then two writes and two events, and the third is silent', async () => {
    const s = await attempted((it) => it.failCalls('Internal', { times: 3 }));
    await s.clock.advance(1_200);
    const first = `Warning SnapshotCreationFailed content: Failed to create snapshot: ${internal}`;
    const second = `Warning SnapshotContentCheckandUpdateFailed content: Failed to check and update snapshot content: ${internal}`;
    expect(s.events).toEqual([first, second]);
    const writes = s.writes().length;
    await s.clock.advance(2_200);
    expect(s.calls().length).toBe(3);
    expect(s.events).toEqual([first, second]);
    expect(shortWrites(s).slice(writes)).toEqual(['patch c content 200', 'patch c content 200']);
    await s.stop();
  });

  it('[csi-snapshotter#34] given another error on a retry, then the status and an event show it', async () => {
    const s = await attempted((it) => {
      it.failCalls('Internal', { times: 2 });
      it.failCalls('Internal', { message: 'still no', skip: 2 });
    });
    await s.clock.advance(1_200);
    expect(s.content()?.status?.error?.message).toContain('"rpc error: code = Internal desc = no"');
    // From the second attempt on, the text begins the same way.
    await s.clock.advance(2_200);
    const changed = `Failed to check and update snapshot content: ${internal.replace('desc = no', 'desc = still no')}`;
    expect(s.content()?.status?.error?.message).toBe(changed);
    expect(s.events.slice(2)).toEqual([`Warning SnapshotContentCheckandUpdateFailed content: ${changed}`]);
    await s.stop();
  });

  it('[csi-snapshotter#32] given an error, then success, then the error goes with the write that makes it ready', async () => {
    const s = await attempted((it) => it.failCalls('Aborted'));
    await s.clock.advance(1_200);
    expect(there(s.content()?.status)).not.toHaveProperty('error');
    expect(s.bodies().at(-2)).toMatchObject({ status: { readyToUse: true, error: null } });
    await s.stop();
  });

  it('[csi-snapshotter#33] given an error, then an answer that is not ready, then the error stays until it is', async () => {
    const s = await attempted((it) => it.failCalls('Aborted'), { model: { snapshotProcessingMs: 3_000 } });
    await s.clock.advance(1_200);
    expect(s.content()?.status).toMatchObject({ readyToUse: false, snapshotHandle: 'snapshot-4', error: {} });
    await s.clock.advance(10_000);
    expect(s.content()?.status).toMatchObject({ readyToUse: true });
    expect(there(s.content()?.status)).not.toHaveProperty('error');
    await s.stop();
  });

  it('[csi-snapshotter#38] given a driver that is slower than the timeout, then the deadline is not final, and it is asked again', async () => {
    const s = await attempted(
      (it) => void it.driver.faults.add({ method: 'CreateSnapshot', times: 1, at: 'after', action: { kind: 'hang' } }),
    );
    await s.clock.advance(60_000);
    expect(s.content()?.status?.error?.message).toBe(
      'Failed to create snapshot: failed to take snapshot of the volume volume-1: "rpc error: code = DeadlineExceeded desc = context deadline exceeded"',
    );
    expect(marked(s)).toBe(true);
    await s.clock.advance(1_200);
    expect(s.content()?.status?.readyToUse).toBe(true);
    expect(s.driver.snapshots().length).toBe(1);
    await s.stop();
  });

  it('[csi-snapshotter#35] [csi-snapshotter#36] given a driver that is unavailable, then that is not final; its name is not asked for again', async () => {
    const s = await attempted((it) => it.failCalls('Unavailable'));
    expect(marked(s)).toBe(true);
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual(['CreateSnapshot']);
    await s.stop();
  });
});

describe('the API server refuses', () => {
  it('[csi-snapshotter#24] given the intent cannot be written, then there is no call; error, event, retry', async () => {
    const s = await attempted((it) => it.fault(object, forbidden));
    expect(s.calls()).toEqual([]);
    expect(s.events).toHaveLength(1);
    expect(s.events[0]).toMatch(
      /^Warning SnapshotCreationFailed content: Failed to create snapshot: failed to add VolumeSnapshotBeingCreated annotation on the content content: "snapshot controller failed to update content on API server: /,
    );
    expect(s.events[0]).toContain(s.content()?.status?.error?.message);
    expect(s.content()?.status?.readyToUse).toBe(false);
    await s.clock.advance(1_200);
    expect(s.content()?.status?.readyToUse).toBe(true);
    await s.stop();
  });

  it.each([
    { id: '[csi-snapshotter#25]', what: 'status and error', times: 2, shown: undefined },
    {
      id: '[csi-snapshotter#26]',
      what: 'the status',
      times: 1,
      shown: {
        readyToUse: false,
        error: {
          time: expect.any(String) as string,
          message: expect.stringContaining('error updating status') as string,
        },
      },
    },
  ])(
    '$id given $what cannot be written after the answer, then the intent stays, and the same snapshot is asked for again',
    async ({ times, shown }) => {
      const s = await attempted((it) => it.fault(status, forbidden, times));
      expect(marked(s)).toBe(true);
      expect(s.content()?.status).toEqual(shown);
      expect(s.events[0]).toMatch(
        /Failed to create snapshot: error updating status for volume snapshot content content: snapshot controller failed to update content on API server: /,
      );
      await s.clock.advance(1_200);
      expect(s.content()?.status?.readyToUse).toBe(true);
      const [first, ...others] = s.requests('CreateSnapshot');
      expect(others).toEqual([first]);
      expect(s.driver.snapshots().length).toBe(1);
      await s.stop();
    },
  );

  it('[csi-snapshotter#27] given the intent cannot be withdrawn after success, then the snapshot stays ready, with an event [P11]', async () => {
    const s = await attempted((it) => void it.faults.push(withdrawalIsRefused));
    expect(s.content()?.status?.readyToUse).toBe(true);
    expect(there(s.content()?.status)).not.toHaveProperty('error');
    expect(s.events).toHaveLength(1);
    expect(s.events[0]).toMatch(
      /^Warning SnapshotCreationFailed content: Failed to create snapshot: failed to remove VolumeSnapshotBeingCreated annotation on the content content: "snapshot controller failed to update content/,
    );
    await s.clock.advance(1_200);
    expect(marked(s)).toBe(false);
    expect(s.calls().length).toBe(1);
    await s.stop();
  });

  it('[csi-snapshotter#28] given the intent cannot be withdrawn after a final error, then that is the error, and the intent stays until the next attempt', async () => {
    const s = await attempted((it) => {
      it.failCalls('Internal');
      it.faults.push(withdrawalIsRefused);
    });
    expect(s.content()?.status?.error?.message).toMatch(
      /^Failed to create snapshot: failed to remove VolumeSnapshotBeingCreated annotation from the content content: snapshot controller failed to update content/,
    );
    expect(s.events).toEqual([`Warning SnapshotCreationFailed content: ${s.content()?.status?.error?.message}`]);
    expect(marked(s)).toBe(true);
    await s.clock.advance(1_200);
    const [first, ...others] = s.requests('CreateSnapshot');
    expect(others).toEqual([first]);
    expect([marked(s), s.content()?.status?.readyToUse]).toEqual([false, true]);
    await s.stop();
  });

  it('[csi-snapshotter#37] given the error cannot be written, then the event is there, and the retry as well', async () => {
    const s = await attempted((it) => {
      it.failCalls('Internal', { times: 2 });
      it.fault(status, forbidden);
    });
    expect(s.events).toEqual([`Warning SnapshotCreationFailed content: Failed to create snapshot: ${internal}`]);
    expect(there(s.content()).status).toBeUndefined();
    await s.clock.advance(1_200);
    expect(s.calls().length).toBe(2);
    await s.stop();
  });

  it('given conflicts on every kind of write, then each is resolved in place, with one call', async () => {
    const s = await attempted((it) => {
      it.fault(object, conflict);
      it.fault(status, conflict, 2);
    });
    await s.clock.advance(100);
    expect(s.content()?.status?.readyToUse).toBe(true);
    expect(s.calls().length).toBe(1);
    expect(s.events).toEqual([]);
    await s.stop();
  });
});

it('given a ready snapshot by the time an error is to be written, then it stays ready', async () => {
  const s = await attempted((it) => {
    it.failCalls('Internal');
    it.fault(status, { kind: 'delay', ms: 100 });
  });
  s.changeContent((it) => ({ ...it, status: { snapshotHandle: 'x', readyToUse: true } }));
  await s.clock.advance(300);
  expect(s.content()?.status).toEqual({ snapshotHandle: 'x', readyToUse: true });
  await s.stop();
});

function bodyOf({ body }: { readonly body?: unknown }): string {
  return body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : JSON.stringify(body ?? '');
}
