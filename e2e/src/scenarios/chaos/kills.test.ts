// SPDX-License-Identifier: Apache-2.0
import { seededRandom } from '@csi-sidecars/runtime/testing';
import type { RecordedCall } from '@csi-sidecars/test-driver';
import { expect, it } from 'vitest';
import { callsHit, killsOf, planKills } from './kills.ts';

it.each([
  ['full', [8, 8, 4]],
  ['tenth', [4, 4, 2]],
] as const)(
  'given a seed and load %s, then the plan is the same every time, with %j kills of three victims',
  (load, kills) => {
    const counts = killsOf('csi-attacher', load);
    const plan = planKills(seededRandom(1), counts);
    expect(planKills(seededRandom(1), counts)).toEqual(plan);
    expect(planKills(seededRandom(2), counts)).not.toEqual(plan);
    const killed = (victim: string): number => plan.filter((kill) => kill.victim === victim).length;
    expect(['driver', 'csi-attacher', 'kube-apiserver'].map(killed)).toEqual(kills);
  },
);

it('given a killed driver, then it has hit the calls that began in that run and never ended', () => {
  const kills = [
    { victim: 'driver', atMs: 100, goneMs: 101 },
    { victim: 'driver', atMs: 200, goneMs: 201 },
  ] as const;
  const calls = [call(1, 90), call(2, 95, 99), call(3, 150), call(4, 300)];
  expect(callsHit(kills, calls).map((hit) => hit.map(({ seq }) => seq))).toEqual([[1], [3]]);
});

it('given another victim, then it has hit the calls that a running driver was executing at that time', () => {
  const kills = [
    { victim: 'driver', atMs: 100, goneMs: 101 },
    { victim: 'csi-attacher', atMs: 200, goneMs: 202 },
  ] as const;
  const calls = [call(1, 90), call(2, 190, 199), call(3, 190, 250), call(4, 201, 260)];
  expect(callsHit(kills, calls)[1]?.map(({ seq }) => seq)).toEqual([3]);
});

function call(seq: number, beganAtMs: number, endedAtMs?: number): RecordedCall {
  return {
    seq,
    method: '/csi.v1.Controller/CreateVolume',
    request: {},
    peer: '',
    nodeId: '',
    beganAtMs,
    endedAtMs,
    outcome: endedAtMs === undefined ? undefined : { kind: 'answered', response: {} },
  };
}
