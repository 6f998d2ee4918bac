// SPDX-License-Identifier: Apache-2.0
import { isAlreadyExists, type KubeObject, type Resource } from '@csi-sidecars/runtime';
import { definitions } from '../snapshot-api/definitions.ts';
import type { ScenarioContext } from './context.ts';

/** Creates the CustomResourceDefinition if it is not there, and resolves when its objects are served. */
export async function installDefinition(
  ctx: ScenarioContext,
  definition: KubeObject,
  defined: Resource,
): Promise<void> {
  await ctx.eventually(`${defined.kind} is served`, async () => {
    await ctx.api.create(definitions as Resource, definition).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    return (await ctx.api.list(defined)).items.length >= 0;
  });
}
