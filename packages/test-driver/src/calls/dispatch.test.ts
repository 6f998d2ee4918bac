// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { codecOf } from '@csi-sidecars/csi/testing';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { newVolume } from '../../testing/calls.ts';
import { openDriver } from '../core/driver.ts';
import { defaultSettings } from '../core/settings.ts';
import { FaultBox } from '../faults/fault-box.ts';
import type { Journal, Outcome } from '../journal/journal.ts';
import { MemoryJournal } from '../journal/memory-journal.ts';
import { MemoryDisk } from '../model/memory-disk.ts';
import { dispatch } from './dispatch.ts';

async function create(broken: Partial<Journal>): Promise<{ readonly outcome: Outcome; readonly names: string[] }> {
  const clock = new FakeClock();
  const disk = new MemoryDisk();
  const { persistence, backend } = disk.connect();
  const newId = (kind: string): string => disk.newId(kind);
  const driver = await openDriver({ settings: defaultSettings, clock, newId, persistence, backend });
  const { begin, end } = new MemoryJournal(clock);
  const method = '/csi.v1.Controller/CreateVolume';
  const codec = codecOf(method);
  const request = codec.requestDeserialize(codec.requestSerialize(newVolume('a')));
  const deps = { driver, faults: new FaultBox(clock), journal: { begin, end, ...broken } };
  const outcome = await dispatch(deps, { method, request, peer: 'test', nodeId: 'node-1' });
  return { outcome, names: driver.store.volumes.all().map(({ name }) => name) };
}

const full = async (): Promise<never> => {
  throw new Error('no space left on device');
};

it('given a journal that cannot record the begin, when called, then the call is refused without an effect', async () => {
  expect(await create({ begin: full })).toEqual({
    outcome: { kind: 'refused', code: 'Internal', message: 'no space left on device' },
    names: [],
  });
});

it('given a journal that cannot record the end, when called, then the caller still gets the answer', async () => {
  const { outcome, names } = await create({ end: full });
  expect([outcome.kind, names]).toEqual(['answered', ['a']]);
});
