// SPDX-License-Identifier: Apache-2.0
/** Expansions that fail: when the driver is asked again, for which size, and what the claim shows. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aClaim, aVolume } from '../../testing/builders.ts';
import {
  aResizer,
  conflict,
  type Fixture,
  type FixtureOptions,
  forbidden,
  gib,
} from '../../testing/resizer-fixture.ts';

const method = 'ControllerExpandVolume';
const marked = 'patch persistentvolumeclaims/status team/data 200';
const conflicted = 'patch persistentvolumeclaims/status team/data 409';
const volumeSaved = 'patch persistentvolumes pv1 200';
const [two, three, four] = [2n, 3n, 4n].map((size) => `${size * gib}`) as [string, string, string];
const claimStatus = 'patch persistentvolumeclaims/status';
const [second, fiveMinutes] = [1_150, 300_000];
const warnings = (r: Fixture): readonly string[] => r.events.filter((line) => line.startsWith('Warning'));
const statusOf = (r: Fixture): string | undefined => r.claim()?.status?.allocatedResourceStatuses?.['storage'];
const failed = (code: string): string =>
  `Warning VolumeResizeFailed team/data: resize volume "pv1" by resizer "test.csi.example.com" failed: rpc error: code = ${code} desc = no`;

/** The PersistentVolume is there; then the driver is prepared, and the claim comes. */
async function given(prepare: (r: Fixture) => void, options: FixtureOptions = {}, claim = aClaim()): Promise<Fixture> {
  const r = await aResizer({ node: [], seed: [aVolume()], ...options });
  prepare(r);
  r.server.seed(claim);
  await r.settle();
  return r;
}

describe('an infeasible size', () => {
  it.each(['InvalidArgument', 'OutOfRange', 'NotFound'] as const)(
    '[resizer#69, 70, 71] given %s, then one call, and the next one when the time is over, P3',
    async (code) => {
      const r = await given((it) => it.failCalls(code, { times: 2 }));
      expect([r.calls().length, statusOf(r), warnings(r)]).toEqual([1, 'ControllerResizeInfeasible', [failed(code)]]);
      await r.clock.advance(fiveMinutes - 1_000);
      expect([r.calls().length, r.writes(), r.events.length]).toEqual([1, [marked, marked], 2]);
      await r.clock.advance(1_000);
      expect([r.calls().length, r.writes(), statusOf(r)]).toEqual([
        2,
        [marked, marked, marked, marked],
        'ControllerResizeInfeasible',
      ]);
      await r.clock.advance(fiveMinutes - 1_000);
      expect(r.calls().length).toBe(2);
      await r.clock.advance(1_000);
      expect([r.calls().length, r.claim()?.status?.capacity]).toEqual([3, { storage: '2Gi' }]);
      await r.stop();
    },
  );

  it('[resizer#72] given another size, then it is requested at once and replaces the old one', async () => {
    const r = await given((it) => it.failCalls('OutOfRange'), {}, aClaim({ spec: '4Gi' }));
    r.ask('2Gi');
    await r.settle();
    expect([r.sizes(), r.claim()?.status?.allocatedResources]).toEqual([[four, two], { storage: '2Gi' }]);
    await r.stop();
  });

  it('[resizer#40, 73] given another request that leads to the same size, then it stays held back', async () => {
    const claim = aClaim({ spec: '2Gi', alloc: '4Gi', rstatus: 'ControllerResizeInProgress' });
    const r = await given((it) => it.failCalls('OutOfRange'), { seed: [aVolume({ cap: '3Gi' })] }, claim);
    r.ask('3Gi');
    await r.settle();
    expect(r.sizes()).toEqual([four]);
    await r.stop();
  });

  it('[resizer#74] given the request is set back, then everything stays as it is', async () => {
    const r = await given((it) => it.failCalls('OutOfRange'));
    r.ask('1Gi');
    await r.clock.advance(2 * fiveMinutes);
    expect([r.calls().length, r.writes().length, statusOf(r)]).toEqual([1, 2, 'ControllerResizeInfeasible']);
    await r.stop();
  });

  it('[resizer#76] given Internal afterwards, then the holding back ends, and the size is in progress again, P26', async () => {
    const r = await given((it) => {
      it.failCalls('OutOfRange');
      it.driver.faults.add({ method, skip: 1, times: 1, action: { kind: 'fail', code: 'Internal' } });
    });
    await r.clock.advance(fiveMinutes);
    expect([r.calls().length, statusOf(r)]).toEqual([2, 'ControllerResizeInProgress']);
    await r.clock.advance(second);
    expect([r.calls().length, statusOf(r)]).toEqual([3, undefined]);
    await r.stop();
  });

  it('[resizer#77] given DeadlineExceeded for the same size afterwards, when a smaller one is requested, then the driver is asked for the first one until a final answer, and then for the smaller one, P26', async () => {
    const r = await given((it) => it.failCalls('OutOfRange'), {}, aClaim({ spec: '4Gi' }));
    r.failCalls('DeadlineExceeded');
    await r.clock.advance(fiveMinutes);
    expect([r.sizes(), statusOf(r)]).toEqual([[four, four], 'ControllerResizeInProgress']);
    r.failCalls('OutOfRange');
    r.ask('2Gi');
    await r.settle();
    expect(r.sizes()).toEqual([four, four, four]);
    await r.clock.advance(5_000);
    expect([r.sizes(), r.claim()?.status?.capacity]).toEqual([[four, four, four, two], { storage: '2Gi' }]);
    await r.stop();
  });

  it('[resizer#117] given the next attempt fails before its call, then a smaller size is requested at once', async () => {
    const csi = { controllerExpandSecretRef: { name: 'login', namespace: 'team' } };
    const r = await given(
      () => undefined,
      { seed: [aVolume({ csi })] },
      aClaim({ spec: '4Gi', alloc: '4Gi', rstatus: 'ControllerResizeInfeasible' }),
    );
    expect([r.sizes(), statusOf(r)]).toEqual([[], 'ControllerResizeInProgress']);
    r.changeVolume(() => aVolume());
    r.ask('2Gi');
    await r.settle();
    expect(r.sizes()).toEqual([two]);
    await r.stop();
  });

  it('[resizer#86] given it cannot be recorded, then the event says both, and a changed request is sent', async () => {
    const r = await given(
      (it) => {
        it.failCalls('OutOfRange');
        it.faults.push({ when: ({ verb }) => verb === 'patch' && it.calls().length === 1, fault: forbidden, times: 1 });
      },
      {},
      aClaim({ spec: '4Gi' }),
    );
    expect(warnings(r)).toEqual([
      expect.stringMatching(
        /: resizing failed in controller with rpc error: .* but failed to update PVC team\/data with: /,
      ),
    ]);
    expect(statusOf(r)).toBe('ControllerResizeInProgress');
    r.ask('3Gi');
    await r.settle();
    expect(r.sizes()).toEqual([four, three]);
    await r.stop();
  });
});

