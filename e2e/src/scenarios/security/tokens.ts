// SPDX-License-Identifier: Apache-2.0
/** which containers of a driver hold credentials for the API server, as their own file systems show it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { podNameOf, type Component } from '../../deployment/chart-objects.ts';
import { deployAll, nodeOf } from '../../deployment/deploy.ts';
import { directTransport } from '../../suite-client/direct-transport.ts';
import type { ScenarioContext } from '../context.ts';
import { getPod } from '../pod-life.ts';
import type { Scenario } from '../scenario.ts';

const tokenFile = '/var/run/secrets/kubernetes.io/serviceaccount/token';
const usingTheApi: readonly string[] = ['csi-provisioner', 'csi-attacher'];

export const tokens: readonly Scenario[] = [
  {
    id: 'X-09',
    title:
      'only the containers of sidecars that use the API have a token: not the driver, livenessprobe and registrar, whose requests are refused',
    needs: ['kubelet', 'rbac'],
    run: async (ctx) => {
      await deployAll(ctx);
      const all = [...(await tokensOf(ctx, 'controller')), ...(await tokensOf(ctx, 'node'))];
      assert.ok(all.length > usingTheApi.length);
      const holders = all.filter(({ token }) => token !== undefined);
      assert.deepEqual(holders.map(({ container }) => container).toSorted(), usingTheApi.toSorted());
      for (const { token } of holders) assert.equal(await listsVolumes(ctx, token), 200);
      assert.equal(await listsVolumes(ctx, undefined), 403);
    },
  },
];

interface Held {
  readonly container: string;
  readonly token: string | undefined;
}

async function tokensOf(ctx: ScenarioContext, component: Component): Promise<readonly Held[]> {
  const { status } = await getPod(ctx, await podNameOf(ctx, component));
  return (status?.containerStatuses ?? []).map(({ name, containerID }) => {
    const [pid] = nodeOf(ctx).processesOf(containerID ?? '');
    assert.ok(pid !== undefined, `${name} runs`);
    const path = `/proc/${pid}/root${tokenFile}`;
    return { container: name, token: existsSync(path) ? readFileSync(path, 'utf8') : undefined };
  });
}

/** The status of the answer. */
async function listsVolumes({ testRun, signal }: ScenarioContext, token: string | undefined): Promise<number> {
  const { server, caFile } = testRun.controlPlane;
  using direct = directTransport({ server, caFile });
  const { status, body } = await direct.transport({
    method: 'GET',
    path: '/api/v1/persistentvolumes?limit=1',
    headers: { accept: 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    signal,
  });
  await Array.fromAsync(body);
  return status;
}
