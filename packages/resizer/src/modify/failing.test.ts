// SPDX-License-Identifier: Apache-2.0
/** Modifications that fail: when the driver is asked again, for which class, and what the claim shows. */
import { volumeAttributesClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aVolume, type ClaimOptions } from '../../testing/builders.ts';
import { aResizer, conflict, type Fixture, type FixtureOptions, forbidden } from '../../testing/resizer-fixture.ts';

const method = 'ControllerModifyVolume';
const marked = 'patch persistentvolumeclaims/status team/data 200';
const volumeSaved = 'patch persistentvolumes pv1 200';
const claimStatus = 'patch persistentvolumeclaims/status';
const [second, fiveMinutes] = [1_150, 300_000];
const classes = ['gold', 'silver'].map((tier) => aClass(tier, { parameters: { tier } }));
const claimOf = (options: ClaimOptions = {}) => aClaim({ spec: '1Gi', wantedClass: 'gold', ...options });
const recorded = (status: string, target: string) =>
  claimOf({ modifyStatus: { status, targetVolumeAttributesClassName: target } });
const asked = (r: Fixture) =>
  r.requests(method).map(({ mutable_parameters: parameters }) => (parameters as { readonly tier: string }).tier);
const want = (r: Fixture, name: string): void =>
  r.changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, volumeAttributesClassName: name } }));
const warnings = (r: Fixture): readonly string[] => r.events.filter((line) => line.startsWith('Warning'));
const statusOf = (r: Fixture) => r.claim()?.status?.modifyVolumeStatus;

async function given(prepare: (r: Fixture) => void, claim = claimOf(), options: FixtureOptions = {}): Promise<Fixture> {
  const r = await aResizer({ seed: [aVolume(), ...classes], ...options });
  prepare(r);
  r.server.seed(claim);
  await r.settle();
  return r;
}
/** Fails so many patches that follow the first call. */
const afterCall = (r: Fixture, what: string, { fault = conflict, times = 1 } = {}): void =>
  void r.faults.push({
    when: ({ verb, resource }) => verb === 'patch' && resource === what && r.calls().length === 1,
    fault,
    times,
  });

