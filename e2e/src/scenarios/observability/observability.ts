// SPDX-License-Identifier: Apache-2.0
/** O-01, O-04, O-05: what monitoring reads, and what a failure writes. */
import assert from 'node:assert/strict';
import { events, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { createCalls } from '../../driver/calls.ts';
import type { ControllerName } from '../../processes/program.ts';
import { request } from '../../suite-client/request.ts';
import { startReplicas, untilLed } from '../availability/replicas.ts';
import { createClaims, createNamedClaims } from '../availability/claims.ts';
import type { ScenarioContext } from '../context.ts';
import { ownRequests } from '../own-requests.ts';
import { createClass, untilBound } from '../provisioner/steps.ts';
import { ask, untilSize, withoutNode } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  installDefinitions,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';
import { type Family, readExposition } from './exposition.ts';

/** More would mean that a label has values that grow with use. */
const mostSeries = 600;
/** The rate of a client's events about one object: so many at once, then one in five minutes. */
const eventBurst = 25;

const controllers = [
  'csi-provisioner',
  'csi-resizer',
  'csi-snapshotter',
  'snapshot-controller',
] as const satisfies readonly ControllerName[];
/** A method of the driver that each of them has called. */
const called: Readonly<Record<string, string>> = {
  'csi-provisioner': '/csi.v1.Controller/CreateVolume',
  'csi-resizer': '/csi.v1.Controller/ControllerExpandVolume',
  'csi-snapshotter': '/csi.v1.Controller/CreateSnapshot',
};

export const observability: readonly Scenario[] = [
  {
    id: 'O-01',
    title: 'the metrics of every program are valid in the strict sense, show what it did, and do not grow with use',
    needs: ['driver-settings', 'driver-journal'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await installDefinitions(ctx);
      await ctx.startDriver(withoutNode);
      const ports = await freePorts(controllers);
      for (const name of controllers) {
        await ctx.startSidecar(name, { args: [`--http-endpoint=127.0.0.1:${ports[name]}`] });
      }
      const className = await createClass(ctx, { allowVolumeExpansion: true });
      await createClaims(ctx, className, 1);
      await liveOn(ctx);
      const before = await scrapeAll();
      for (const name of controllers) {
        const families = before.get(name)!;
        assert.ok(seriesOf(families) < mostSeries, `${name} has ${seriesOf(families)} series`);
        assert.ok(families.some(({ name: family }) => family === 'process_start_time_seconds'));
        const method = called[name];
        if (method === undefined) continue;
        const calls = families.find(({ name: family }) => family === 'csi_sidecar_operations_seconds');
        assert.equal(calls?.type, 'histogram');
        const own = calls.samples.filter(({ labels }) => labels.get('method_name') === method);
        assert.ok(own.length > 0, `${name} has called ${method}`);
        for (const { labels } of own) {
          assert.equal(labels.get('driver_name'), ctx.driverName);
          assert.equal(labels.get('grpc_status_code'), 'OK');
        }
      }
      const operations = before.get('snapshot-controller')!.map(({ name }) => name);
      assert.ok(operations.includes('snapshot_controller_operation_total_seconds'), operations.join(', '));

      await createNamedClaims(
        ctx,
        className,
        Array.from({ length: 10 }, (_, index) => `more-${index}`),
      );
      await ctx.eventually('all claims are bound', async () => {
        const { items } = await ctx.api.list(persistentVolumeClaims, { namespace: ctx.namespace });
        return items.every(({ status }) => status?.phase === 'Bound');
      });
      const after = await scrapeAll();
      for (const name of controllers) {
        const [then, now] = [seriesOf(before.get(name)!), seriesOf(after.get(name)!)];
        assert.ok(now <= then * 1.2, `${name} had ${then} series, and has ${now} after more of the same`);
        ctx.note(`${name}: ${now} series`);
      }

      async function scrapeAll(): Promise<ReadonlyMap<ControllerName, readonly Family[]>> {
        const all = new Map<ControllerName, readonly Family[]>();
        for (const name of controllers) {
          const { status, text } = await request({ url: `http://127.0.0.1:${ports[name]}/metrics` });
          assert.equal(status, 200);
          all.set(name, readExposition(text));
        }
        return all;
      }
    },
  },
  {
    id: 'O-04',
    title: 'a driver that always fails: retries go on, events and writes are bounded by the number of claims',
    needs: ['driver-faults', 'driver-journal', 'audit'],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      const fail = { kind: 'fail', code: 'Internal', message: 'always' } as const;
      const rule = await driver.control.addFault({ method: 'CreateVolume', action: fail });
      await ctx.startProvisioner({
        args: [
          '--retry-interval-start=100ms',
          '--retry-interval-max=200ms',
          '--kube-api-qps=200',
          '--kube-api-burst=400',
        ],
      });
      const claims = 5;
      await createClaims(ctx, await createClass(ctx), claims);
      const attempts = 60 * claims;
      await ctx.eventually(
        `${attempts} calls have failed`,
        async () => (await createCalls(driver)).length >= attempts,
        120_000,
      );

      const { items } = await ctx.api.list(events, { namespace: ctx.namespace });
      const failures = items.filter(({ reason }) => reason === 'ProvisioningFailed');
      assert.ok(failures.length >= claims && failures.length <= 3 * claims, `${failures.length} events`);
      const requests = ownRequests(ctx).filter(({ verb }) => ['create', 'update', 'patch', 'delete'].includes(verb));
      const ofEvents = requests.filter(({ resource }) => resource === 'events').length;
      // The reason that is given when an attempt begins is a second one.
      assert.ok(ofEvents <= 2 * (eventBurst + 1) * claims, `${ofEvents} requests for events`);
      // The finalizer of an attempt whose end is not known.
      assert.ok(requests.length - ofEvents <= 2 * claims, `${requests.length - ofEvents} other writes`);
      ctx.note(`${attempts} attempts: ${ofEvents} requests for events, ${requests.length - ofEvents} other writes`);
      await driver.control.removeFault(rule);
    },
  },
  {
    id: 'O-05',
    title: '/healthz/leader-election: 200 of the leader and of the standby, not of a leader that is frozen',
    needs: ['host-names'],
    shared: ['cores'],
    restarts: true,
    run: async (ctx) => {
      await ctx.startDriver();
      const ports = await freePorts(['replica-a', 'replica-b']);
      const replicas = await startReplicas(ctx, {
        argsOf: (name) => [`--http-endpoint=127.0.0.1:${ports[name as keyof typeof ports]}`],
      });
      const health = async (name: string): Promise<number> => {
        const url = `http://127.0.0.1:${ports[name as keyof typeof ports]}/healthz/leader-election`;
        return (await request({ url, timeoutMs: 1_000 }).catch(() => ({ status: 0 }))).status;
      };
      const leader = await untilLed(ctx, replicas);
      for (const { name } of replicas)
        await ctx.eventually(`${name} is healthy`, async () => (await health(name)) === 200);

      leader.process.signal('SIGSTOP');
      assert.notEqual(await health(leader.name), 200);
      const other = await untilLed(ctx, replicas, { by: (name) => name !== leader.name });
      assert.equal(await health(other.name), 200);
      leader.process.signal('SIGCONT');
      await ctx.eventually('the former leader has ended', () => leader.process.exits.length > 0);
      await ctx.eventually('it is back as standby', async () => (await health(leader.name)) === 200);
    },
  },
];

/** What the other programs do with the first claim. */
async function liveOn(ctx: ScenarioContext): Promise<void> {
  await untilBound(ctx, 'claim-0');
  await ask(ctx, '2Gi', 'claim-0');
  await untilSize(ctx, '2Gi', 'claim-0');
  await createSnapshot(ctx, {
    volumeSnapshotClassName: await createSnapshotClass(ctx),
    source: { persistentVolumeClaimName: 'claim-0' },
  });
  await untilReady(ctx);
  await deleteSnapshot(ctx);
  await untilNoSnapshots(ctx);
}

function seriesOf(families: readonly Family[]): number {
  return families.reduce((sum, { samples }) => sum + samples.length, 0);
}
