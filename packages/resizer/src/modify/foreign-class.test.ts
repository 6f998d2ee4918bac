// SPDX-License-Identifier: Apache-2.0
/** Row M10: a claim that wants a class of another driver. */
import { volumeAttributesClasses } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aVolume, type ClaimOptions, driverName } from '../../testing/builders.ts';
import { aResizer, conflict, type Fixture, forbidden } from '../../testing/resizer-fixture.ts';

const method = 'ControllerModifyVolume';
const patch = 'patch persistentvolumeclaims/status team/data';
const claimStatus = 'patch persistentvolumeclaims/status';
const text = `VAC "alien" belongs to driver other, the volume to driver ${driverName}.`;
const warning = `Warning VolumeModifyFailed team/data: ${text}`;
const now = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string;
const gold = aClass('gold', { parameters: { tier: 'gold' } });
const silver = aClass('silver', { parameters: { tier: 'silver' } });
const alien = aClass('alien', {
  driverName: 'other',
  parameters: { xxInvalidParameterKey: 'xxInvalidParameterValue' },
});
const infeasible = { status: 'Infeasible', targetVolumeAttributesClassName: 'alien' };

const claimOf = (options: ClaimOptions = {}) => aClaim({ spec: '1Gi', wantedClass: 'alien', ...options });
const recorded = (status: string, target: string, options: ClaimOptions = {}) =>
  claimOf({ modifyStatus: { status, targetVolumeAttributesClassName: target }, ...options });
const want = (r: Fixture, name: string): void =>
  r.changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, volumeAttributesClassName: name } }));
const asked = (r: Fixture) => r.requests(method).map(({ mutable_parameters: parameters }) => parameters);
const statusOf = (r: Fixture) => r.claim()?.status?.modifyVolumeStatus;
const conditions = (r: Fixture) =>
  r.claim()?.status?.conditions?.map(({ type, reason, message }) => [type, reason, message]) ?? [];
const warnings = (r: Fixture): readonly string[] => r.events.filter((line) => line.startsWith('Warning'));
const shown = [
  ['ModifyingVolume', undefined, 'Modifying volume to "alien" failed. Waiting for retry.'],
  ['ModifyVolumeError', 'InvalidArgument', text],
];

const given = (claim = claimOf()): Promise<Fixture> => aResizer({ seed: [claim, aVolume(), gold, silver, alien] });