describe('a refusal', () => {
  it.each(['Internal', 'NotFound', 'OutOfRange'] as const)(
    '[resizer#165, 169] given %s, then the class is requested again',
    async (code) => {
      const r = await given((it) => it.failCalls(code, { method }));
      expect([statusOf(r), warnings(r)]).toEqual([
        { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
        [`Warning VolumeModifyFailed team/data: rpc error: code = ${code} desc = no`],
      ]);
      await r.clock.advance(second);
      expect([asked(r), statusOf(r)]).toEqual([['gold', 'gold'], undefined]);
      await r.stop();
    },
  );

  it('[resizer#165] given a refusal, then another class is requested at once', async () => {
    const r = await given((it) => it.failCalls('Internal', { method }));
    want(r, 'silver');
    await r.settle();
    expect([asked(r), r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([['gold', 'silver'], 'silver']);
    await r.stop();
  });

  it('[resizer#166, 167, 182] given InvalidArgument, then nothing until its time is over, and then a call, P2', async () => {
    const r = await given((it) => it.failCalls('InvalidArgument', { method }));
    expect(statusOf(r)).toEqual({ status: 'Infeasible', targetVolumeAttributesClassName: 'gold' });
    const written = r.writes().length;
    await r.clock.advance(fiveMinutes - 1_000);
    const retries = r.logger.lines.filter(({ message }) => message === 'Reconcile failed, will retry');
    expect([asked(r), r.writes().length, retries.length]).toEqual([['gold'], written, 1]);
    await r.clock.advance(1_000);
    expect([asked(r), statusOf(r)]).toEqual([['gold', 'gold'], undefined]);
    await r.stop();
  });

  it('[resizer#M4] given an infeasible class that could not be recorded, then the next attempt records it, and only then it is held back', async () => {
    const r = await given((it) => {
      it.failCalls('InvalidArgument', { method, times: 9 });
      afterCall(it, 'persistentvolumeclaims', { fault: forbidden });
    });
    expect(statusOf(r)?.status).toBe('InProgress');
    await r.clock.advance(second);
    expect([asked(r).length, statusOf(r)?.status]).toEqual([2, 'Infeasible']);
    await r.clock.advance(fiveMinutes - second);
    expect(asked(r).length).toBe(2);
    await r.stop();
  });

  it('[resizer#178] given another class than the infeasible one, then it is requested at once', async () => {
    const r = await given((it) => it.failCalls('InvalidArgument', { method }));
    want(r, 'silver');
    await r.settle();
    expect([asked(r), statusOf(r)]).toEqual([['gold', 'silver'], undefined]);
    await r.stop();
  });

  it('[resizer#178] given an infeasible class that could not be recorded, and another class that cannot be recorded at first, then only the other class is requested', async () => {
    const r = await given((it) => {
      it.failCalls('InvalidArgument', { method });
      afterCall(it, 'persistentvolumeclaims', { fault: forbidden, times: 2 });
    });
    want(r, 'silver');
    await r.clock.advance(10_000);
    expect([asked(r), r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([['gold', 'silver'], 'silver']);
    await r.stop();
  });

  it.each([
    ['[resizer#154, 178] given an infeasible class that the user takes back and then wants again', ''],
    ['[resizer#178] given an infeasible class, then one that does not exist, and then the first one again', 'missing'],
  ])('%s, then it is requested at once', async (_, meanwhile) => {
    const r = await given((it) => it.failCalls('InvalidArgument', { method }));
    for (const name of [meanwhile, 'gold']) {
      want(r, name);
      await r.settle();
    }
    expect([asked(r), statusOf(r)]).toEqual([['gold', 'gold'], undefined]);
    await r.stop();
  });

  it('[resizer#177] given a restart, then an infeasible class is requested once', async () => {
    const r = await given(
      (it) => it.failCalls('InvalidArgument', { method, times: 9 }),
      recorded('Infeasible', 'gold'),
    );
    await r.clock.advance(200_000);
    expect(asked(r)).toEqual(['gold']);
    await r.stop();
  });
});

describe('an open outcome', () => {
  it('[resizer#152, 156, 170] given another class is wanted, then the old one is requested to its end, and the new one follows at once, P21', async () => {
    const r = await given((it) => it.failCalls('Aborted', { method, times: 2 }));
    expect(warnings(r)).toEqual([
      'Warning VolumeModifyFailed team/data: rpc error: code = Aborted desc = no. Still modifying to VAC gold',
    ]);
    want(r, 'silver');
    await r.settle();
    expect([asked(r), statusOf(r)?.targetVolumeAttributesClassName]).toEqual([['gold', 'gold'], 'gold']);
    await r.clock.advance(3_000);
    expect([asked(r), r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([
      ['gold', 'gold', 'gold', 'silver'],
      'silver',
    ]);
    await r.stop();
  });

  it('[resizer#M8] given an open modification, then its retries read nothing', async () => {
    const r = await given((it) => it.failCalls('Aborted', { method, times: 3 }));
    await r.clock.advance(10_000);
    expect([asked(r), r.server.requests.filter(({ verb }) => verb === 'get').map(({ resource }) => resource)]).toEqual([
      ['gold', 'gold', 'gold', 'gold'],
      [],
    ]);
    await r.stop();
  });

  it('[resizer#152] given a restart, then the recorded class is requested until a refusal, and then the wanted one', async () => {
    const r = await given((it) => it.failCalls('Internal', { method }), recorded('InProgress', 'silver'));
    expect(asked(r)).toEqual(['silver']);
    await r.clock.advance(second);
    expect(asked(r)).toEqual(['silver', 'gold']);
    await r.stop();
  });

  it('[resizer#159] given somebody changes the status, then the wanted class is requested', async () => {
    const r = await given((it) => it.failCalls('Aborted', { method }));
    r.changeClaim((claim) => ({
      ...claim,
      status: {
        ...claim.status,
        modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' },
      },
    }));
    want(r, 'silver');
    await r.settle();
    expect(asked(r)).toEqual(['gold', 'silver']);
    await r.stop();
  });

  it('[resizer#175] given many claims, then each is requested again with its own class', async () => {
    const r = await aResizer({ seed: classes, settings: { workerThreads: 3 } });
    r.failCalls('DeadlineExceeded', { method, times: 20 });
    const names = Array.from({ length: 20 }, (_, index) => `data${index}`);
    for (const [index, name] of names.entries()) {
      const claim = claimOf({ name, volumeName: `pv${index}`, wantedClass: index % 2 === 0 ? 'gold' : 'silver' });
      r.server.seed(aVolume({ name: `pv${index}`, claim, csi: { volumeHandle: `volume-${(index % 3) + 1}` } }));
      r.server.seed(claim);
    }
    await r.clock.advance(60_000);
    const current = names.map((name) => r.claim(name)?.status?.currentVolumeAttributesClassName);
    expect(current).toEqual(names.map((_, index) => (index % 2 === 0 ? 'gold' : 'silver')));
    await r.stop();
  });

  it('[resizer#176] given its class is gone, then events and no call, until it comes back', async () => {
    const r = await given((it) => it.failCalls('Aborted', { method }));
    r.server.objects.remove(volumeAttributesClasses, { name: 'gold' });
    await r.clock.advance(4_000);
    const missing = 'Warning VolumeModifyFailed team/data: VAC "gold" does not exist.';
    expect([asked(r), warnings(r).slice(1)]).toEqual([['gold'], [missing, missing]]);
    r.server.seed(aClass('gold', { parameters: { tier: 'gold' } }));
    await r.settle();
    expect([asked(r), statusOf(r)]).toEqual([['gold', 'gold'], undefined]);
    await r.stop();
  });
});

describe('reads and writes that fail', () => {
  it('[resizer#168] given a secret that is missing, then no event but the first, and the user may want another class', async () => {
    const volume = aVolume({ csi: { controllerExpandSecretRef: { name: 'login', namespace: 'team' } } });
    const r = await given(() => undefined, claimOf(), { seed: [volume, ...classes] });
    expect([r.calls(), r.writes(), r.events.length, statusOf(r)?.status]).toEqual([[], [marked], 1, 'InProgress']);
    r.changeVolume(() => aVolume());
    want(r, 'silver');
    await r.settle();
    expect(asked(r)).toEqual(['silver']);
    await r.stop();
  });

  it('[resizer#171] given the PersistentVolume cannot be written, then the claim stays and the call is repeated', async () => {
    const r = await given((it) => afterCall(it, 'persistentvolumes', { fault: forbidden }));
    expect([r.writes(), statusOf(r)?.status, warnings(r)]).toEqual([[marked], 'InProgress', []]);
    await r.clock.advance(second);
    expect([asked(r), r.writes()]).toEqual([
      ['gold', 'gold'],
      [marked, volumeSaved, marked],
    ]);
    await r.stop();
  });

  it('[resizer#172] given the claim cannot be written, then the call is repeated, and the PersistentVolume not written again', async () => {
    const r = await given((it) => afterCall(it, 'persistentvolumeclaims', { fault: forbidden }));
    await r.clock.advance(second);
    expect([asked(r), r.writes(), statusOf(r)]).toEqual([['gold', 'gold'], [marked, volumeSaved, marked], undefined]);
    await r.stop();
  });

  it('[resizer#173] given a conflict at the first write, then no event and no call, and the run is repeated', async () => {
    const r = await given((it) => it.overtake());
    expect([r.calls(), r.events, r.writes()]).toEqual([[], [], ['patch persistentvolumeclaims/status team/data 409']]);
    await r.clock.advance(50);
    expect([asked(r), statusOf(r)]).toEqual([['gold'], undefined]);
    await r.stop();
  });

  it('[resizer#173] given a server that answers 409 although the claim has not changed, then the run is repeated with the backoff', async () => {
    const r = await given((it) => it.fault(claimStatus, conflict, 99));
    const before = r.server.requests.length;
    await r.clock.advance(60_000);
    const reads = r.server.requests.slice(before).filter(({ verb }) => verb === 'get');
    expect([reads.length, r.calls(), r.events]).toEqual([5, [], []]);
    await r.stop();
  });

  it('[resizer#174] given conflicts when a failure is recorded, then they are retried in place, P10', async () => {
    const r = await given((it) => {
      it.failCalls('InvalidArgument', { method });
      afterCall(it, 'persistentvolumeclaims', { times: 3 });
    });
    await r.clock.advance(100);
    expect([asked(r), statusOf(r)?.status, warnings(r).length]).toEqual([['gold'], 'Infeasible', 1]);
    await r.stop();
  });
});

describe('conditions', () => {
  const old = '2025-01-01T00:00:00Z';
  const failed = 'Modifying volume to "gold" failed. Waiting for retry.';
  const conditions = (r: Fixture) =>
    r.claim()?.status?.conditions?.map(({ type, reason, message }) => [type, reason, message]);
  const times = (r: Fixture, type: string) => {
    const found = r.claim()?.status?.conditions?.find((it) => it.type === type);
    return [found?.lastProbeTime, found?.lastTransitionTime];
  };

  it.each([
    { id: '[resizer#180]', code: 'Internal' as const, message: failed },
    { id: '[resizer#181]', code: 'Aborted' as const, message: 'Modifying volume to "gold" is still in progress.' },
    { id: '[resizer#182]', code: 'InvalidArgument' as const, message: failed },
  ])('$id given $code, then both, with the code as reason', async ({ code, message }) => {
    const r = await given((it) => it.failCalls(code, { method }));
    expect(conditions(r)).toEqual([
      ['ModifyingVolume', undefined, message],
      ['ModifyVolumeError', code, 'no'],
    ]);
    await r.stop();
  });

  it('[resizer#179] given an earlier error, then a new attempt keeps it', async () => {
    const claim = claimOf({ conditions: [aCondition('ModifyVolumeError', { reason: 'Internal', message: 'old' })] });
    const r = await given((it) => void it.driver.faults.add({ method, action: { kind: 'delay', ms: 5_000 } }), claim);
    expect(conditions(r)).toEqual([
      ['ModifyVolumeError', 'Internal', 'old'],
      ['ModifyingVolume', undefined, 'Modifying volume to "gold" is in progress.'],
    ]);
    await r.clock.advance(5_000);
    expect(conditions(r)).toBeUndefined();
    await r.stop();
  });

  it('[resizer#60, 182] given an error that is older than the attempt, when the class is infeasible, then both conditions keep their places', async () => {
    const claim = claimOf({ conditions: [aCondition('ModifyVolumeError', { reason: 'Internal', message: 'old' })] });
    const r = await given((it) => it.failCalls('InvalidArgument', { method }), claim);
    expect([conditions(r), statusOf(r)?.status]).toEqual([
      [
        ['ModifyVolumeError', 'InvalidArgument', 'no'],
        ['ModifyingVolume', undefined, failed],
      ],
      'Infeasible',
    ]);
    await r.stop();
  });

  it('[resizer#185, 188] given a condition of others, then new ones come after it, and a finished modification leaves it alone', async () => {
    const foreign = aCondition('Unused', { lastProbeTime: old });
    const r = await given((it) => it.failCalls('Internal', { method }), claimOf({ conditions: [foreign] }));
    expect(conditions(r)?.map(([type]) => type)).toEqual(['Unused', 'ModifyingVolume', 'ModifyVolumeError']);
    for (const type of ['ModifyingVolume', 'ModifyVolumeError']) {
      const [probe, transition] = times(r, type);
      expect([probe, transition === old]).toEqual([transition, false]);
    }
    await r.clock.advance(second);
    expect(r.claim()?.status?.conditions).toEqual([foreign]);
    await r.stop();
  });

  it.each([
    { id: '[resizer#186]', reason: 'Internal', message: 'no', moves: false },
    { id: '[resizer#189]', reason: 'Internal', message: 'another', moves: false },
    { id: '[resizer#187]', reason: 'Aborted', message: 'no', moves: true },
  ])(
    '$id given an error with reason $reason and message $message before, then its transition time moves: $moves',
    async ({ reason, message, moves }) => {
      const error = aCondition('ModifyVolumeError', { reason, message, lastProbeTime: old });
      const r = await given((it) => it.failCalls('Internal', { method }), claimOf({ conditions: [error] }));
      const [probe, transition] = times(r, 'ModifyVolumeError');
      expect([probe !== old, transition !== old]).toEqual([true, moves]);
      await r.stop();
    },
  );
});
