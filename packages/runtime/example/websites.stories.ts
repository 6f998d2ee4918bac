// SPDX-License-Identifier: Apache-2.0
/** Random stories of the controller, and a test of its webhook. The stories begin with an empty zone, and it must not have the name of a Website that is gone. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { conditionOf, configMaps, deployments } from '@csi-sidecars/runtime';
import { anAdmissionRequest, playStories } from '@csi-sidecars/runtime/testing';
import { controllerFor, pages, zoneNameOf } from './websites.ts';
import { type Website, websites } from './websites.types.ts';

const refs = ['a', 'b', 'c'].map((name) => ({ namespace: 'default', name }));
const { apiVersion, kind } = { apiVersion: 'example.com/v1', kind: 'Website' };

await test('a page with a script is refused, unless it is stored already', async () => {
  const withPage = (page: string): Website => ({ metadata: { name: 'a' }, spec: { page } });
  const verdict = async (object: Website, oldObject?: Website) => {
    const { allowed, status } = await pages.respond(anAdmissionRequest(websites, { object, oldObject }));
    return allowed ? 'allowed' : status?.message;
  };
  const [good, bad] = ['<p>hello', '<SCRIPT>'].map(withPage) as [Website, Website];
  assert.equal(await verdict(good), 'allowed');
  assert.equal(await verdict(bad), 'spec.page: a page has no scripts');
  assert.equal(await verdict(bad, good), 'spec.page: a page has no scripts');
  assert.equal(await verdict(bad, bad), 'allowed');
});

await test('each page is served, and the zone has the names of the Websites that exist', async () => {
  await playStories(() => {
    const names = new Set<string>();
    return {
      controller: ({ call }) =>
        controllerFor({
          add: (name) => call(`zone add ${name}`, () => void names.add(name)),
          remove: (name) => call(`zone remove ${name}`, () => void names.delete(name)),
        }),
      types: [{ ...websites, custom: true, generation: true, status: 'statusOnly' }],
      acts: {
        'a user makes a Website': (objects, dice) => {
          const metadata = dice.pick(refs);
          if (objects.get(websites, metadata) !== undefined) return undefined;
          const spec = { page: 'first', replicas: 1 + dice.below(3) };
          objects.seed<Website>({ apiVersion, kind, metadata, spec });
          return `${metadata.name} with ${spec.replicas} pods`;
        },
        'a user changes the page': (objects, dice) => {
          const ref = dice.pick(refs);
          if (objects.get(websites, ref) === undefined) return undefined;
          const page = dice.pick(['x', 'y']);
          objects.change(websites, ref, (object) => ({ ...object, spec: { ...object.spec, page } }));
          return `of ${ref.name} to ${page}`;
        },
        'a user deletes a Website': (objects, dice) => {
          const ref = dice.pick(refs);
          if (objects.get(websites, ref) === undefined) return undefined;
          objects.delete(websites, ref);
          return ref.name;
        },
        'a user deletes the page': (objects, dice) => {
          const ref = dice.pick(refs);
          if (objects.get(configMaps, ref) === undefined) return undefined;
          objects.delete(configMaps, ref);
          return `of ${ref.name}`;
        },
        'pods start or end': (objects, dice) => {
          const ref = dice.pick(refs);
          if (objects.get(deployments, ref) === undefined) return undefined;
          const status = { readyReplicas: dice.below(4) };
          objects.change(deployments, ref, (object) => ({ ...object, status }));
          return `${ref.name} has ${status.readyReplicas}`;
        },
      },
      finally: (objects) => {
        const there = objects.list(websites);
        assert.deepEqual([...names].toSorted(), there.map(zoneNameOf).toSorted());
        for (const { metadata, spec, status } of there) {
          const ref = { namespace: metadata?.namespace, name: metadata?.name ?? '' };
          assert.equal(objects.get(configMaps, ref)?.data?.['index.html'], spec.page);
          const pods = objects.get(deployments, ref);
          assert.equal(pods?.spec?.replicas, spec.replicas);
          const isReady = (pods?.status?.readyReplicas ?? 0) >= (spec.replicas ?? 1);
          assert.equal(conditionOf(status?.conditions, 'Ready')?.status, isReady ? 'True' : 'False');
        }
      },
    };
  });
});
