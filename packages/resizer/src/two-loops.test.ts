// SPDX-License-Identifier: Apache-2.0
/** Expansion and modification of one claim: they take turns, and neither makes the other's write fail. P10, P18. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume } from '../testing/builders.ts';
import { aResizer, type Fixture, type FixtureOptions, gib } from '../testing/resizer-fixture.ts';
import { annotations } from './names.ts';

const claim = aClaim({ wantedClass: 'gold' });
const methods = ['ControllerExpandVolume', 'ControllerModifyVolume'] as const;
const [expanded, modified] = ['ControllerExpandVolume volume-1 OK', 'ControllerModifyVolume volume-1 OK'];

/** The PersistentVolume and the class are there; then the driver is prepared, and the claim comes. */
async function given(prepare: (r: Fixture) => void, options: FixtureOptions = {}): Promise<Fixture> {
  const r = await aResizer({ node: [], seed: [aVolume(), aClass()], ...options });
  prepare(r);
  r.server.seed(claim);
  await r.settle();
  return r;
}
const delays = (r: Fixture): void => {
  for (const method of methods) r.driver.faults.add({ method, at: 'during', action: { kind: 'delay', ms: 5_000 } });
};
const isDone = (r: Fixture): boolean =>
  r.claim()?.status?.capacity?.['storage'] === '2Gi' && r.claim()?.status?.currentVolumeAttributesClassName === 'gold';
const warnings = (r: Fixture): readonly string[] => r.events.filter((line) => line.startsWith('Warning'));
const conflicts = (r: Fixture): readonly string[] => r.writes().filter((line) => line.endsWith('409'));

it('given slow calls, then never two at once, and the one that waits goes next without a backoff', async () => {
  const r = await given(delays);
  expect(r.calls().length).toBe(1);
  await r.clock.advance(5_000);
  expect(r.calls().length).toBe(2);
  await r.clock.advance(5_000);
  expect([r.calls().toSorted(), isDone(r), warnings(r), conflicts(r)]).toEqual([[expanded, modified], true, [], []]);
  await r.stop();
});

it('given no delay, then six writes, two calls, four events, and no conflict of our own making', async () => {
  const r = await given(() => undefined);
  expect([r.writes().length, r.calls().length, r.events.length, conflicts(r), isDone(r)]).toEqual([6, 2, 4, [], true]);
  await r.stop();
});

it.each(methods)('given an open outcome of %s, then the other kind goes on', async (method) => {
  const r = await given((it) => it.failCalls('DeadlineExceeded', { method, times: 99 }));
  await r.clock.advance(60_000);
  expect(r.calls().filter((line) => line.endsWith('OK'))).toEqual([method === methods[0] ? modified : expanded]);
  await r.stop();
});

it('given a run that throws, then the other loop gets the lock', async () => {
  // No server stores such a list.
  const odd = aVolume({ spec: { accessModes: 5 as never } });
  const r = await given(() => undefined, { seed: [odd, aClass()], defects: 'expected' });
  expect(r.logger.lines.filter(({ message }) => message === 'Reconcile threw, will retry').length).toBe(1);
  expect(r.calls()).toEqual([modified]);
  await r.stop();
});

it('given a run that waited and has nothing to do any more, then the volume is free', async () => {
  const r = await given(delays);
  const [first] = r.calls();
  // Whatever waits is not wanted any more.
  if (first === undefined || first.startsWith('ControllerExpandVolume')) {
    r.changeClaim(({ spec: { volumeAttributesClassName: _class, ...spec } = {}, ...it }) => ({ ...it, spec }));
  } else {
    r.ask('1Gi');
  }
  await r.clock.advance(5_000);
  expect(r.calls().length).toBe(1);
  r.ask('3Gi');
  await r.clock.advance(5_100);
  expect([r.calls().at(-1), r.sizes().at(-1)]).toEqual([expanded, `${3n * gib}`]);
  await r.stop();
});

it('given two claims on one volume, then their calls do not overlap either, and all of them are made', async () => {
  const r = await aResizer({ node: [], seed: [aClass()] });
  delays(r);
  for (const name of ['data', 'copy']) {
    const it = aClaim({ name, volumeName: `pv-${name}`, wantedClass: 'gold' });
    r.server.seed(aVolume({ name: `pv-${name}`, claim: it, csi: { volumeHandle: 'volume-1' } }));
    r.server.seed(it);
  }
  await r.settle();
  for (const count of [1, 2, 3, 4]) {
    expect(r.calls().length).toBe(count);
    await r.clock.advance(5_000);
  }
  expect(r.calls().filter((line) => line.endsWith('OK')).length).toBe(4);
  await r.stop();
});

it('given a claim that is gone and comes back with its name, then nothing of it is remembered, P6', async () => {
  const r = await given((it) => {
    it.failCalls('OutOfRange', { method: methods[0] });
    it.failCalls('InvalidArgument', { method: methods[1] });
  });
  expect(r.calls().length).toBe(2);
  r.server.objects.remove(persistentVolumeClaims, { namespace: 'team', name: 'data' });
  await r.settle();
  r.server.seed({ ...claim, status: r.claim()?.status ?? claim.status ?? {} });
  await r.settle();
  expect(isDone(r)).toBe(true);
  await r.stop();
});

it('[resizer#105] given a relist that brings what kubelet wrote and a write of the modification in one, then the expansion looks at the claim', async () => {
  const pending = aClaim({ wantedClass: 'gold', alloc: '2Gi', rstatus: 'NodeResizePending' });
  const recorded = { [annotations.preResizeCapacity]: '1Gi' };
  const r = await aResizer({ seed: [aVolume({ cap: '2Gi', annotations: recorded }), aClass()] });
  r.failCalls('Aborted', { method: methods[1] });
  r.server.seed(pending);
  await r.settle();
  let isDown = true;
  r.faults.push({
    when: ({ verb, resource }) => isDown && resource === 'persistentvolumeclaims' && ['watch', 'list'].includes(verb),
    fault: { kind: 'break', point: 'before', failure: 'refused' },
    times: 999,
  });
  r.server.endWatches('broken');
  await r.settle();
  r.changeClaim(({ status, ...it }) => {
    const { allocatedResourceStatuses: _statuses, ...rest } = status ?? {};
    return { ...it, status: { ...rest, capacity: { storage: '2Gi' } } };
  });
  await r.clock.advance(1_150);
  expect([isDone(r), r.volume()?.metadata?.annotations]).toEqual([true, recorded]);
  isDown = false;
  r.server.compact();
  await r.clock.advance(120_000);
  expect(r.volume()!.metadata?.annotations).toBeUndefined();
  await r.stop();
});

it('[resizer#197] given two programs at once, then the claim gets its size and its class all the same', async () => {
  const first = await given(delays);
  const second = await aResizer({ cluster: first });
  await first.clock.advance(60_000);
  expect(isDone(first)).toBe(true);
  await first.stop();
  await second.stop();
});

it('[resizer#198] [packaging#22] given no right to list pods, then the expansion waits and the modification works', async () => {
  const rules = (await import('./rbac.ts')).clusterRules.filter(({ resources }) => !resources.includes('pods'));
  const r = await given(() => undefined, { rules });
  await r.clock.advance(60_000);
  expect(r.calls()).toEqual([modified]);
  await r.stop();
});

it('given no right to list classes, then the modification waits and the expansion works', async () => {
  const all = (await import('./rbac.ts')).clusterRules;
  const r = await given(() => undefined, {
    rules: all.filter(({ apiGroups }) => !apiGroups.includes('storage.k8s.io')),
  });
  expect(r.calls()).toEqual([expanded]);
  await r.stop();
});
