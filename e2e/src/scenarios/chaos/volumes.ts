// SPDX-License-Identifier: Apache-2.0
/** Assertions about many claims that must hold whatever happened to the processes that created their volumes. */
import assert from 'node:assert/strict';
import {
  isAlreadyExists,
  persistentVolumeClaims,
  persistentVolumes,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@csi-sidecars/runtime';
import { createCalls } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim } from '../provisioner/steps.ts';
import { type Disruption, share } from './disruption.ts';
import type { PlannedKill } from './kills.ts';
import { assertRepeatable } from './repeatable.ts';

const convergeMs = 120_000;

/** Retries until the API server, which may be down, has accepted each. */
export async function createClaimsInsistently(
  ctx: ScenarioContext,
  className: string,
  names: readonly string[],
): Promise<void> {
  await insist(ctx, names, (name) => unlessThere(createClaim(ctx, className, { name })));
}

export async function deleteClaimsInsistently(ctx: ScenarioContext, names: readonly string[]): Promise<void> {
  await insist(ctx, names, (name) => ctx.remove(persistentVolumeClaims, name));
}

/** Deletes all claims during the planned kills, and waits until nothing is left of them. */
export async function deleteClaimsDuring(ctx: ScenarioContext, { disruption, kills, names }: Deletion): Promise<void> {
  await disruption.disturb(kills, (part) => deleteClaimsInsistently(ctx, share(names, part)), names.length);
  await disruption.calm();
  await untilNothingIsLeft(ctx);
}

interface Deletion {
  readonly disruption: Disruption;
  readonly kills: readonly PlannedKill[];
  readonly names: readonly string[];
}

export async function claimsOf({ api, namespace }: ScenarioContext): Promise<readonly PersistentVolumeClaim[]> {
  return (await api.list(persistentVolumeClaims, { namespace })).items;
}

export async function volumesOf({ api, driverName }: ScenarioContext): Promise<readonly PersistentVolume[]> {
  return (await api.list(persistentVolumes)).items.filter(({ spec }) => spec?.csi?.driver === driverName);
}

/** Every claim is bound to a volume object of its own, and the storage holds exactly those volumes, each by its claim's name. */
export async function assertOneVolumeEach(ctx: ScenarioContext, count: number): Promise<void> {
  await ctx.eventually(
    `all ${count} claims and volumes are bound`,
    async () => {
      const both = [await claimsOf(ctx), await volumesOf(ctx)];
      return both.every((list) => list.length === count && list.every(({ status }) => status?.phase === 'Bound'));
    },
    convergeMs,
  );
  const wanted = (await claimsOf(ctx)).map(({ metadata }) => `pvc-${metadata?.uid}`).toSorted();
  const objects = await volumesOf(ctx);
  const stored = await ctx.driver.control.volumes();
  assert.deepEqual(objects.map(({ metadata }) => metadata?.name ?? '').toSorted(), wanted);
  assert.deepEqual(stored.map(({ name }) => name).toSorted(), wanted);
  assert.deepEqual(
    objects.map(({ spec }) => spec?.csi?.volumeHandle ?? '').toSorted(),
    stored.map(({ id }) => id).toSorted(),
  );
  const idOf = (response: unknown): string | undefined =>
    (response as { readonly volume?: { readonly volume_id?: string } }).volume?.volume_id;
  assertRepeatable(await createCalls(ctx.driver), { names: new Set(wanted), idOf });
}

export async function untilNothingIsLeft(ctx: ScenarioContext): Promise<void> {
  const left = async (): Promise<readonly number[]> => [
    (await claimsOf(ctx)).length,
    (await volumesOf(ctx)).length,
    (await ctx.driver.control.volumes()).length,
  ];
  await ctx.eventually(
    'no claim, no volume object and no volume is left',
    async () => (await left()).every((count) => count === 0),
    convergeMs,
  );
}

/** Retries each until the API server, which may be down, has accepted it. */
export async function insist(
  ctx: ScenarioContext,
  names: readonly string[],
  work: (name: string) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    names.map((name) =>
      ctx.eventually(
        `${name} is taken by the API server`,
        async () => {
          await work(name);
          return true;
        },
        60_000,
      ),
    ),
  );
}

/** A call without an answer may have succeeded. */
export async function unlessThere(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
