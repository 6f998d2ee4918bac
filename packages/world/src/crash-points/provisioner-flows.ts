// SPDX-License-Identifier: Apache-2.0
/** The flows of csi-provisioner. */
import {
  always,
  claim,
  type Common,
  create,
  fails,
  fast,
  type Flow,
  flowsOf,
  type Group,
  late,
  made,
  pod,
  slow,
  snapshotting,
  type Step,
  taken,
} from './flow.ts';

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
const leaksOfMemory = [
  'crash before update persistentvolumeclaims',
  'crash after update persistentvolumeclaims',
  'crash before CreateVolume',
  'driver crash before CreateVolume',
];

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
  // The claim goes before its first call is open: only the process knows of the volume.
  ...flowsOf(
    { ...provisioning, openWindows: [...leaks, ...leaksOfMemory] },
    { 'delete-in-call': [slow('CreateVolume', 12_000), create, [1.5, 'deleteClaim', { claim }]] },
  ),
  ...(['always', 'off'] as const).flatMap((protection) =>
    [
      ...flowsOf(provisioning, { ...creations, ...(protection === 'always' ? deletedWhileUnsettled : {}) }),
      ...flowsOf({ ...provisioning, openWindows: protection === 'off' ? leaks : [] }, deletedWhileCreating),
    ].map((flow) => ({ ...flow, name: `${flow.name} (${protection})`, shape: { ...flow.shape, protection } })),
  ),
];

const restore: Step = [0, 'restoreClaim', { claim: 1, snapshot: 0 }];
const clone: Step = [0, 'cloneClaim', { claim: 1, from: claim, class: 'fast' }];

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

export const ofProvisioner: readonly Flow[] = [...provisionerFlows, ...sourceFlows, ...nodeFlows, ...capacityFlows];
