// SPDX-License-Identifier: Apache-2.0
/**
 * The flows whose every write and call meets every fault: stories in which little happens, as tables. A moment is in seconds from the
 * beginning of the flow; what is before is its preparation, which meets no fault.
 */
import type { ProgramName } from '../programs.ts';
import type { Args, Shape, Story } from '../story.ts';

type Step = readonly [seconds: number, kind: string, args?: Args];

export interface Flow {
  readonly name: string;
  /** The one that meets the faults. */
  readonly program: ProgramName;
  /** Those that run beside it. */
  readonly beside: readonly ProgramName[];
  readonly shape: Partial<Shape>;
  readonly steps: readonly Step[];
  /** Points, without their number, at which the provisioner's page documents that a volume may stay. */
  readonly openWindows: readonly string[];
}

type Group = Readonly<Record<string, readonly Step[]>>;
type Common = Pick<Flow, 'program'> & Partial<Omit<Flow, 'name' | 'steps'>>;

const flowsOf = (common: Common, group: Group): readonly Flow[] =>
  Object.entries(group).map(([name, steps]) => ({ beside: [], shape: {}, openWindows: [], ...common, name, steps }));

const claim = 0;
const fast = { claim, class: 'fast', attributes: '' };
const late = { claim, class: 'late', attributes: '' };
const pod = { claim, pod: 0 };
const made: Step = [-8, 'createClaim', fast];
const create: Step = [0, 'createClaim', fast];
const slow = (method: string, ms: number): Step => [
  -0.1,
  'driverIsSlow',
  { driver: 0, method, at: 'during', ms, times: 1 },
];
const fails = (method: string, code: string, times = 2): Step => [
  -0.1,
  'driverFails',
  { driver: 0, method, at: 'before', code, times },
];
/** While a process that has died at the beginning of the flow is not there yet. */
const soon = 0.5;
/** Until nothing fails any more. */
const always = 1_000;

const creations: Group = {
  create: [create],
  'slow-create': [slow('CreateVolume', 12_000), create],
  reschedule: [fails('CreateVolume', 'ResourceExhausted', 1), [0, 'createClaim', late], [0, 'createPod', pod]],
  'too-small': [[0, 'driverAnswers', { answer: 'tooSmall' }], create],
  'save-later': [
    [0, 'requestsFail', { who: 'csi-prov', what: 'create persistentvolumes', answer: 'internal', chance: 1, ms: 600 }],
    create,
  ],
};
const deletedWhileCreating: Group = {
  'delete-while-creating': [slow('CreateVolume', 5_000), create, [1.5, 'deleteClaim', { claim }]],
};
const deletedWhileUnsettled: Group = {
  'delete-while-unsettled': [slow('CreateVolume', 25_000), create, [15, 'deleteClaim', { claim }]],
};
const provisioning: Common = { program: 'csi-provisioner', beside: ['csi-attacher'], shape: { topology: true } };
const leaks = ['crash after CreateVolume', 'driver crash after CreateVolume', 'crash before create persistentvolumes'];

const provisionerFlows: readonly Flow[] = [
  ...flowsOf(provisioning, {
    ...creations,
    ...deletedWhileUnsettled,
    delete: [made, [0, 'deleteClaim', { claim }]],
    'late-binding': [
      [0, 'createClaim', late],
      [0, 'createPod', pod],
    ],
    'attributes-class': [[0, 'createClaim', { ...fast, attributes: 'gold' }]],
    // No answer ever settles whether there is a volume: the claim is given up a minute after its deletion.
    'delete-without-outcome': [
      fails('CreateVolume', 'DeadlineExceeded', 1),
      fails('CreateVolume', 'Internal', always),
      create,
      [15, 'deleteClaim', { claim }],
      [90, 'touch', { kind: 0, object: 0, value: 0 }],
    ],
    'deleted-and-recreated': [made, [0, 'deleteClaim', { claim }], [5, 'createClaim', fast]],
  }),
  ...flowsOf({ ...provisioning, openWindows: leaks }, deletedWhileCreating),
  ...(['always', 'off'] as const).flatMap((protection) =>
    [
      ...flowsOf(provisioning, { ...creations, ...(protection === 'always' ? deletedWhileUnsettled : {}) }),
      ...flowsOf({ ...provisioning, openWindows: protection === 'off' ? leaks : [] }, deletedWhileCreating),
    ].map((flow) => ({ ...flow, name: `${flow.name} (${protection})`, shape: { ...flow.shape, protection } })),
  ),
];

