// SPDX-License-Identifier: Apache-2.0
/** Two zones with one emulated node each, for scenarios about topology. */
import { pods } from '@csi-sidecars/runtime';
import { stubDriver } from '@csi-sidecars/sim';
import type { NodeSettings } from '@csi-sidecars/test-driver';
import { addEmulatedNode } from '../../nodes/emulated-node.ts';
import type { ScenarioContext } from '../context.ts';

export const zoneKey = 'topology.e2e.csi.test/zone';
export const waitForPod = { volumeBindingMode: 'WaitForFirstConsumer' } as const;

export interface TwoZones {
  readonly a: string;
  readonly b: string;
  readonly nodes: readonly NodeSettings[];
}

/** One node in each of two zones, and a driver that knows them. Zones are the scenario's own, and so are nodes. */
export async function twoZones(ctx: ScenarioContext): Promise<TwoZones> {
  const [a, b] = [ctx.nameOf('a'), ctx.nameOf('b')];
  for (const name of [a, b]) {
    const driver = stubDriver(ctx.driverName, { nodeId: name, topology: { [zoneKey]: name } });
    await addEmulatedNode(ctx, { name, driver });
  }
  return { a, b, nodes: [a, b].map((id) => ({ id, segments: { [zoneKey]: id }, maxVolumes: 0 })) };
}

/** Restricts the claim to these nodes, because those of other scenarios are in the cluster too. */
export function onNodes(names: readonly string[]): object {
  const expression = { key: 'kubernetes.io/hostname', operator: 'In', values: names };
  return {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] },
      },
    },
  };
}

export async function untilScheduled(ctx: ScenarioContext, name: string): Promise<string> {
  return await ctx.eventually(
    `pod ${name} has a node`,
    async () => (await ctx.api.get(pods, { namespace: ctx.namespace, name })).spec?.nodeName,
    60_000,
  );
}
