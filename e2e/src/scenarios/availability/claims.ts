// SPDX-License-Identifier: Apache-2.0
/** Load for scenarios about availability: claims that are in flight while something breaks. */
import assert from 'node:assert/strict';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { createCalls } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim } from '../provisioner/steps.ts';

/** By default a program sends five requests in a second, and most of the time it would wait for its own limit. */
export const unthrottled: readonly string[] = ['--kube-api-qps=50', '--kube-api-burst=100'];

export async function createClaims(ctx: ScenarioContext, className: string, count: number): Promise<void> {
  await createNamedClaims(
    ctx,
    className,
    Array.from({ length: count }, (_, index) => `claim-${index}`),
  );
}

export async function createNamedClaims(
  ctx: ScenarioContext,
  className: string,
  names: readonly string[],
): Promise<void> {
  await Promise.all(names.map((name) => createClaim(ctx, className, { name })));
}

/** All claims are bound, and the storage holds one volume for each and nothing else. */
export async function assertConverged(ctx: ScenarioContext, count: number): Promise<void> {
  await ctx.eventually(
    `all ${count} claims are bound`,
    async () => {
      const { items } = await ctx.api.list(persistentVolumeClaims, { namespace: ctx.namespace });
      return items.length === count && items.every(({ status }) => status?.phase === 'Bound');
    },
    120_000,
  );
  const volumes = await ctx.driver.control.volumes();
  assert.equal(volumes.length, count);
  assert.equal(new Set(volumes.map(({ name }) => name)).size, count);
}

/** Some calls are in progress or done, but not all. */
export async function untilInFlight(ctx: ScenarioContext): Promise<void> {
  await ctx.eventually('some volumes are being created', async () => (await createCalls(ctx.driver)).length >= 5);
}
