// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { ScriptedBody, scriptedInformer } from '../../testing/index.ts';
import { manyVolumes } from '../../testing/many-volumes.ts';
import { usedHeap } from '../../testing/used-heap.ts';

const count = 50_000;

function allVolumes(body: ScriptedBody): ScriptedBody {
  for (const events of manyVolumes(count)) body.write(events);
  return body;
}

it('[runtime#93d] given a relist of 50,000 unchanged objects, then the heap grows by less than 20 percent and no handler is called', async () => {
  const empty = usedHeap();
  const { api, clock, informer, start, stop } = scriptedInformer({
    indexers: { handle: ({ spec }) => [spec?.csi?.volumeHandle ?? ''] },
  });
  const first = allVolumes(new ScriptedBody()).bookmark(`${count}`, 'end');
  const relist = new ScriptedBody();
  api.answers(first, relist);
  await start();
  expect(informer.lister.size).toBe(count);
  let calls = 0;
  informer.addHandler({ add: () => (calls += 1), update: () => (calls += 1), delete: () => (calls += 1) });
  await clock.advance(0);
  expect(calls).toBe(count);
  const cached = usedHeap() - empty;

  first.write('garbage\n');
  await clock.advance(800);
  allVolumes(relist);
  await clock.advance(0);
  const peak = usedHeap() - empty;
  expect(relist.taken).toBe(count / 1000);
  relist.bookmark(`${count}`, 'end');
  await clock.advance(0);
  expect(informer.lister.resourceVersion).toBe(`${count}`);
  expect(calls).toBe(count);
  expect(peak / cached).toBeLessThan(1.2);
  await stop();
}, 60_000);
