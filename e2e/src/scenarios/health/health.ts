// SPDX-License-Identifier: Apache-2.0
/** V-01 to V-04: the health that a driver reports, in the status of the claim. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { events, persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { HealthEntry } from '@csi-sidecars/test-driver';
import type { ScenarioContext } from '../context.ts';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { request } from '../../suite-client/request.ts';
import { startReplicas, takeTurns } from '../availability/replicas.ts';
import { restartCorePrograms } from '../chaos/disruption.ts';
import { ownRequests } from '../own-requests.ts';
import { createClaim, createClass, untilBound, untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';

const program = 'csi-external-health-monitor-controller';
const driverNeeds = ['driver-faults', 'driver-settings', 'driver-journal'] as const;
const needs = ['volume-health', ...driverNeeds] as const;
const slow: HealthEntry = { status: 'DEGRADED', reason: 'SlowDisk', message: 'the disk is slow' };
const gone: HealthEntry = { status: 'INACCESSIBLE', reason: 'NoPath', message: 'no path to the storage' };

interface Shown {
  readonly healthConditions?: readonly {
    readonly status: string;
    readonly reason: string;
    readonly message?: string;
  }[];
  readonly lastTransitionTime?: string;
}

async function shownBy({ api, namespace }: ScenarioContext): Promise<Shown | undefined> {
  const { status } = await api.get(persistentVolumeClaims, { namespace, name: 'claim' });
  return (status as { readonly healthStatus?: Shown } | undefined)?.healthStatus;
}

/** Waits until the claim shows exactly these, as `Degraded SlowDisk`. */
async function untilShown(ctx: ScenarioContext, ...expected: readonly string[]): Promise<Shown> {
  return await ctx.eventually(`the claim shows ${expected.join(', ') || 'no health'}`, async () => {
    const shown = (await shownBy(ctx)) ?? {};
    const found = (shown.healthConditions ?? []).map(({ status, reason }) => `${status} ${reason}`);
    return found.join() === expected.join() ? shown : undefined;
  });
}

/** A claim that is bound, and the id of its volume. */
async function ready(ctx: ScenarioContext): Promise<string> {
  await ctx.startProvisioner();
  await createClaim(ctx, await createClass(ctx));
  const { volume } = await untilBound(ctx);
  return volume.spec?.csi?.volumeHandle ?? '';
}

async function follow(ctx: ScenarioContext, id: string): Promise<void> {
  await ctx.driver.control.setHealth(id, [slow]);
  const first = await untilShown(ctx, 'Degraded SlowDisk');
  assert.equal(first.healthConditions?.[0]?.message, slow.message);
  await ctx.driver.control.setHealth(id, [gone, slow]);
  await untilShown(ctx, 'Degraded SlowDisk', 'Inaccessible NoPath');
  await ctx.driver.control.setHealth(id, []);
  await untilShown(ctx);
}

/** With these arguments more, for this time. */
async function restartApiServer(ctx: ScenarioContext, more: readonly string[] = []): Promise<void> {
  const server = ctx.testRun.controlPlane.components.get('kube-apiserver');
  assert.ok(server !== undefined);
  await server.kill();
  await server.start(more);
  await restartCorePrograms(ctx);
}

async function droppedAt(port: number): Promise<number> {
  const { text } = await request({ url: `http://127.0.0.1:${port}/metrics` });
  return Number(/^csi_volume_health_status_writes_dropped_total (\d+)$/m.exec(text)?.[1] ?? 0);
}

