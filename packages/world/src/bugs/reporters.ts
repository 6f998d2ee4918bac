// SPDX-License-Identifier: Apache-2.0
/** Known defects of csi-external-health-monitor-controller and volume-data-source-validator, to be put back. */
import type { Bug } from './bug.ts';

const healthMonitor: readonly Bug[] = [
  {
    name: 'health-stays-after-recovery',
    history: 'made up: L3, L4 and case 18 of the health monitor’s page',
    effect: 'A claim whose volume recovers while no monitor runs keeps its health.',
    edits: [
      {
        file: 'packages/health-monitor/src/receive.ts',
        find: 'memory.of(key) !== undefined || hasHealth(claimOf(claims, volume));',
        replace: 'memory.of(key) !== undefined;',
      },
    ],
  },
  {
    name: 'health-of-foreign-driver',
    history: 'made up: case 48 of the health monitor’s page',
    effect: 'A volume of another driver with the same handle gets the health of this one.',
    edits: [
      {
        file: 'packages/health-monitor/src/watched.ts',
        find: "  if (csi.kind !== 'ok' || csi.value.csi.driver !== driverName) return undefined;",
        replace: "  if (csi.kind !== 'ok') return undefined;",
      },
    ],
  },
  {
    name: 'health-written-to-next-claim',
    history: 'made up: case 54 of the health monitor’s page',
    effect: 'Health from a stale cache is written onto a claim that was created again under its name.',
    edits: [
      {
        file: 'packages/health-monitor/src/claim/steps.ts',
        find: '  const body = { metadata: { uid }, status:',
        replace: '  const body = { metadata: { uid: uid && undefined }, status:',
      },
    ],
  },
  {
    name: 'health-loop-ends-with-a-list',
    history: 'made up: case 38 of the health monitor’s page',
    effect: 'One list without an answer ends the loop.',
    edits: [
      {
        file: 'packages/health-monitor/src/list/loop.ts',
        find: '  if (incomplete !== undefined) throw incomplete;',
        replace: '  if (incomplete !== undefined) await new Promise(() => undefined);',
      },
    ],
  },
  {
    name: 'health-forbidden-for-ever',
    history: 'made up: H10 of the health monitor’s page',
    effect: 'After one write that was forbidden nothing is written any more.',
    edits: [
      {
        file: 'packages/health-monitor/src/write-turns.ts',
        find: 'closed.probes = 1;',
        replace: 'closed.probes = 0;',
      },
    ],
  },
  {
    name: 'health-written-in-each-cycle',
    history: 'made up: H7 of the health monitor’s page',
    effect: 'What a claim shows already is written again and again.',
    edits: [
      {
        file: 'packages/health-monitor/src/report/change.ts',
        find: '  if (isEqual(base, reported)) return undefined;',
        replace: '  if (isEqual(base, reported) && reported.length === 0) return undefined;',
      },
      {
        file: 'packages/health-monitor/src/report/change.ts',
        find: '  const isMessageOnly = isSameSet(base, reported);',
        replace: '  const isMessageOnly = isSameSet(base, reported) && !isEqual(base, reported);',
      },
    ],
  },
  {
    name: 'health-written-beside-status',
    history: 'made up: the write of the health monitor’s page',
    effect: 'The patch goes to the claim and not to its status, where nothing stores it.',
    edits: [
      {
        file: 'packages/health-monitor/src/claim/steps.ts',
        find: "    subresource: 'status',\n    fieldValidation",
        replace: '    fieldValidation',
      },
    ],
  },
  {
    name: 'health-absence-is-recovery',
    history: 'made up: L4 of the health monitor’s page',
    effect: 'A sick volume that the list lacks once loses its health for a cycle.',
    edits: [
      {
        file: 'packages/health-monitor/src/list/loop.ts',
        find: "return { row: 'L4', kind: 'ask' };",
        replace: "return { row: 'L4', kind: 'report' };",
      },
    ],
  },
  {
    name: 'health-of-another-answer',
    history: 'external-health-monitor v0.19.0, case 31 of the health monitor’s page',
    effect: 'An answer about another volume counts for the one that was asked about.',
    edits: [
      {
        file: 'packages/health-monitor/src/get-health.ts',
        find: "    if (health.volume_id !== '' && health.volume_id !== handle) {",
        replace: "    if (health.volume_id === '' && health.volume_id === handle) {",
      },
    ],
  },
];

const validator: readonly Bug[] = [
  {
    name: 'validator-warns-of-registered-kind',
    history: 'made up: DV5 of the validator’s page',
    effect: 'A claim whose kind was registered before gets the Warning.',
    edits: [
      {
        file: 'packages/data-source-validator/src/validation.ts',
        find: "populators.byIndex('registered', kind).length > 0;",
        replace: "populators.byIndex('registered', kind).length > 1;",
      },
    ],
  },
  {
    name: 'validator-misses-lost-populator',
    history: 'volume-data-source-validator of upstream, which looks at no claim when a populator goes',
    effect: 'A claim that waits gets no Warning when the last populator of its kind goes.',
    edits: [
      {
        file: 'packages/data-source-validator/src/validation.ts',
        find: 'const kinds = [previous?.sourceKind, current?.sourceKind]',
        replace: 'const kinds = [current?.sourceKind]',
      },
    ],
  },
  {
    name: 'validator-drops-unanswered-event',
    history: 'made up: DW4 of the validator’s page',
    effect: 'A Warning whose write got no answer is never written.',
    edits: [
      {
        file: 'packages/data-source-validator/src/warning.ts',
        find: "  if (delivery === 'dropped') return conclude('DW4', retry(",
        replace: "  if (delivery === 'dropped' && ageMs < 0) return conclude('DW4', retry(",
      },
    ],
  },
  {
    name: 'validator-repeats-its-event',
    history: 'made up: DW3 of the validator’s page',
    effect: 'The Warning is counted up without end.',
    edits: [
      {
        file: 'packages/data-source-validator/src/warning.ts',
        find: "  return conclude('DW3', done);",
        replace: "  return conclude('DW3', requeueAfter(5_000));",
      },
    ],
  },
  {
    name: 'validator-takes-next-claim-for-last',
    history: 'made up: case 16 of the validator’s page',
    effect: 'A claim that is made again under its name between two lists gets no Warning.',
    edits: [
      {
        file: 'packages/data-source-validator/src/validation.ts',
        find: "      if (verdict === 'invalid') unknown.add(key);",
        replace:
          "      const isNew = unknown.ageMs(key) === undefined;\n      if (verdict === 'invalid') unknown.add(key);",
      },
      {
        file: 'packages/data-source-validator/src/validation.ts',
        find: "if (verdict === 'invalid' && waits) warn.wake(key);",
        replace: "if (verdict === 'invalid' && waits && isNew) warn.wake(key);",
      },
    ],
  },
];

export const reporters: readonly Bug[] = [...healthMonitor, ...validator];
