// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aDriver } from '../testing/builders.ts';
import { canAttach, listsPublishedNodes } from './attacher.ts';

it.each([
  { plugin: ['CONTROLLER_SERVICE'], controller: ['PUBLISH_UNPUBLISH_VOLUME'], can: true },
  { plugin: ['CONTROLLER_SERVICE'], controller: [], can: false },
  { plugin: [], controller: ['PUBLISH_UNPUBLISH_VOLUME'], can: false },
])(
  'given the capabilities $plugin and $controller, then the driver can attach: $can',
  ({ plugin, controller, can }) => {
    const driver = { ...aDriver({ controller }), pluginCapabilities: new Set(plugin) };
    expect(canAttach(driver as ReturnType<typeof aDriver>)).toBe(can);
  },
);

it.each([
  { controller: ['LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'], lists: true },
  { controller: ['LIST_VOLUMES'], lists: false },
  { controller: ['LIST_VOLUMES_PUBLISHED_NODES'], lists: false },
])('given the capabilities $controller, then the driver lists published nodes: $lists', ({ controller, lists }) => {
  expect(listsPublishedNodes(aDriver({ controller }))).toBe(lists);
});