describe('a class of another driver', () => {
  it('[resizer#M10, 162] given a claim that wants it, then one write shows it as infeasible, and there is one event and no call, P17', async () => {
    const r = await given();
    expect(r.bodies()).toEqual([
      {
        metadata: { uid: 'uid-of-data', resourceVersion: '2' },
        status: {
          '$setElementOrder/conditions': [{ type: 'ModifyingVolume' }, { type: 'ModifyVolumeError' }],
          conditions: [
            {
              type: 'ModifyingVolume',
              status: 'True',
              message: 'Modifying volume to "alien" failed. Waiting for retry.',
              reason: null,
              lastProbeTime: now,
              lastTransitionTime: now,
            },
            {
              type: 'ModifyVolumeError',
              status: 'True',
              message: text,
              reason: 'InvalidArgument',
              lastProbeTime: now,
              lastTransitionTime: now,
            },
          ],
          modifyVolumeStatus: infeasible,
        },
      },
    ]);
    await r.clock.advance(3_600_000);
    expect([r.writes(), r.calls(), r.events]).toEqual([[`${patch} 200`], [], [warning]]);
    await r.stop();
  });

  it('[resizer#M10, 162] given the steps of the storage e2e test of Kubernetes, when the claim wants a class that names another driver and then a good one, then the failure is shown, and then the good class without a trace of the failure', async () => {
    const r = await given(claimOf({ wantedClass: '' }));
    want(r, 'alien');
    await r.settle();
    expect([r.claim()?.status?.phase, r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([
      'Bound',
      undefined,
    ]);
    expect([statusOf(r), conditions(r), r.calls()]).toEqual([infeasible, shown, []]);
    want(r, 'gold');
    await r.settle();
    expect([r.claim()?.status, asked(r)]).toEqual([
      { phase: 'Bound', capacity: { storage: '1Gi' }, currentVolumeAttributesClassName: 'gold' },
      [{ tier: 'gold' }],
    ]);
    expect(r.events).toEqual([
      warning,
      'Normal VolumeModify team/data: external resizer is modifying volume data with vac gold',
      'Normal VolumeModifySuccessful team/data: external resizer modified volume data with vac gold successfully',
    ]);
    await r.stop();
  });

  it.each([
    { before: 'a class that does not exist', claim: recorded('Pending', 'missing') },
    { before: 'Pending without a class', claim: claimOf({ modifyStatus: { status: 'Pending' } }) },
    { before: 'another infeasible class', claim: recorded('Infeasible', 'silver') },
    {
      before: 'the refusal of upstream’s driver',
      claim: recorded('Infeasible', 'alien', {
        conditions: [
          aCondition('ModifyingVolume', { message: 'old' }),
          aCondition('ModifyVolumeError', { message: 'old', reason: 'InvalidArgument' }),
        ],
      }),
    },
  ])('[resizer#M10] given $before, then the claim shows the class as infeasible', async ({ claim }) => {
    const r = await given(claim);
    expect([r.writes(), r.calls(), r.events]).toEqual([[`${patch} 200`], [], [warning]]);
    expect([statusOf(r), conditions(r)]).toEqual([infeasible, shown]);
    await r.stop();
  });

  it('[resizer#M10] given a claim that shows it already, when the process starts, then there is the event and no write', async () => {
    const r = await given(
      recorded('Infeasible', 'alien', { conditions: [aCondition('ModifyVolumeError', { message: text })] }),
    );
    expect([r.writes(), r.calls(), r.events]).toEqual([[], [], [warning]]);
    await r.stop();
  });

  it('[resizer#M10, 188] given conditions of others, then they stay in front', async () => {
    const r = await given(claimOf({ conditions: [aCondition('Unused')] }));
    expect(conditions(r)).toEqual([['Unused', undefined, undefined], ...shown]);
    await r.stop();
  });

  it('[resizer#M10, 173] given a claim that changes meanwhile, then it is looked at again after 50 ms', async () => {
    const r = await given(claimOf({ wantedClass: '' }));
    r.overtake();
    want(r, 'alien');
    await r.settle();
    expect([r.writes(), r.events]).toEqual([[`${patch} 409`], []]);
    await r.clock.advance(50);
    expect([r.writes(), r.calls(), r.events]).toEqual([[`${patch} 409`, `${patch} 200`], [], [warning]]);
    await r.stop();
  });

  it.each([
    { answer: 'refuses the write', fault: forbidden },
    { answer: 'answers 409 although the claim has not changed', fault: conflict },
  ])(
    '[resizer#M10] given a server that $answer, then an event says why, and the write is repeated with the backoff',
    async ({ fault }) => {
      const r = await given(claimOf({ wantedClass: '' }));
      r.fault(claimStatus, fault, 1);
      want(r, 'alien');
      await r.settle();
      expect([statusOf(r), r.calls(), r.events]).toEqual([undefined, [], [warning]]);
      await r.clock.advance(1_150);
      expect([statusOf(r), r.calls(), r.events]).toEqual([infeasible, [], [warning, warning]]);
      await r.stop();
    },
  );
});

describe('what comes after a class of another driver', () => {
  it('[resizer#M6, 153] given no class is wanted any more, then the modification is reported as cancelled, once, without a call', async () => {
    const r = await given();
    want(r, '');
    await r.clock.advance(600_000);
    expect([r.writes(), r.calls(), r.events]).toEqual([
      [`${patch} 200`, `${patch} 200`],
      [],
      [warning, 'Normal VolumeModifyCanceled team/data: Cancelled modify.'],
    ]);
    expect([statusOf(r), conditions(r)]).toEqual([infeasible, [shown[1]]]);
    await r.stop();
  });

  it('[resizer#M10] given the class is deleted and made again for this driver, then it is requested at once', async () => {
    const r = await given();
    r.server.objects.remove(volumeAttributesClasses, { name: 'alien' });
    await r.settle();
    expect([r.writes().length, statusOf(r)]).toEqual([1, infeasible]);
    r.server.seed(aClass('alien', { parameters: { tier: 'mine' } }));
    await r.settle();
    expect([asked(r), statusOf(r), r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([
      [{ tier: 'mine' }],
      undefined,
      'alien',
    ]);
    await r.stop();
  });

  it('[resizer#M4, M10] given the driver called another class infeasible before, when the foreign class is replaced by one of this driver, then the older refusal holds nothing back', async () => {
    const r = await given(claimOf({ wantedClass: '' }));
    r.failCalls('InvalidArgument', { method });
    want(r, 'gold');
    await r.settle();
    want(r, 'alien');
    await r.settle();
    expect([asked(r), statusOf(r)]).toEqual([[{ tier: 'gold' }], infeasible]);
    r.server.objects.change(volumeAttributesClasses, { name: 'alien' }, (it) => ({ ...it, driverName }));
    await r.settle();
    expect([asked(r).length, r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([2, 'alien']);
    await r.stop();
  });
});

describe('a class of another driver while a modification is under way', () => {
  it('[resizer#M8, M10, 156] given an open outcome, then the class of the open call is requested to its end, and only then the other class is shown as infeasible', async () => {
    const r = await given(claimOf({ wantedClass: '' }));
    r.failCalls('Aborted', { method, times: 2 });
    want(r, 'gold');
    await r.settle();
    want(r, 'alien');
    await r.settle();
    expect([asked(r).length, statusOf(r)]).toEqual([
      2,
      { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
    ]);
    await r.clock.advance(3_000);
    expect([asked(r), statusOf(r), r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([
      [{ tier: 'gold' }, { tier: 'gold' }, { tier: 'gold' }],
      infeasible,
      'gold',
    ]);
    expect([conditions(r), warnings(r).at(-1)]).toEqual([shown, warning]);
    await r.stop();
  });

  it('[resizer#M10, 165] given a final refusal, then the other class is shown as infeasible at once', async () => {
    const r = await given(claimOf({ wantedClass: '' }));
    r.failCalls('Internal', { method });
    want(r, 'gold');
    await r.settle();
    want(r, 'alien');
    await r.settle();
    expect([asked(r), statusOf(r), conditions(r)]).toEqual([[{ tier: 'gold' }], infeasible, shown]);
    await r.stop();
  });

  it('[resizer#M8, M10] given an earlier process that asked the driver for it, when the driver accepts it, then it is the current class', async () => {
    const r = await given(recorded('InProgress', 'alien'));
    expect([asked(r), r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([
      [{ xxInvalidParameterKey: 'xxInvalidParameterValue' }],
      'alien',
    ]);
    await r.stop();
  });

  it.each(['Internal', 'InvalidArgument'] as const)(
    '[resizer#M8, M10] given an earlier process that asked the driver for it, when the driver answers %s, then it is not asked again, and a good class is requested at once',
    async (code) => {
      const r = await aResizer({ seed: [aVolume(), gold, alien] });
      r.failCalls(code, { method });
      r.server.seed(recorded('InProgress', 'alien'));
      await r.clock.advance(400_000);
      expect([asked(r).length, statusOf(r)]).toEqual([1, infeasible]);
      want(r, 'gold');
      await r.settle();
      expect([asked(r).at(-1), statusOf(r), conditions(r)]).toEqual([{ tier: 'gold' }, undefined, []]);
      await r.stop();
    },
  );

  it('[resizer#M5] given it is the current class already, then nothing happens', async () => {
    const r = await given(claimOf({ currentClass: 'alien' }));
    await r.clock.advance(3_600_000);
    expect([r.writes(), r.calls(), r.events]).toEqual([[], [], []]);
    await r.stop();
  });
});
