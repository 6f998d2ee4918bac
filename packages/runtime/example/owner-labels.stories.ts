// SPDX-License-Identifier: Apache-2.0
/** Random stories of the controller: `node --test owner-labels.stories.ts`. A failure names the seed that plays it again. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { configMaps } from '@csi-sidecars/runtime';
import { playStories } from '@csi-sidecars/runtime/testing';
import { controller } from './owner-labels.ts';

const refs = ['a', 'b', 'c'].map((name) => ({ namespace: 'default', name }));

await test('each label becomes what the annotation says, whatever happens in between', async () => {
  await playStories({
    controller: () => controller,
    objects: refs.map((metadata) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata })),
    acts: {
      'a user names an owner': (objects, dice) =>
        objects.change(configMaps, dice.pick(refs), (object) => ({
          ...object,
          metadata: { ...object.metadata, annotations: { 'example.com/owner': dice.pick(['ada', 'grace']) } },
        })),
      'a user removes the labels': (objects, dice) =>
        objects.change(configMaps, dice.pick(refs), (object) => ({
          ...object,
          metadata: { ...object.metadata, labels: {} },
        })),
    },
    finally: (objects) => {
      for (const { metadata: { name, labels, annotations } = {} } of objects.list(configMaps)) {
        assert.equal(labels?.['owner'], annotations?.['example.com/owner'], `label of ${name}`);
      }
    },
  });
});