const snapshot = { snapshot: 0, claim, class: '' };
const restore: Step = [0, 'restoreClaim', { claim: 1, snapshot: 0 }];
const clone: Step = [0, 'cloneClaim', { claim: 1, from: claim }];
const taken: readonly Step[] = [made, [-5, 'createSnapshot', snapshot]];
const snapshotting = ['csi-provisioner', 'csi-snapshotter', 'snapshot-controller'] as const;

const sourceFlows = flowsOf(
  { program: 'csi-provisioner', beside: snapshotting },
  {
    restore: [...taken, restore],
    'slow-restore': [...taken, slow('CreateVolume', 12_000), restore],
    'delete-snapshot-while-restoring': [
      ...taken,
      slow('CreateVolume', 12_000),
      restore,
      [1.5, 'deleteSnapshot', { snapshot: 0 }],
    ],
    'delete-claim-while-restoring': [
      ...taken,
      slow('CreateVolume', 25_000),
      restore,
      [15, 'deleteClaim', { claim: 1 }],
    ],
    // Both are deleted while it is open whether there is a volume.
    'delete-both-while-restoring': [
      ...taken,
      slow('CreateVolume', 25_000),
      restore,
      [15, 'deleteClaim', { claim: 1 }],
      [15, 'deleteSnapshot', { snapshot: 0 }],
    ],
    'two-restores': [...taken, slow('CreateVolume', 5_000), restore, [0, 'restoreClaim', { claim: 2, snapshot: 0 }]],
    clone: [made, clone],
    'slow-clone': [made, slow('CreateVolume', 12_000), clone],
    'delete-source-while-cloning': [made, slow('CreateVolume', 12_000), clone, [1.5, 'deleteClaim', { claim }]],
    'copy-without-content-source': [made, [-0.1, 'driverAnswers', { answer: 'noSource' }], clone],
  },
);

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

const onNodes: Common = { ...provisioning, shape: { topology: true, deployment: 'nodes' } };
const useLate: readonly Step[] = [
  [0, 'createClaim', late],
  [0, 'createPod', pod],
];
const full = fails('CreateVolume', 'ResourceExhausted', 1);

const nodeFlows = flowsOf(onNodes, {
  'node-immediate': [create],
  'node-late': useLate,
  // The driver says once that the node is full: its instance gives the claim back, and the scheduler chooses again.
  'node-full': [full, ...useLate],
  // The same for a claim that binds at once: all instances compete again.
  'node-full-immediate': [full, create],
  'node-delete': [made, [0, 'deleteClaim', { claim }]],
  'node-slow-create': [slow('CreateVolume', 12_000), create],
  'node-delete-while-unsettled': [slow('CreateVolume', 45_000), create, [20, 'deleteClaim', { claim }]],
});

const withdrawn: Step = [0, 'classVanishes', { class: 'fast', ms: 20_000 }];
const moved: Step = [0, 'nodeVanishes', { node: 0, ms: 20_000 }];
const capacityFlows: readonly Flow[] = (['separate', 'nodes'] as const).flatMap((deployment) =>
  flowsOf(
    { ...provisioning, shape: { topology: true, capacity: true, deployment } },
    {
      'capacity-of-class': [withdrawn],
      // The instance of a node knows its place from its start.
      ...(deployment === 'nodes' ? {} : { 'capacity-of-place': [moved] }),
      'take-capacity': [
        [0, 'createClaim', late],
        [0, 'createPod', pod],
      ],
    },
  ).map((flow) => ({ ...flow, name: deployment === 'nodes' ? `node-${flow.name}` : flow.name })),
);

export const flows: readonly Flow[] = [
  ...provisionerFlows,
  ...sourceFlows,
  ...attachFlows,
  ...resizeFlows,
  ...snapshotFlows,
  ...nodeFlows,
  ...capacityFlows,
];

/** Long enough for a claim to be bound, copied and attached. */
export const beginMs = 10_000;
/** What was ordered of the driver has been met by then. */
const aftermathMs = 15_000;

const calmShape: Shape = {
  deployment: 'separate',
  replicas: 1,
  protection: 'ambiguous',
  topology: false,
  nodesExpand: true,
  snapshotMs: 0,
  nodes: 2,
  secondDriver: false,
  oldKubelet: false,
  damage: false,
  limits: 'default',
  logs: false,
};

export function storyOf({ shape, steps }: Flow): Story {
  const happenings = steps.map(([seconds, kind, args = {}]) => ({ atMs: beginMs + seconds * 1_000, kind, args }));
  const peaceMs = Math.max(...happenings.map(({ atMs }) => atMs)) + aftermathMs;
  return { seed: 1, shape: { ...calmShape, ...shape }, happenings, peaceMs };
}
