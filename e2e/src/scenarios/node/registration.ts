// SPDX-License-Identifier: Apache-2.0
/** N-: how a driver becomes known to a real kubelet, and how it is forgotten. */
import assert from 'node:assert/strict';
import { existsSync, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { csiNodes, nodes } from '@csi-sidecars/runtime';
import {
  deployDriverOnly,
  deployNodeSide,
  isRegistered,
  programPod,
  registrarName as registrar,
  registrationFolder,
  untilRegistered,
  type Deployment,
  type ProgramPod,
} from '../../deployment/deploy.ts';
import type { Container } from '../../deployment/chart-objects.ts';
import { containerOf, startPod, untilPod, untilReady } from '../pod-life.ts';
import { outputOf } from '../../deployment/pod-output.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';

const nodeIdAnnotation = 'csi.volume.kubernetes.io/nodeid';

export const registration: readonly Scenario[] = [
  {
    id: 'N-01',
    title: 'registration: CSINode has driver, node id, topology keys and the limit; the Node has annotation and labels',
    needs: ['kubelet', 'driver-settings'],
    run: async (ctx) => {
      const { driverName, api } = ctx;
      const key = `topology.${driverName}/node`;
      const { node } = await deployNodeSide(ctx, { flags: ['--max-volumes-per-node=7'] });

      const { spec } = await api.get(csiNodes, { name: node.name });
      assert.deepEqual(
        spec.drivers.find(({ name }) => name === driverName),
        { name: driverName, nodeID: node.name, topologyKeys: [key], allocatable: { count: 7 } },
      );
      const { metadata } = await api.get(nodes, { name: node.name });
      const ids = JSON.parse(metadata?.annotations?.[nodeIdAnnotation] ?? '{}') as Readonly<Record<string, string>>;
      assert.equal(ids[driverName], node.name);
      assert.equal(metadata?.labels?.[key], node.name);
      assert.equal(
        lstatSync(socketOf(ctx, { node })).mode & 0o777,
        0o700,
        'other users cannot use the registration socket',
      );
    },
  },
  {
    id: 'N-03',
    title: 'registrar SIGTERM: exit 0, the registration socket is removed and kubelet forgets the driver',
    needs: ['kubelet'],
    run: async (ctx) => {
      const deployment = await deployDriverOnly(ctx);
      const { node } = deployment;
      await startRegistrar(ctx, deployment);
      await untilRegistered(ctx);

      const { status } = await untilReady(ctx, 'registrar');
      const [pid] = node.processesOf(status?.containerStatuses?.[0]?.containerID ?? '');
      process.kill(pid!, 'SIGTERM');

      const ended = await untilPod(ctx, { name: 'registrar', what: 'succeeds', check: phaseIs('Succeeded') });
      assert.equal(containerOf(ended, registrar).state?.terminated?.exitCode, 0);
      assert.equal(existsSync(socketOf(ctx, { node })), false);
      await untilForgotten(ctx);
    },
  },
  {
    id: 'N-04',
    title: 'a stale registration socket is replaced; a file in its place is left untouched, and the registrar exits 1',
    needs: ['kubelet'],
    run: async (ctx) => {
      const deployment = await deployDriverOnly(ctx);
      const path = socketOf(ctx, deployment);

      ctx.cleanUp.defer(() => rmSync(path, { force: true }));
      writeFileSync(path, 'not a socket');
      await startRegistrar(ctx, deployment, { name: 'refused' });
      const refused = await untilPod(ctx, { name: 'refused', what: 'fails', check: phaseIs('Failed') });
      assert.equal(containerOf(refused, registrar).state?.terminated?.exitCode, 1);
      assert.equal(readFileSync(path, 'utf8'), 'not a socket');
      rmSync(path);

      await leaveStaleSocket(path);
      await startRegistrar(ctx, deployment);
      await untilRegistered(ctx);
    },
  },
  {
    id: 'N-07',
    title: 'kubelet refuses the registration: the registrar exits 1 and logs the reason',
    needs: ['kubelet'],
    run: async (ctx) => {
      const deployment = await deployDriverOnly(ctx);
      const { node, folder } = deployment;
      // No value of the chart lets the registrar name a socket that the driver does not have.
      const elsewhere = (container: Container): Container => ({
        ...container,
        args: container.args!.map((arg) => arg.replace(`${folder}/csi.sock`, `${folder}/unserved.sock`)),
      });
      await startRegistrar(ctx, deployment, { change: elsewhere });
      // A socket without a server is left behind: the next registrar would replace it, and kubelet dials it without success.
      ctx.cleanUp.defer(() => rmSync(socketOf(ctx, { node }), { force: true }));

      const ended = await untilPod(ctx, { name: 'registrar', what: 'fails', check: phaseIs('Failed') });
      assert.equal(containerOf(ended, registrar).state?.terminated?.exitCode, 1);
      const output = outputOf(node, `${ctx.namespace}_registrar`, registrar);
      assert.match(output, /Registration process failed with error.*unserved\.sock/s);
      assert.equal(await isRegistered(ctx), false);
    },
  },
];

/** By itself, in a pod that ends when it ends. */
async function startRegistrar(
  ctx: ScenarioContext,
  deployment: Deployment,
  options: Partial<Pick<ProgramPod, 'name' | 'change'>> = {},
): Promise<void> {
  const pod = { name: 'registrar', ...options, container: registrar, restartPolicy: 'Never' } as const;
  await startPod(ctx, await programPod(ctx, deployment, pod));
}

function phaseIs(phase: string): (pod: { readonly status?: { readonly phase?: string } }) => boolean {
  return ({ status }) => status?.phase === phase;
}

function socketOf({ driverName }: ScenarioContext, { node }: Pick<Deployment, 'node'>): string {
  return join(registrationFolder(node), `${driverName}-reg.sock`);
}

async function untilForgotten(ctx: ScenarioContext): Promise<void> {
  await ctx.eventually('CSINode has forgotten the driver', async () => !(await isRegistered(ctx)));
}

/** A socket file without a server, as a killed process leaves it. */
async function leaveStaleSocket(path: string): Promise<void> {
  const server = createServer();
  server.listen(`${path}.tmp`);
  await once(server, 'listening');
  renameSync(`${path}.tmp`, path);
  server.close();
  await once(server, 'close');
}
