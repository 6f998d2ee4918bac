// SPDX-License-Identifier: Apache-2.0
/** A dry run of a small program that calls its driver in its only step. */
import {
  type Conclusion,
  conclude,
  defineLoop,
  done,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  orEnd,
  perform,
  type PersistentVolume,
  persistentVolumes,
  retry,
  type Run,
} from '@csi-sidecars/runtime';
import { aDryWorld, settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { type GateSettings, intFlag } from '../flags/flag.ts';
import { assumedOf, type DryControllerPorts, dryRunProgram } from './dry-run-program.ts';

interface Volumes extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: { readonly volumes: PersistentVolume };
  readonly observed: PersistentVolume;
  readonly conclusion: Conclusion;
  readonly context: DryControllerPorts;
}

interface Values {
  readonly workers: number;
  readonly 'feature-gates'?: GateSettings;
}

const program = { name: 'csi-sample', syntax: 'pflag', flags: { workers: intFlag(10, '') }, gates: {} } as const;
const world = aDryWorld([{ resource: persistentVolumes, objects: [{ metadata: { name: 'pv1', uid: 'u' } }] }]);
const driver = { name: 'd', pluginCapabilities: new Set(['A']), controllerCapabilities: new Set(['B']) };

async function deleteVolume({ context }: Run<Volumes>): Promise<void> {
  const request = { volume_id: 'v', secrets: {} };
  await context.channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs: 1_000 });
}

function volumes(context: DryControllerPorts, onAnswer: () => void): Loop {
  return defineLoop<Volumes>({
    name: 'volumes',
    settings: { workerThreads: 1, retryIntervalStartMs: 1, retryIntervalMaxMs: 1 },
    watches: { volumes: { resource: persistentVolumes } },
    handlers: {},
    observe: (caches, key) => caches.volumes.get(key),
    context,
    *flow() {
      yield* orEnd(perform('A1', deleteVolume), (failure) => conclude('A3', retry(failure)));
      onAnswer();
      return conclude('A2', done);
    },
  });
}

it('given a call to the driver, then it ends the run and gets no answer, and the answer lists what was assumed', async () => {
  const seen: number[] = [];
  let answers = 0;
  const question = { key: 'pv1', args: ['--workers=7', '--newer=1'] };
  const answer = await dryRunProgram<Values, never>(world, question, {
    program,
    assemble: ({ started: { values } }) => {
      seen.push(values.workers);
      return {
        queue: 'volumes',
        loops: (ports) => [volumes(ports, () => (answers += 1))],
        assumed: assumedOf(driver),
      };
    },
  });
  await settle();
  expect(answer).toEqual({
    row: 'A1',
    rows: [{ row: 'A1', action: 'deleteVolume' }],
    action: { kind: 'call', method: 'DeleteVolume' },
    assumed: ['memory', '--newer changes nothing', 'the driver reports A, B'],
  });
  expect([seen, answers]).toEqual([[7], 0]);
});

it('given a failure that is known, then the run goes on with it and ends at its next row', async () => {
  const question = { key: 'pv1', args: [], failure: { code: 'Internal', detail: 'no' } } as const;
  const answer = await dryRunProgram<Values, never>(world, question, {
    program,
    assemble: () => ({ queue: 'volumes', loops: (ports) => [volumes(ports, () => undefined)], assumed: [] }),
  });
  expect(answer.rows).toEqual([
    { row: 'A1', action: 'deleteVolume' },
    { row: 'A3', action: 'conclude' },
  ]);
  expect(answer.action).toEqual({
    kind: 'conclude',
    outcome: { kind: 'retry', text: 'rpc error: code = Internal desc = no' },
  });
});

it('given a driver that is believed to have no capability, then the answer says so', () => {
  const none = new Set<string>();
  expect(assumedOf({ name: 'd', pluginCapabilities: none, controllerCapabilities: none })).toEqual([
    'the driver reports no capability',
  ]);
});
