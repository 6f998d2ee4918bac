// SPDX-License-Identifier: Apache-2.0
/** Whether calls that create something could be repeated safely, according to the driver's journal. */
import assert from 'node:assert/strict';
import type { CallOf } from '../../driver/calls.ts';

export interface Expected {
  readonly names: ReadonlySet<string>;
  /** The id of what the call has created. */
  readonly idOf: (response: unknown) => string | undefined;
}

/** No two calls created two things for one name: repeated calls had the same arguments, and were answered with the same id. */
export function assertRepeatable(calls: readonly CallOf<{ readonly name: string }>[], { names, idOf }: Expected): void {
  for (const [name, repeated] of Map.groupBy(calls, ({ request }) => request.name)) {
    assert.ok(names.has(name), `${name} was requested, which belongs to no object`);
    for (const { request } of repeated) assert.deepEqual(request, repeated[0]?.request);
    const ids = repeated.flatMap(({ outcome }) => (outcome?.kind === 'answered' ? [idOf(outcome.response)] : []));
    assert.ok(new Set(ids).size <= 1, `${name} was created as ${ids.join(', ')}`);
  }
}
