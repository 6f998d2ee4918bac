// SPDX-License-Identifier: Apache-2.0
/** Which changes of a claim wake the expansion loop. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aVolume, type ClaimOptions, type VolumeOptions } from '../../testing/builders.ts';
import { aResizer } from '../../testing/resizer-fixture.ts';
import type { Claim } from '../claim.ts';
import { annotations } from '../names.ts';
import { matters } from './loop.ts';

const version = (resourceVersion: string, options: ClaimOptions = {}): Claim => {
  const claim = aClaim(options);
  return { ...claim, metadata: { ...claim.metadata, resourceVersion } };
};

const caches = (volume: PersistentVolume | undefined = aVolume()) => ({
  volumes: { get: () => volume },
});
const finished: ClaimOptions = { cap: '2Gi' };
const stillRecorded: VolumeOptions = { cap: '2Gi', annotations: { [annotations.preResizeCapacity]: '1Gi' } };

it.each<{ readonly given: string; readonly change?: ClaimOptions; readonly wakes: boolean }>([
  { given: 'nothing that matters', wakes: false },
  { given: '[resizer#210] a lowered request', change: { spec: '1536Mi' }, wakes: true },
  { given: 'a raised request', change: { spec: '3Gi' }, wakes: true },
  { given: 'the same request in another text', change: { spec: '2048Mi' }, wakes: false },
  { given: 'an annotation', change: { annotations: { [annotations.storageResizer]: 'x' } }, wakes: true },
  { given: 'another annotation', change: { annotations: { x: 'y' } }, wakes: false },
  { given: 'a larger capacity', change: { cap: '1536Mi' }, wakes: true },
  { given: 'a smaller capacity', change: { cap: '512Mi' }, wakes: false },
  { given: '[resizer#211] a resize status', change: { rstatus: 'NodeResizeInfeasible' }, wakes: true },
  { given: 'a condition', change: { conditions: [aCondition('Resizing')] }, wakes: false },
])('given $given, then it wakes: $wakes', ({ change = {}, wakes }) => {
  const previous = version('1');
  expect(matters({ previous, current: version('2', change), isInInitialList: false }, caches())).toBe(wakes);
  expect(matters({ previous, current: previous, isInInitialList: false }, caches())).toBe(true);
});

it.each<{
  readonly given: string;
  readonly previous?: ClaimOptions | undefined;
  readonly current: ClaimOptions;
  readonly volume?: PersistentVolume | undefined;
  readonly wakes: boolean;
}>([
  { given: 'one that appears', current: {}, wakes: true },
  { given: '[resizer#219] one that appears with what it asks for', current: finished, wakes: false },
  { given: 'one that appears and is not Bound', current: { phase: 'Pending' }, wakes: false },
  { given: 'one that becomes Bound', previous: { phase: 'Pending' }, current: {}, wakes: true },
  {
    given: 'one that becomes Bound with what it asks for',
    previous: { phase: 'Pending' },
    current: finished,
    wakes: false,
  },
  {
    given: 'one whose PersistentVolume records the size from before',
    current: finished,
    volume: aVolume(stillRecorded),
    wakes: true,
  },
  { given: 'one whose PersistentVolume has not arrived', current: finished, volume: undefined, wakes: false },
  { given: 'one that gets what it asks for', previous: {}, current: finished, wakes: true },
  { given: 'one that asks for more', previous: finished, current: { cap: '2Gi', spec: '3Gi' }, wakes: true },
  {
    given: 'one that has what it asks for, and another resize status',
    previous: finished,
    current: { ...finished, rstatus: 'NodeResizePending' },
    wakes: false,
  },
])('given $given, then it wakes: $wakes', ({ previous, current, wakes, ...row }) => {
  const change = {
    previous: previous && version('1', previous),
    current: version('2', current),
    isInInitialList: false,
  };
  expect(matters(change, caches('volume' in row ? row.volume : aVolume()))).toBe(wakes);
});

it('given one that is gone, then it does not wake', () => {
  expect(matters({ previous: version('1'), current: undefined, isInInitialList: false }, caches())).toBe(false);
});

it.each<{ readonly given: string; readonly sizes: VolumeOptions; readonly rows: readonly string[] }>([
  { given: 'claims with what they ask for', sizes: { cap: '2Gi' }, rows: [] },
  { given: 'PersistentVolumes with the size from before', sizes: stillRecorded, rows: ['E4', 'E5', 'E4', 'E5'] },
])(
  '[resizer#219] given $given, when they appear and are offered again, then the rows are $rows',
  async ({ sizes, rows }) => {
    const claims = [aClaim(finished), aClaim({ name: 'data2', volumeName: 'pv2', ...finished })] as const;
    const volumes = [
      aVolume({ ...sizes, claim: claims[0] }),
      aVolume({ ...sizes, name: 'pv2', claim: claims[1] }),
    ] as const;
    const r = await aResizer({ seed: [aClass(), volumes[0], ...claims], settings: { resyncMs: 60_000 } });
    const decided = () =>
      r.logger.lines.filter(({ message }) => message === 'Decided').map(({ facts }) => facts['row']);
    await r.settle();
    r.server.seed(volumes[1]);
    await r.settle();
    expect(decided()).toEqual(rows);
    await r.clock.advance(200_000);
    expect(decided()).toEqual(rows);
    await r.stop();
  },
);
