// SPDX-License-Identifier: Apache-2.0
/** N-13: `csi-sidecars explain --via-pod`: a port-forward through API server, kubelet and runtime to the pod that leads. On kind only. */
import assert from 'node:assert/strict';
import { explainRules } from '@csi-sidecars/explain';
import { deployAll } from '../../deployment/deploy.ts';
import { prepareCommand } from '../command.ts';
import { createClaim, createClass } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';

interface Explanation {
  readonly decision: { readonly origin: string; readonly program: string } | null;
}

export const leaderAnswer: readonly Scenario[] = [
  {
    id: 'N-13',
    title:
      'csi-sidecars explain --via-pod: the leader itself reports its decision about a claim that the driver refuses',
    needs: ['kubelet', 'kubelet-requests', 'rbac', 'controller-manager', 'driver-faults'],
    run: async (ctx) => {
      // The pods are in the network of the host, where the chart gives no endpoint to the loopback alone.
      const { driver } = await deployAll(ctx, { values: { controller: { debugExplain: 'any' } } });
      const action = { kind: 'fail', code: 'InvalidArgument' } as const;
      await driver.control.addFault({ method: 'CreateVolume', at: 'before', action });
      await createClaim(ctx, await createClass(ctx), { name: 'refused' });
      const explain = await prepareCommand(ctx, 'explain', explainRules);
      let last = '';
      await ctx
        .eventually('the leader reports its decision', async () => {
          const { stdout, stderr } = await explain('pvc/refused', '-n', ctx.namespace, '--via-pod', '-o', 'json');
          last = `${stderr}${stdout}`;
          const { decision } = JSON.parse(stdout) as Explanation;
          return decision?.origin === 'told' && decision.program === 'csi-provisioner';
        })
        .catch((error: unknown) => {
          throw new Error(`${String(error)}; the last answer: ${last}`, { cause: error });
        });
      assert.doesNotMatch(last, /--via-pod/, 'nothing has failed');
    },
  },
];
