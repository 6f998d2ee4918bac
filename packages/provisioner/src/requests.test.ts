// SPDX-License-Identifier: Apache-2.0
/** The number of API requests per volume without failures, which the page promises. */
import { persistentVolumes } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aClass } from '../testing/builders.ts';
import { aProvisioner, type Fixture } from '../testing/provisioner-fixture.ts';
import { playController } from '../testing/pv-controller.ts';

const volumes = 20;

/** Everything but the lists and watches of the caches. */
function asked(p: Fixture): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { verb, resource } of p.server.requests) {
    if (verb !== 'list' && verb !== 'watch') counts[`${verb} ${resource}`] = (counts[`${verb} ${resource}`] ?? 0) + 1;
  }
  return counts;
}

it('given twenty claims, when created and deleted, then three requests for each volume made and two for each deleted', async () => {
  const p = await aProvisioner({ events: 'written', seed: [aClass()] });
  const names = Array.from({ length: volumes }, (_, index) => `data-${index}`);
  for (const name of names) p.server.seed(aClaim({ name }));
  await p.settle();
  playController(p);
  await p.clock.advance(60_000);
  expect(asked(p)).toEqual({ 'create persistentvolumes': volumes, 'create events': 2 * volumes });

  p.server.clearRequests();
  p.driver.forgetCalls();
  for (const name of names) p.deleteClaim(name);
  playController(p);
  await p.clock.advance(60_000);
  expect(asked(p)).toEqual({ 'delete persistentvolumes': volumes, 'patch persistentvolumes': volumes });
  expect(p.calls()).toHaveLength(volumes);
  expect([p.driver.volumes(), p.server.objects.list(persistentVolumes)]).toEqual([[], []]);
});
