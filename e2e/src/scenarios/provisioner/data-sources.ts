// SPDX-License-Identifier: Apache-2.0
/** K-02, K-03: claims whose kind of source is not registered, on a real API server whose definition of populators comes and goes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Event, ignoreNotFound, type KubeObject, leases, type Resource } from '@csi-sidecars/runtime';
import { load } from 'js-yaml';
import { definitionFolder, definitions } from '../../snapshot-api/definitions.ts';
import type { ScenarioContext } from '../context.ts';
import { installDefinition } from '../install-definition.ts';
import type { Scenario } from '../scenario.ts';
import { installDefinitions, quickRetries } from '../snapshots/steps.ts';
import { createClaim, eventsOf } from './steps.ts';

const group = 'populator.storage.k8s.io';
const populators: Resource = {
  group,
  version: 'v1beta1',
  plural: 'volumepopulators',
  kind: 'VolumePopulator',
  namespaced: false,
};
const definition = { name: `${populators.plural}.${group}` };
const reason = 'UnrecognizedDataSourceKind';
const source = (kind: string) => ({ apiGroup: 'images.example.com', kind, name: 'any' });

export const dataSources: readonly Scenario[] = [
  {
    id: 'K-02',
    title:
      'volume-data-source-validator: a claim of a kind that is not registered gets an event, also after the definition of populators was removed and came back',
    needs: ['controller-manager'],
    exclusive: ['populators'],
    run: async (ctx) => {
      await ctx.startSidecar('volume-data-source-validator');
      await watchPopulators(ctx);
    },
  },
  {
    id: 'K-03',
    title:
      'snapshot-controller --enable-data-source-validator: the same in one process, which holds the leases of both programs',
    needs: ['rbac', 'controller-manager'],
    exclusive: ['snapshot-controller', 'populators'],
    shared: ['snapshot-definitions'],
    run: async (ctx) => {
      await installDefinitions(ctx);
      await ctx.grant('snapshot-controller', 'populators', [
        { apiGroups: [group], resources: ['volumepopulators'], verbs: ['list', 'watch'] },
      ]);
      await ctx.startSidecar('snapshot-controller', {
        args: [
          ...quickRetries,
          '--leader-election',
          `--leader-election-namespace=${ctx.namespace}`,
          '--enable-data-source-validator',
        ],
      });
      await watchPopulators(ctx);
      const { items } = await ctx.api.list(leases, { namespace: ctx.namespace });
      const names = new Set(items.map(({ metadata }) => metadata?.name));
      assert.deepEqual(names, new Set(['data-source-validator-leader', 'snapshot-controller-leader']));
    },
  },
];

async function watchPopulators(ctx: ScenarioContext): Promise<void> {
  // The scenarios that follow begin without it.
  ctx.cleanUp.defer(() => uninstall(ctx));
  await install(ctx);
  await register(ctx, 'Image');
  await untilKnown(ctx, 'Image', 'known');
  await claim(ctx, 'unknown', 'Disk');
  const { message, source: from, involvedObject } = await untilWarned(ctx, 'unknown');
  assert.equal(message, 'The datasource for this PVC does not match any registered VolumePopulator');
  assert.equal(from?.component, 'volume-data-source-validator');
  assert.equal(involvedObject.kind, 'PersistentVolumeClaim');

  // The server deletes the populators with their definition. Nothing ends, and the kind is not known any more.
  await uninstall(ctx);
  await claim(ctx, 'without-definition', 'Image');
  await untilWarned(ctx, 'without-definition');

  await install(ctx);
  await register(ctx, 'Image');
  await untilKnown(ctx, 'Image', 'known-again');
  await claim(ctx, 'still-unknown', 'Disk');
  await untilWarned(ctx, 'still-unknown');
}

/** After its definition has been away, the watch is open again within seconds: claims that are made before get an event. */
async function untilKnown(ctx: ScenarioContext, kind: string, name: string): Promise<void> {
  let tries = 0;
  await ctx.eventually(
    `a claim of ${kind} gets no event`,
    async () => {
      tries += 1;
      await claim(ctx, `${name}-${tries}`, kind);
      // The validator waits for one second before it warns.
      await ctx.testRun.clock.sleep(3_000, ctx.signal);
      return (await warningOf(ctx, `${name}-${tries}`)) === undefined;
    },
    120_000,
  );
}

async function uninstall(ctx: ScenarioContext): Promise<void> {
  const find = async (): Promise<object | undefined> =>
    await ctx.api.get(definitions, definition).catch(ignoreNotFound);
  await ctx.api.delete(definitions, definition).catch(ignoreNotFound);
  await ctx.eventually('the definition of populators is gone', async () => (await find()) === undefined);
}

/** That of the chart. */
async function install(ctx: ScenarioContext): Promise<void> {
  const object = load(readFileSync(join(definitionFolder, `${definition.name}.yaml`), 'utf8')) as KubeObject;
  await installDefinition(ctx, object, populators);
}

async function register(ctx: ScenarioContext, kind: string): Promise<void> {
  const { apiGroup } = source(kind);
  await ctx.api.create(populators, {
    apiVersion: `${group}/v1beta1`,
    kind: populators.kind,
    metadata: { name: ctx.nameOf('populator') },
    sourceKind: { group: apiGroup, kind },
  } as KubeObject);
}

async function claim(ctx: ScenarioContext, name: string, kind: string): Promise<void> {
  await createClaim(ctx, ctx.nameOf('no-class'), { name, spec: { dataSourceRef: source(kind) } });
}

async function warningOf(ctx: ScenarioContext, name: string): Promise<Event | undefined> {
  return (await eventsOf(ctx, reason)).find(({ involvedObject }) => involvedObject.name === name);
}

async function untilWarned(ctx: ScenarioContext, name: string): Promise<Event> {
  return await ctx.eventually(`claim ${name} has an event ${reason}`, () => warningOf(ctx, name), 60_000);
}
