// SPDX-License-Identifier: Apache-2.0
import { FakeClock, recordingMetrics } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { createPlacesMemory } from './places-memory.ts';

it('given a field that the API server drops, then it is written again after ten minutes, and only the first drop is new', async () => {
  const [clock, metrics] = [new FakeClock(), recordingMetrics()];
  const memory = createPlacesMemory({ clock, metrics });
  await clock.advance(1_000);
  expect([memory.areKept(), memory.noteDropped(), memory.areKept()]).toEqual([true, true, false]);
  await clock.advance(599_999);
  expect(memory.areKept()).toBe(false);
  await clock.advance(1);
  expect([memory.areKept(), memory.noteDropped(), memory.areKept()]).toEqual([true, false, false]);
  memory.noteKept();
  expect([memory.areKept(), memory.noteDropped()]).toEqual([true, true]);
  const name = 'csi_sidecars_snapshot_topology_writes_dropped_total';
  expect([metrics.value(name), metrics.definition(name)?.help.slice(0, 7)]).toEqual([3, '[ALPHA]']);
});

it('given a snapshot that the driver was asked about, then that is known until its content is gone', () => {
  const memory = createPlacesMemory({ clock: new FakeClock(), metrics: recordingMetrics() });
  memory.noteAsked('a');
  expect([memory.isAsked('a'), memory.isAsked('b')]).toEqual([true, false]);
  memory.forget('a');
  expect(memory.isAsked('a')).toBe(false);
});