it('[resizer#86] given an infeasible size that could not be recorded, then the next attempt records it, and only then it is held back', async () => {
  const r = await given((it) => {
    it.failCalls('OutOfRange', { times: 9 });
    it.faults.push({ when: ({ verb }) => verb === 'patch' && it.calls().length === 1, fault: forbidden, times: 1 });
  });
  expect(statusOf(r)).toBe('ControllerResizeInProgress');
  await r.clock.advance(second);
  expect([r.calls().length, statusOf(r)]).toEqual([2, 'ControllerResizeInfeasible']);
  await r.clock.advance(fiveMinutes - second);
  expect(r.calls().length).toBe(2);
  await r.stop();
});

describe('a refusal', () => {
  it.each(['Internal', 'Unknown', 'Unimplemented'] as const)(
    '[resizer#75, 80, 81] given %s, then the same size again with a delay that doubles, and one write for each attempt, P4',
    async (code) => {
      const r = await given((it) => it.failCalls(code, { times: 99 }));
      const counts: number[] = [];
      for (const seconds of [1.15, 2.3, 4.6, 9.2]) {
        await r.clock.advance(seconds * 1_000);
        counts.push(r.calls().length);
      }
      expect([counts, new Set(r.sizes())]).toEqual([[2, 3, 4, 5], new Set([two])]);
      // The refusal is written once.
      expect([r.writes(), warnings(r).length]).toEqual([Array(6).fill(marked), 5]);
      await r.stop();
    },
  );

  it('[resizer#77, 78, 79] given an open outcome, then a lowered request waits for its end', async () => {
    for (const code of ['DeadlineExceeded', 'Aborted', 'ResourceExhausted'] as const) {
      const r = await given((it) => it.failCalls(code, { times: 2 }), {}, aClaim({ spec: '4Gi' }));
      expect([warnings(r), r.claim()?.status?.conditions?.map(({ type }) => type)]).toEqual([
        [failed(code)],
        ['Resizing'],
      ]);
      r.ask('3Gi');
      await r.settle();
      await r.clock.advance(10_000);
      expect([r.sizes(), r.claim()?.status?.capacity]).toEqual([[four, four, four], { storage: '4Gi' }]);
      await r.stop();
    }
  });

  it('[resizer#84, 87] given many claims that fail, then each is asked for again by itself', async () => {
    const r = await aResizer({ seed: [], node: [], settings: { workerThreads: 3 } });
    r.failCalls('Internal', { times: 20 });
    const names = Array.from({ length: 20 }, (_, index) => `data${index}`);
    for (const [index, name] of names.entries()) {
      const claim = aClaim({ name, volumeName: `pv${index}` });
      r.server.seed(aVolume({ name: `pv${index}`, claim, csi: { volumeHandle: `volume-${(index % 3) + 1}` } }));
      r.server.seed(claim);
    }
    await r.clock.advance(60_000);
    expect(names.filter((name) => r.claim(name)?.status?.capacity?.['storage'] !== '2Gi')).toEqual([]);
    await r.stop();
  });

  it('[resizer#88, 89] given a claim in its backoff, then a resync wakes it, and labels do not', async () => {
    const r = await given((it) => it.failCalls('Internal', { times: 99 }), {
      settings: { resyncMs: 60_000, retryIntervalStartMs: 600_000, retryIntervalMaxMs: 600_000 },
    });
    r.changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, labels: { a: '1' } } }));
    await r.settle();
    expect(r.calls().length).toBe(1);
    await r.clock.advance(70_000);
    expect(r.calls().length).toBe(2);
    await r.stop();
  });
});

