// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aVolume, ScriptedBody, scriptedInformer } from '../../testing/index.ts';
import { toObjectKey } from '../informer/key.ts';
import { ApiError } from './errors.ts';
import { noteOpenAttempt } from './may-have-happened.ts';
import { writeObject } from './write-object.ts';

const keyA = toObjectKey(undefined, 'a');
const gone = async (): Promise<undefined> => undefined;

async function synced(stream = new ScriptedBody().event('ADDED', aVolume('a', '5')).bookmark('10', 'end')) {
  const harness = scriptedInformer();
  harness.api.answers(stream);
  await harness.start();
  const { informer, clock } = harness;
  const shown = (): readonly (string | undefined)[] => [
    informer.lister.get(keyA)?.metadata?.resourceVersion,
    ...informer.lister.list().map(({ metadata }) => metadata?.uid),
  ];
  const comes = async (): Promise<void> => clock.advance(0);
  return { ...harness, stream, shown, comes };
}

it('[runtime#220] given a write after which the object is gone, then the lister hides it at once, until the watch shows another one of its name', async () => {
  const { informer, stream, shown, comes, stop } = await synced();
  expect(await writeObject(informer, aVolume('a', '5'), gone)).toBe(undefined);
  expect(shown()).toEqual([undefined]);
  stream.event('DELETED', aVolume('a', '12'));
  await comes();
  expect(shown()).toEqual([undefined]);
  stream.event('ADDED', aVolume('a', '13', { uid: 'another' }));
  await comes();
  expect(shown()).toEqual(['13', 'another']);
  await stop();
});

it('[runtime#220] given an object that this process made and deleted before the watch brought it, then the lister hides it', async () => {
  const { informer, stream, shown, comes, stop } = await synced(new ScriptedBody().bookmark('10', 'end'));
  await writeObject(informer, aVolume('a', '11'), async () => aVolume('a', '11'));
  expect(shown()).toEqual(['11', 'uid-a']);
  await writeObject(informer, aVolume('a', '11'), gone);
  expect(shown()).toEqual([undefined]);
  stream.event('ADDED', aVolume('a', '11')).event('DELETED', aVolume('a', '12'));
  await comes();
  expect(shown()).toEqual([undefined]);
  await stop();
});

it('[runtime#220] given a write after which an earlier object of the name is gone, then the later one is shown', async () => {
  const { informer, shown, stop } = await synced();
  await writeObject(informer, aVolume('a', '3', { uid: 'earlier' }), gone);
  expect(shown()).toEqual(['5', 'uid-a']);
  await stop();
});

it('[runtime#226] given a write to an object that is gone, then the object is in doubt', async () => {
  const { informer, stop } = await synced();
  const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
  await expect(writeObject(informer, aVolume('a', '5'), () => Promise.reject(notFound))).rejects.toBe(notFound);
  expect([...informer.doubted.keys()]).toEqual([keyA]);
  await stop();
});

it.each([
  { given: 'nothing', later: [], attempts: 'one' },
  { given: 'another one of its name', later: [aVolume('a', '13', { uid: 'another' })], attempts: 'one' },
  { given: 'nothing after an attempt without an answer', later: [], attempts: 'two' },
])(
  '[runtime#226] given a write to an object that is gone, when the cache shows $given, then nothing is in doubt',
  async ({ later, attempts }) => {
    const { informer, stream, comes, stop } = await synced();
    const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
    const written = writeObject(informer, aVolume('a', '5'), async () => {
      stream.event('DELETED', aVolume('a', '12'));
      for (const volume of later) stream.event('ADDED', volume);
      await comes();
      if (attempts === 'two') noteOpenAttempt(notFound);
      throw notFound;
    });
    await expect(written).rejects.toBe(notFound);
    expect([...informer.doubted.keys()]).toEqual([]);
    await stop();
  },
);
