// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { TestRun } from '../scenarios/test-run.ts';
import { changesBy, readExample, standInValues } from './stand-in.ts';

const testRun = { programs: 'built', controlPlane: { server: 'https://127.0.0.1:6443' } } as TestRun;
const standIn = {
  kubeletRoot: '/kubelet',
  folder: '/kubelet/plugins/driver',
  args: ['--drivername=driver'],
  parameters: { layout: 'filesystem' },
};
const nodePorts = { livenessProbe: 1, nodeDriverRegistrar: 2 };

/** The images that the machine has, and where its API server is: there is no registry and no pod network. */
const machine = [
  'kubeletDir',
  'sidecars.image',
  'sidecars.implementation',
  ...['provisioner', 'attacher', 'resizer', 'snapshotter'].flatMap((each) => [
    `sidecars.${each}.image`,
    `sidecars.${each}.env`,
  ]),
  'sidecars.livenessProbe',
  'sidecars.nodeDriverRegistrar',
  'controller.hostNetwork',
];
/** Image, command and arguments, and the socket on the node to which the controller's pod hands calls on. */
const driver = [
  ...['repository', 'tag', 'pullPolicy'].map((key) => `driver.image.${key}`),
  ...['command', 'args'].map((key) => `driver.controller.${key}`),
  'driver.node.args',
];

it.each([
  {
    example: 'ceph-csi-rbd',
    nodePorts: undefined,
    changed: [
      'driver.controller.volumeMounts[4]',
      'controller.extraVolumes[4]',
      ...['image', 'command', 'args'].map((key) => `controller.extraContainers[0].${key}`),
    ],
  },
  {
    example: 'longhorn',
    nodePorts,
    changed: ['driver.controller.volumeMounts', 'controller.extraVolumes', 'node.hostNetwork', 'ports'],
  },
])(
  '[packaging#67] given the example $example, when the test driver takes the place of its driver, then nothing else of its values changes but what the machine lacks',
  ({ example, nodePorts: ports, changed }) => {
    const values = readExample(example);
    const over = standInValues(testRun, values, { ...standIn, ...(ports !== undefined && { nodePorts: ports }) });
    expect(changesBy(over, values).toSorted()).toEqual(
      [...machine, ...driver, ...changed, 'storageClasses[0].parameters.layout'].toSorted(),
    );
  },
);

it('given values over others, then changes are named where helm would make them: in maps and in lists of maps, and whole where a list is of something else', () => {
  const values = { same: 1, map: { a: 1, b: 2 }, maps: [{ a: 1 }, { a: 2 }], words: ['a', 'b'] };
  expect(changesBy({ same: 1, map: { a: 1, c: 3 }, maps: [{ a: 1 }, { a: 3 }, { a: 4 }] }, values)).toEqual([
    'map.c',
    'maps[1].a',
    'maps[2]',
  ]);
  expect(changesBy({ maps: [{ a: 1 }], words: ['a', 'b', 'c'], map: null }, values)).toEqual(['maps', 'words', 'map']);
});