it('[resizer#88] given a claim that this process wrote last, then a resync wakes it', async () => {
  const r = await given((it) => it.failCalls('Internal', { times: 99 }), {
    settings: { resyncMs: 60_000, retryIntervalStartMs: 600_000, retryIntervalMaxMs: 600_000 },
  });
  await r.clock.advance(70_000);
  expect(r.calls().length).toBe(2);
  await r.stop();
});

describe('writes that fail', () => {
  it('[resizer#82] given a conflict at the first write, then no call and no event, and the newest request is sent, P10', async () => {
    const r = await given((it) => it.overtake());
    expect([r.calls(), r.events, r.writes()]).toEqual([[], [], [conflicted]]);
    await r.clock.advance(50);
    expect([r.sizes(), r.writes()]).toEqual([[two], [conflicted, marked, volumeSaved, marked]]);
    await r.stop();
  });

  it('[resizer#82] given a server that answers 409 although the claim has not changed, then the run is repeated with the backoff', async () => {
    const r = await given((it) => it.fault(claimStatus, conflict, 99));
    const before = r.server.requests.length;
    await r.clock.advance(60_000);
    const reads = r.server.requests.slice(before).filter(({ verb }) => verb === 'get');
    expect([reads.length, r.calls(), r.events]).toEqual([5, [], []]);
    await r.stop();
  });

  it('[resizer#82] given a claim that changed without the cache knowing, then what it requests now is sent', async () => {
    const r = await aResizer({
      node: [],
      seed: [aVolume(), aClaim({ spec: '1Gi' })],
      faults: [
        {
          when: ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumeclaims',
          fault: { kind: 'lag', ms: 20_000 },
        },
      ],
    });
    // Until the first content has come through.
    await r.clock.advance(300_000);
    r.ask('2Gi');
    r.ask('3Gi');
    for (let step = 0; step < 6; step++) await r.clock.advance(10_000);
    expect([r.sizes(), r.writes()[0]]).toEqual([[three], 'patch persistentvolumeclaims/status team/data 409']);
    await r.stop();
  });

  it('[resizer#83] given conflicts after the call, then they are retried in place: one call, no warning, P9', async () => {
    const r = await given((it) => {
      it.faults.push({ when: ({ verb }) => verb === 'patch' && it.calls().length === 1, fault: conflict, times: 3 });
    });
    await r.clock.advance(100);
    expect([r.calls().length, r.writes(), warnings(r)]).toEqual([1, [marked, volumeSaved, marked], []]);
    await r.stop();
  });

  it('[resizer#83] given somebody writes the claim during the call, then nothing is repeated and nothing of it is lost', async () => {
    const r = await given((it) => void it.driver.faults.add({ method, action: { kind: 'delay', ms: 5_000 } }));
    r.changeClaim((claim) => ({
      ...claim,
      metadata: { ...claim.metadata, labels: { a: '1' } },
      status: {
        ...claim.status,
        conditions: [...(claim.status?.conditions ?? []), { type: 'Unused', status: 'True' }],
      },
    }));
    await r.clock.advance(5_100);
    const refused = 'patch persistentvolumeclaims/status team/data 409';
    expect([r.calls().length, r.writes(), warnings(r)]).toEqual([1, [marked, volumeSaved, refused, marked], []]);
    expect([r.claim()?.metadata?.labels, r.claim()?.status?.conditions?.map(({ type }) => type)]).toEqual([
      { a: '1' },
      ['Unused'],
    ]);
    await r.stop();
  });

  it('[resizer#85] given the PersistentVolume cannot be written, then the call is repeated for the same size', async () => {
    const r = await given((it) => {
      it.failCalls('OutOfRange');
      it.fault('patch persistentvolumes', forbidden);
    });
    await r.clock.advance(fiveMinutes + second);
    expect([r.sizes(), r.claim()?.status?.capacity]).toEqual([[two, two, two], { storage: '2Gi' }]);
    expect(warnings(r)[1]).toMatch(/: error updating pv "pv1" by resizer: /);
    await r.stop();
  });

  it('[resizer#201] given the claim cannot be written after the call, then the next run knows no more than the server', async () => {
    const r = await given((it) => {
      it.faults.push({
        when: ({ verb, resource }) =>
          verb === 'patch' && resource === 'persistentvolumeclaims' && it.calls().length === 1,
        fault: forbidden,
        times: 1,
      });
    });
    expect([statusOf(r), warnings(r)]).toEqual([
      'ControllerResizeInProgress',
      [expect.stringContaining('mark PVC "team/data" as resize finished failed: ')],
    ]);
    await r.clock.advance(second);
    expect([r.sizes(), r.claim()?.status?.capacity]).toEqual([[two, two], { storage: '2Gi' }]);
    await r.stop();
  });

  it('given the first write is refused, then no call, no event, and a retry with the backoff', async () => {
    const r = await given((it) => it.fault(claimStatus, forbidden));
    expect([r.calls(), r.events]).toEqual([[], []]);
    await r.clock.advance(second);
    expect([r.calls().length, r.claim()?.status?.capacity]).toEqual([1, { storage: '2Gi' }]);
    await r.stop();
  });

  it('[resizer#55] given an open outcome, then each attempt is confirmed by a write that changes nothing', async () => {
    const r = await given((it) => it.failCalls('Aborted', { times: 3 }));
    await r.clock.advance(4_000);
    expect([r.calls().length, r.writes()]).toEqual([3, [marked, marked, marked]]);
    await r.stop();
  });

  it('[resizer#14] given the claim disappears during the call, then an event is tried and the next run ends', async () => {
    const r = await given((it) => void it.driver.faults.add({ method, action: { kind: 'delay', ms: 5_000 } }));
    r.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
    await r.clock.advance(600_000);
    expect([r.calls().length, r.writes(), warnings(r).length]).toEqual([
      1,
      [marked, volumeSaved, 'patch persistentvolumeclaims/status team/data 404'],
      1,
    ]);
    await r.stop();
  });
});

