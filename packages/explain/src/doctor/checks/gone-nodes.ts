// SPDX-License-Identifier: Apache-2.0
/** Part node: what is left of nodes that are gone. */
import { type Check, clusterCheck, factOf, problem } from '../check.ts';
import { counted, yamlOf } from './wording.ts';

/** The garbage collector takes it off with its node. */
const removedWithinMs = 600_000;

const left: Check = clusterCheck({
  id: 'node-5',
  severity: 'warn',
  wrong: 'CSINodes exist of nodes that are gone: drivers and the scheduler count on them',
  mend: 'see whether kube-controller-manager collects garbage, then delete them',
  reads: ['registrations', 'nodes'],
  judge: ({ registrations, nodes }, { nowMs, node: asked }) => {
    const known = new Set(nodes.map(({ name }) => name));
    const bad = registrations.filter(
      // Kubelet makes one before its node is listed.
      ({ node, createdMs }) =>
        !known.has(node) &&
        (asked === undefined || asked === node) &&
        (createdMs === undefined || nowMs - createdMs > removedWithinMs),
    );
    const [first] = bad;
    if (first === undefined) return [];
    const object = { kind: 'CSINode', name: first.node };
    return [
      problem(`${counted(bad.length, 'CSINode')} of nodes that are gone: ${first.node}`, {
        objects: bad.map(({ node }) => ({ kind: 'CSINode', name: node })),
        evidence: [
          factOf(`CSINode ${first.node}`, 'drivers', first.drivers.map(({ name }) => name).join(', ')),
          factOf(`Node ${first.node}`, 'metadata', 'absent'),
        ],
        look: yamlOf(object),
      }),
    ];
  },
});

export const goneNodeChecks: readonly Check[] = [left];
