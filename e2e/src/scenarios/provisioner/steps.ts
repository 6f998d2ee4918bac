// SPDX-License-Identifier: Apache-2.0
/** Steps that scenarios of the provisioner share: a class, a claim, and the moments of their lives. */
import {
  events,
  ignoreNotFound,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  type Event,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
} from '@csi-sidecars/runtime';
import type { ScenarioContext } from '../context.ts';
import { aClaim, aStorageClass } from '../objects.ts';

export interface Bound {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
}

export async function createClass(
  ctx: ScenarioContext,
  parts: Partial<StorageClass> = {},
  what = 'class',
): Promise<string> {
  const name = ctx.nameOf(what);
  await ctx.create(storageClasses, aStorageClass(name, ctx.driverName, parts));
  return name;
}

export async function createClaim(
  ctx: ScenarioContext,
  storageClassName: string,
  options: { readonly name?: string; readonly spec?: Partial<NonNullable<PersistentVolumeClaim['spec']>> } = {},
): Promise<PersistentVolumeClaim> {
  return await ctx.create(persistentVolumeClaims, aClaim(options.name ?? 'claim', storageClassName, options.spec));
}

export async function untilBound(ctx: ScenarioContext, name = 'claim', timeoutMs?: number): Promise<Bound> {
  const { api, namespace } = ctx;
  return await ctx.eventually(
    `claim ${name} is bound`,
    async () => {
      const claim = await api.get(persistentVolumeClaims, { namespace, name });
      if (claim.status?.phase !== 'Bound') return undefined;
      return { claim, volume: await api.get(persistentVolumes, { name: claim.spec?.volumeName ?? '' }) };
    },
    timeoutMs,
  );
}

export async function deleteClaim(ctx: ScenarioContext, name = 'claim'): Promise<void> {
  await ctx.api.delete(persistentVolumeClaims, { namespace: ctx.namespace, name });
}

export async function untilVolumeGone(ctx: ScenarioContext, name: string): Promise<void> {
  await ctx.eventually(`volume object ${name} is gone`, async () => (await findVolume(ctx, name)) === undefined);
}

export async function findVolume(ctx: ScenarioContext, name: string): Promise<PersistentVolume | undefined> {
  return await ctx.api.get(persistentVolumes, { name }).catch(ignoreNotFound);
}

export async function eventsOf(ctx: ScenarioContext, reason: string): Promise<readonly Event[]> {
  const { items } = await ctx.api.list(events, { namespace: ctx.namespace });
  return items.filter((event) => event.reason === reason);
}

export async function untilEvent(ctx: ScenarioContext, reason: string, text: string | RegExp = ''): Promise<Event> {
  return await ctx.eventually(`event ${reason} with ${String(text)}`, async () =>
    (await eventsOf(ctx, reason)).find(({ message = '' }) =>
      typeof text === 'string' ? message.includes(text) : text.test(message),
    ),
  );
}