describe('a watch that lags', () => {
  /** The cache hears of every change 20 s late; the first content has come. */
  async function lagging(resource: string): Promise<Fixture> {
    const isWatch = (target: { readonly verb: string; readonly resource: string }): boolean =>
      target.verb === 'watch' && target.resource === resource;
    const faults = [{ when: isWatch, fault: { kind: 'lag', ms: 20_000 } as const }];
    const r = await aResizer({ node: [], seed: [aVolume(), aClaim({ spec: '1Gi' })], faults });
    await r.clock.advance(300_000);
    return r;
  }

  it('given a claim that could not be written after the call, then the retry knows the PersistentVolume that was written, and does not write it again', async () => {
    const r = await lagging('persistentvolumes');
    const when: FaultRule['when'] = ({ verb, resource }) =>
      verb === 'patch' && resource === 'persistentvolumeclaims' && r.calls().length === 1;
    r.faults.push({ when, fault: forbidden });
    r.ask('2Gi');
    await r.settle();
    await r.clock.advance(second);
    expect([r.calls().length, r.writes()]).toEqual([2, [marked, volumeSaved, marked, marked]]);
    await r.stop();
  });

  it('[resizer#200] given a refusal, then the retries know what was written to the claim: no conflict, and the refusal is written once', async () => {
    const r = await lagging('persistentvolumeclaims');
    r.failCalls('Internal', { times: 3 });
    r.ask('2Gi');
    for (let step = 0; step < 60 && r.calls().length === 0; step++) await r.clock.advance(1_000);
    await r.clock.advance(4_000);
    expect([r.calls().length, r.writes()]).toEqual([3, [marked, marked, marked, marked]]);
    await r.stop();
  });
});

it('[resizer#117] given a secret that is missing, then the user may change the size, P24', async () => {
  const reference = { name: 'login', namespace: 'team' };
  const r = await given(
    () => undefined,
    { seed: [aVolume({ csi: { controllerExpandSecretRef: reference } })] },
    aClaim({ spec: '4Gi' }),
  );
  expect(warnings(r)).toEqual([expect.stringContaining('failed: error getting secret login in namespace team: ')]);
  expect([r.calls(), statusOf(r)]).toEqual([[], 'ControllerResizeInProgress']);
  r.server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: reference } as never);
  r.ask('2Gi');
  await r.settle();
  expect(r.sizes()).toEqual([two]);
  await r.stop();
});
