// SPDX-License-Identifier: Apache-2.0
/** N-10: the DaemonSet of a driver is rolled out while pods with its volumes start. */
import assert from 'node:assert/strict';
import type { KubeObject, Resource } from '@csi-sidecars/runtime';
import { podNameOf } from '../../deployment/chart-objects.ts';
import { deployAll, untilRegistered } from '../../deployment/deploy.ts';
import { claimed } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { startUser, untilSaid } from './user-steps.ts';

interface DaemonSet extends KubeObject {
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberReady?: number;
  };
}

const daemonSets: Resource<DaemonSet> = {
  group: 'apps',
  version: 'v1',
  plural: 'daemonsets',
  kind: 'DaemonSet',
  namespaced: true,
};
const rollOutMs = 90_000;
const podsEachTime = 3;
const moments = ['before', 'during', 'after'] as const;

export const rollOut: readonly Scenario[] = [
  {
    id: 'N-10',
    title:
      'the DaemonSet of the driver is rolled out while pods start: each of them runs in the end, and the driver is registered again',
    needs: ['kubelet', 'controller-manager', 'scheduler'],
    run: async (ctx) => {
      await deployAll(ctx);
      const className = await createClass(ctx);
      const names = (when: (typeof moments)[number]): readonly string[] =>
        Array.from({ length: podsEachTime }, (_, at) => `${when}-${at}`);
      const start = async (name: string): Promise<void> => {
        await createClaim(ctx, className, { name });
        await startUser(ctx, { name, volume: claimed(name), script: ['echo content > /data/file', 'echo "done 1"'] });
      };
      const old = await podNameOf(ctx, 'node');

      await Promise.all(names('before').map(start));
      const changed = { spec: { template: { metadata: { annotations: { version: '2' } } } } };
      const { metadata } = await theDaemonSet(ctx);
      const ref = { namespace: ctx.namespace, name: metadata?.name ?? '' };
      await ctx.api.patch({ resource: daemonSets, ref }, { type: 'merge', body: changed });
      await Promise.all(names('during').map(start));
      await ctx.eventually('the DaemonSet is rolled out', async () => isRolledOut(await theDaemonSet(ctx)), rollOutMs);
      await Promise.all(names('after').map(start));

      for (const name of moments.flatMap(names)) assert.equal(await untilSaid(ctx, name, 'done'), '1');
      await untilRegistered(ctx);
      assert.notEqual(await podNameOf(ctx, 'node'), old, 'another pod of the driver');
    },
  },
];

async function theDaemonSet({ api, namespace }: ScenarioContext): Promise<DaemonSet> {
  const { items } = await api.list(daemonSets, { namespace });
  const [daemonSet] = items;
  if (daemonSet === undefined || items.length > 1) throw new Error(`${items.length} DaemonSets in ${namespace}`);
  return daemonSet;
}

function isRolledOut({ metadata, status }: DaemonSet): boolean {
  const { observedGeneration = 0, updatedNumberScheduled = 0, numberReady = 0 } = status ?? {};
  return observedGeneration >= (metadata?.generation ?? 1) && updatedNumberScheduled === 1 && numberReady === 1;
}
