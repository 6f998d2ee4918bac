// SPDX-License-Identifier: Apache-2.0
/** What the compiler says of the context of a loop. `npm run typecheck` fails if an expected error does not come. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../api/objects.ts';
import { persistentVolumes } from '../api/resource.ts';
import { type Conclusion, done } from '../controller/reconcile.ts';
import { defineLoop } from './define-loop.ts';
import { conclude, perform } from './flow.ts';
import type { LoopSpec, LoopTypes, Run } from './loop.ts';

interface Without extends LoopTypes {
  key: string;
  watched: { objects: KubeObject };
  observed: object;
  conclusion: Conclusion;
}

interface With extends Without {
  context: { readonly zone: string };
}

const spec: LoopSpec<Without> = {
  name: 'loop',
  settings: { workerThreads: 1, retryIntervalStartMs: 1, retryIntervalMaxMs: 1 },
  watches: { objects: { resource: persistentVolumes } },
  handlers: {},
  observe: () => ({}),
  *flow() {
    yield* perform('L1', () => undefined);
    return conclude('L1', done);
  },
};

const zoneOf = ({ context }: Run<With>): string => context.zone;

it('[runtime#256] given types with a context, then it is given to the loop, steps get it, and another one or none is refused', () => {
  const typed = spec as Omit<LoopSpec<With>, 'context'>;
  const refused = [
    // @ts-expect-error: there is none.
    () => defineLoop<With>(typed),
    // @ts-expect-error: it is another one.
    () => defineLoop<With>({ ...typed, context: { zone: 1 } }),
    // @ts-expect-error: it has no such field.
    ({ context }: Run<With>) => context.names,
  ];
  expect(refused).toHaveLength(3);
  const loop = defineLoop<With>({ ...typed, context: { zone: 'a' } });
  expect([typeof loop.assemble, zoneOf({ context: { zone: 'a' } } as Run<With>)]).toEqual(['function', 'a']);
});

it('[runtime#256] given types without a context, then the loop needs none, and steps can do nothing with it', () => {
  // @ts-expect-error: it is unknown.
  const step = ({ context }: Run<Without>): string => context.zone;
  expect([typeof defineLoop<Without>(spec).assemble, typeof step]).toEqual(['function', 'function']);
});
