// SPDX-License-Identifier: Apache-2.0
/** The flows whose every write and call meets every fault, as tables. */
import {
  always,
  claim,
  type Common,
  fails,
  type Flow,
  flowsOf,
  type Group,
  made,
  pod,
  slow,
  snapshot,
  snapshotting,
  soon,
  type Step,
  taken,
} from './flow.ts';
import { ofProvisioner } from './provisioner-flows.ts';

const attached: readonly Step[] = [made, [-7, 'createPod', pod]];
const attach: Step = [0, 'createPod', pod];
const detach: Step = [0, 'deletePod', pod];
const publish = 'ControllerPublishVolume';

const attachFlows = flowsOf(
  { program: 'csi-attacher', beside: ['csi-provisioner'] },
  {
    attach: [made, attach],
    detach: [...attached, detach],
    'failed-attach': [made, fails(publish, 'Internal'), attach],
    'failed-detach': [...attached, fails('ControllerUnpublishVolume', 'Unavailable'), detach],
    'given-up-attach': [made, fails(publish, 'Internal', always), attach, [5, 'deletePod', pod]],
    'detach-while-attaching': [made, slow(publish, 8_000), attach, [3, 'deletePod', pod]],
    'slow-attach': [made, slow(publish, 20_000), attach],
    'forced-attach': [...attached, [0, 'storageDetaches', { claim }], [90, 'touch', { kind: 0, object: 0, value: 0 }]],
    move: [...attached, detach, [0, 'createPod', { claim, pod: 1 }]],
    'detach-without-node': [
      ...attached,
      [0, 'forceDeletePod', { object: 0 }],
      [0, 'nodeVanishes', { node: 0, ms: 20_000 }],
      [0, 'nodeVanishes', { node: 1, ms: 20_000 }],
    ],
    release: [...attached, [0, 'deleteClaim', { claim }], detach],
  },
);

const [expand, modify] = ['ControllerExpandVolume', 'ControllerModifyVolume'];
const grow = (gib: number, at = 0): Step => [at, 'growClaim', { claim, gib }];
const want = (name: string, at = 0): Step => [at, 'modifyClaim', { claim, class: name }];
const resizing: Common = { program: 'csi-resizer', beside: ['csi-provisioner'], shape: { nodesExpand: false } };

const resizeFlows: readonly Flow[] = [
  ...flowsOf(resizing, {
    expand: [made, grow(2), [soon, 'touch', { kind: 0, object: 0, value: 0 }]],
    'failed-expand': [made, fails(expand, 'Internal'), grow(2)],
    'slow-expand': [made, slow(expand, 20_000), grow(2)],
    'raise-while-expanding': [made, slow(expand, 8_000), grow(2), grow(3, 3)],
    modify: [made, want('gold'), [soon, 'touch', { kind: 0, object: 0, value: 0 }]],
    'failed-modify': [made, fails(modify, 'Unavailable'), want('gold')],
    'another-class-while-modifying': [made, slow(modify, 8_000), want('gold'), want('silver', 3)],
    'expand-and-modify': [made, grow(2), want('gold')],
    'recover-from-refused-size': [made, fails(expand, 'OutOfRange', 1), grow(4), grow(2, 3)],
    'lower-refused-size-soon': [made, fails(expand, 'OutOfRange', 1), grow(4), grow(2, soon)],
    'refused-class': [made, fails(modify, 'InvalidArgument'), want('gold')],
    'back-from-refused-class': [
      made,
      want('silver', -5),
      fails(modify, 'InvalidArgument', 1),
      want('gold'),
      want('silver', 3),
    ],
  }),
  ...flowsOf(
    { program: 'csi-resizer', beside: ['csi-provisioner', 'csi-attacher'] },
    {
      'expand-with-node': [...attached, grow(2)],
      'recover-from-failure-on-node': [
        made,
        grow(4),
        [3, 'nodeCannotExpand', { claim }],
        grow(3, 4),
        [8, 'createPod', pod],
      ],
    },
  ),
];

const take: Step = [0, 'createSnapshot', snapshot];
const group: Step = [0, 'createGroup'];
const snapshots: Group = {
  snapshot: [made, take],
  'refused-snapshot': [made, fails('CreateSnapshot', 'Internal'), take],
  'open-snapshot': [made, fails('CreateSnapshot', 'Unavailable'), take],
  'delete-snapshot': [...taken, [0, 'deleteSnapshot', { snapshot: 0 }]],
  'delete-while-taking': [made, slow('CreateSnapshot', 8_000), take, [3, 'deleteSnapshot', { snapshot: 0 }]],
  'delete-snapshot-soon': [made, take, [soon, 'deleteSnapshot', { snapshot: 0 }]],
  'delete-group-soon': [made, group, [soon, 'deleteGroup']],
  // The storage takes it, and each answer is lost.
  'delete-while-open': [
    made,
    [-0.1, 'driverFails', { driver: 0, method: 'CreateSnapshot', at: 'after', code: 'DeadlineExceeded', times: 2 }],
    take,
    [1.5, 'deleteSnapshot', { snapshot: 0 }],
  ],
  'import-snapshot': [made, [0, 'importSnapshot', { claim, snapshot: 0 }]],
  group: [made, group],
  'delete-group': [made, [-5, 'createGroup'], [0, 'deleteGroup']],
  'delete-while-grouping': [made, slow('CreateVolumeGroupSnapshot', 8_000), group, [3, 'deleteGroup']],
};
const slowSnapshots: Group = { 'slow-snapshot': [made, take], 'slow-group': [made, group] };

const snapshotFlows: readonly Flow[] = (['csi-snapshotter', 'snapshot-controller'] as const).flatMap((program) =>
  [
    ...flowsOf({ program, beside: snapshotting }, snapshots),
    ...flowsOf({ program, beside: snapshotting, shape: { snapshotMs: 5_000 } }, slowSnapshots),
  ].map((flow) => ({ ...flow, name: `${flow.name}-${program}` })),
);

export const flows: readonly Flow[] = [...ofProvisioner, ...attachFlows, ...resizeFlows, ...snapshotFlows];