export const health: readonly Scenario[] = [
  {
    id: 'V-01',
    title: 'a claim shows what the driver lists of its volume, changes with it, and keeps it while the driver fails',
    needs,
    run: async (ctx) => {
      await ctx.startDriver();
      const id = await ready(ctx);
      await ctx.startSidecar(program, { args: ['--list-volumes-interval=1s'] });
      await follow(ctx, id);
      await ctx.driver.control.setHealth(id, [slow]);
      await untilShown(ctx, 'Degraded SlowDisk');
      const rule = await ctx.driver.control.addFault({
        method: 'ControllerListVolumeHealth',
        action: { kind: 'fail', code: 'Internal' },
      });
      await ctx.eventually('lists have failed', async () => ((await ctx.driver.control.faults())[0]?.acted ?? 0) >= 2);
      await untilShown(ctx, 'Degraded SlowDisk');
      await ctx.driver.control.removeFault(rule);
      await ctx.driver.control.setHealth(id, []);
      await untilShown(ctx);
    },
  },
  {
    id: 'V-02',
    title:
      'a claim shows what a driver answers that does not list, also with a reason that the API server would refuse',
    needs,
    run: async (ctx) => {
      await ctx.startDriver({
        settings: {
          capabilities: {
            plugin: ['CONTROLLER_SERVICE'],
            expansion: [],
            controller: ['CREATE_DELETE_VOLUME', 'GET_VOLUME_HEALTH'],
            node: [],
            group: [],
          },
        },
      });
      const id = await ready(ctx);
      await ctx.startSidecar(program, { args: ['--monitor-interval=1s'] });
      await follow(ctx, id);
      await ctx.driver.control.setHealth(id, [{ ...slow, reason: '5xx errors' }]);
      await untilShown(ctx, 'Degraded Reason_5xx_errors');
      await ctx.driver.control.setHealth(id, [slow, { status: 99, reason: 'FromTheFuture', message: 'flux' }]);
      await untilShown(ctx, 'Degraded SlowDisk');
      await untilEvent(ctx, 'UnknownVolumeHealthCondition', '99 (reason: FromTheFuture): flux');
      await ctx.driver.control.setHealth(id, []);
      await untilShown(ctx);
    },
  },
  {
    id: 'V-03',
    title: 'the leader dies, and the other replica shows what the driver reports then',
    needs: ['host-names', ...needs],
    restarts: true,
    run: async (ctx) => {
      await ctx.startDriver();
      const id = await ready(ctx);
      const replicas = await startReplicas(ctx, { program, args: ['--list-volumes-interval=1s'] });
      await ctx.driver.control.setHealth(id, [slow]);
      await untilShown(ctx, 'Degraded SlowDisk');
      await takeTurns(ctx, replicas);
      await ctx.driver.control.setHealth(id, [gone]);
      await untilShown(ctx, 'Inaccessible NoPath');
      await ctx.driver.control.setHealth(id, []);
      await untilShown(ctx);
    },
  },
  {
    id: 'V-04',
    title:
      'the API server drops the health of claims, because its gate CSIVolumeHealth is off or it is older than 1.37: one claim is tried in each cycle, with one warning and no event; with the gate on, all claims show their health',
    needs: [...driverNeeds, 'api-server-control', 'audit'],
    exclusive: ['api-server'],
    upstream: 'It tries every claim in each cycle.',
    run: async (ctx) => {
      await ctx.startDriver();
      const id = await ready(ctx);
      const knowsField = ctx.testRun.controlPlane.has.has('volume-health');
      if (knowsField) {
        ctx.cleanUp.defer(() => restartApiServer(ctx));
        await restartApiServer(ctx, ['--feature-gates=CSIVolumeHealth=false']);
      }
      // It is bound when the API server has read the roles.
      await createClaim(ctx, ctx.nameOf('class'), { name: 'other' });
      const { volume } = await untilBound(ctx, 'other');
      await ctx.driver.control.setHealth(id, [slow]);
      await ctx.driver.control.setHealth(volume.spec?.csi?.volumeHandle ?? '', [gone]);
      const { metrics } = await freePorts(['metrics']);
      const monitor = await ctx.startSidecar(program, {
        args: ['--list-volumes-interval=1s', `--http-endpoint=127.0.0.1:${metrics}`],
      });
      await ctx.eventually('five writes were dropped', async () => (await droppedAt(metrics)) >= 5);
      const patches = ownRequests(ctx).filter(
        ({ verb, resource, subresource }) =>
          verb === 'patch' && resource === 'persistentvolumeclaims' && subresource === 'status',
      );
      const lists = (await ctx.driver.control.calls()).filter(({ method }) =>
        method.endsWith('/ControllerListVolumeHealth'),
      );
      // In the first cycle both claims are under way before an answer lacks the field.
      assert.ok(patches.length <= lists.length + 1, `${patches.length} patches in ${lists.length} cycles`);
      assert.equal(await shownBy(ctx), undefined);
      const { items } = await ctx.api.list(events, { namespace: ctx.namespace });
      assert.deepEqual(
        items.filter(({ source }) => source?.component?.startsWith('csi-pv-monitor') === true),
        [],
      );
      const warnings = readFileSync(monitor.logFile, 'utf8')
        .split('\n')
        .filter((line) => /^[WEF]\d{4} /.test(line));
      assert.equal(warnings.length, 1, warnings.join('\n'));
      if (!knowsField) return;
      await restartApiServer(ctx);
      await untilShown(ctx, 'Degraded SlowDisk');
    },
  },
];
