// SPDX-License-Identifier: Apache-2.0
/** Another process is faster than a write of the modification loop. */
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { listOldState } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aVolume, type ClaimOptions } from '../../testing/builders.ts';
import { aResizer, type Fixture } from '../../testing/resizer-fixture.ts';

const claimSaved = 'patch persistentvolumeclaims/status team/data 200';
const claimRefused = 'patch persistentvolumeclaims/status team/data 409';
const volumeSaved = 'patch persistentvolumes pv1 200';
const volumeRefused = 'patch persistentvolumes pv1 409';

interface Story {
  /** Before the first write to it after so many calls. */
  readonly resource: 'persistentvolumes' | 'persistentvolumeclaims';
  readonly calls: number;
  readonly claim?: ClaimOptions;
  readonly prepare?: (r: Fixture) => void;
}

async function overtaken(
  { resource, calls, claim = { wantedClass: 'gold' }, prepare = () => undefined }: Story,
  meanwhile: (r: Fixture) => void,
): Promise<Fixture> {
  const r = await aResizer({ seed: [aVolume(), aClass('gold'), aClass('silver')] });
  prepare(r);
  let isDue = true;
  const when: FaultRule['when'] = (request) => {
    if (!isDue || request.verb !== 'patch' || request.resource !== resource || r.calls().length < calls) return false;
    isDue = false;
    meanwhile(r);
    return false;
  };
  r.faults.push({ when, fault: { kind: 'delay', ms: 0 } });
  r.server.seed(aClaim({ spec: '1Gi', ...claim }));
  await r.clock.advance(1_000);
  return r;
}

const wantsSilver = (r: Fixture): void =>
  r.changeClaim((claim) => ({
    ...claim,
    spec: { ...claim.spec, volumeAttributesClassName: 'silver' },
    status: {
      ...claim.status,
      modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'silver' },
    },
  }));

it('[resizer#M17, 217] given a PersistentVolume that has got another class meanwhile, then that stays', async () => {
  const r = await overtaken({ resource: 'persistentvolumes', calls: 1 }, (it) =>
    it.changeVolume((volume) => ({ ...volume, spec: { ...volume.spec, volumeAttributesClassName: 'silver' } })),
  );
  expect([r.writes().slice(0, 2), r.volume()?.spec?.volumeAttributesClassName]).toEqual([
    [claimSaved, volumeRefused],
    'silver',
  ]);
  await r.stop();
});

it('[resizer#M17, 217] given a cached PersistentVolume that is older than the class of its claim, then it gets the new class', async () => {
  const claim: ClaimOptions = { wantedClass: 'gold', currentClass: 'silver' };
  const r = await overtaken({ resource: 'persistentvolumes', calls: 1, claim }, (it) =>
    it.changeVolume((volume) => ({ ...volume, spec: { ...volume.spec, volumeAttributesClassName: 'silver' } })),
  );
  expect([r.writes(), r.volume()?.spec?.volumeAttributesClassName]).toEqual([
    [claimSaved, volumeRefused, volumeSaved, claimSaved],
    'gold',
  ]);
  await r.stop();
});

it('[resizer#218] given an API server that streams no lists, and whose old ones show the class, when the volume has had another one since, then the PersistentVolume gets the class', async () => {
  const cluster = (await aResizer({ seed: [] })).crash();
  const volume = (volumeAttributesClassName: string) => aVolume({ spec: { volumeAttributesClassName } });
  listOldState(cluster, 'persistentvolumes', () => cluster.server.seed(volume('silver')));
  const claim = aClaim({ spec: '1Gi', wantedClass: 'gold', currentClass: 'silver' });
  const r = await aResizer({ cluster, seed: [volume('gold'), claim, aClass('gold'), aClass('silver')] });
  await r.clock.advance(60_000);
  expect([r.claim()?.status?.currentVolumeAttributesClassName, r.volume()?.spec?.volumeAttributesClassName]).toEqual([
    'gold',
    'gold',
  ]);
  await r.stop();
});

it('[resizer#M18, 215] given another modification that was begun before the result is written, then it is not written, and that one goes on', async () => {
  const r = await overtaken({ resource: 'persistentvolumeclaims', calls: 1 }, wantsSilver);
  expect([r.writes(), r.claim()?.status?.currentVolumeAttributesClassName]).toEqual([
    [claimSaved, volumeSaved, claimRefused, volumeSaved, claimSaved],
    'silver',
  ]);
  await r.stop();
});

it('[resizer#M21, 215] given a modification that another process has ended before a refusal is written, then it is not written', async () => {
  const prepare = (it: Fixture): void => it.failCalls('InvalidArgument', { method: 'ControllerModifyVolume' });
  const r = await overtaken({ resource: 'persistentvolumeclaims', calls: 1, prepare }, (it) =>
    it.changeClaim((claim) => {
      const { modifyVolumeStatus: _done, ...status } = claim.status ?? {};
      return { ...claim, status: { ...status, currentVolumeAttributesClassName: 'gold', conditions: [] } };
    }),
  );
  expect([r.writes(), r.claim()?.status?.modifyVolumeStatus, r.claim()?.status?.conditions]).toEqual([
    [claimSaved, claimRefused],
    undefined,
    [],
  ]);
  await r.stop();
});

it('[resizer#M6, 215] given another modification that was begun before a cancel is written, then its condition stays', async () => {
  const claim: ClaimOptions = {
    modifyStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' },
    conditions: [aCondition('ModifyingVolume', { message: 'of another' })],
  };
  const r = await overtaken({ resource: 'persistentvolumeclaims', calls: 0, claim }, (it) =>
    it.changeClaim(({ status, ...rest }) => ({
      ...rest,
      status: {
        ...status,
        modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'of another driver' },
      },
    })),
  );
  expect([r.writes(), r.calls(), r.claim()?.status?.conditions?.map(({ message }) => message)]).toEqual([
    [claimRefused],
    [],
    ['of another'],
  ]);
  await r.stop();
});
