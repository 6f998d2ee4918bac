// SPDX-License-Identifier: Apache-2.0
/** the content of a Secret reaches only the driver. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  events,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  secrets,
  stringifyJson,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { addMountingNode } from '../../nodes/mounting-node.ts';
import { request } from '../../suite-client/request.ts';
import { nodeIdOf, startAttachable } from '../attacher/steps.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod } from '../pods.ts';
import { createClaim, createClass, untilEvent } from '../provisioner/steps.ts';
import { ask, untilSize } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  installDefinitions,
  startSnapshotController,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';

const canary = 'canary-7f3a91';
const programs = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'] as const;
/** Each fails twice, with the secret in its request, before it succeeds. */
const calls = ['CreateVolume', 'ControllerPublishVolume', 'ControllerExpandVolume', 'CreateSnapshot', 'DeleteSnapshot'];
const secretOf = ['provisioner', 'controller-publish', 'controller-expand'] as const;

export const secrecy: readonly Scenario[] = [
  {
    id: 'X-07',
    title: 'at -v=10, through failures and success, no secret shows in logs, events, objects or metrics',
    needs: ['scheduler', 'driver-faults', 'driver-journal', 'driver-settings'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const { namespace } = ctx;
      await installDefinitions(ctx);
      const nodeName = ctx.nameOf('node');
      const driver = await startAttachable(ctx, { nodes: [nodeIdOf(nodeName)] });
      const node = await addMountingNode(ctx, { name: nodeName, socket: driver.socketOf(nodeIdOf(nodeName)) });
      for (const method of calls) {
        const action = { kind: 'fail', code: 'Internal', message: `no ${method} today` } as const;
        await driver.control.addFault({ method, times: 2, action });
      }
      const ports = await freePorts(programs);
      const sidecars = [];
      for (const name of programs) {
        await ctx.grant(name, 'secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]);
        const args = ['-v=10', `--http-endpoint=127.0.0.1:${ports[name]}`, '--retry-interval-start=500ms'];
        sidecars.push(await ctx.startSidecar(name, { args }));
      }
      await startSnapshotController(ctx, ['-v=10']);
      await ctx.create(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'credentials' },
        stringData: { password: canary },
      });
      const reference = (prefix: string): Readonly<Record<string, string>> => ({
        [`csi.storage.k8s.io/${prefix}-secret-name`]: 'credentials',
        [`csi.storage.k8s.io/${prefix}-secret-namespace`]: namespace,
      });
      const parameters = Object.assign({}, ...secretOf.map(reference)) as Readonly<Record<string, string>>;
      await createClaim(ctx, await createClass(ctx, { allowVolumeExpansion: true, parameters }));
      await untilEvent(ctx, 'ProvisioningFailed', 'no CreateVolume today');
      await createPod(ctx, { name: 'pod', node });
      await untilRunning(ctx, 'pod', 60_000);
      await ask(ctx, '2Gi');
      await untilEvent(ctx, 'VolumeResizeFailed', 'no ControllerExpandVolume today');
      await untilSize(ctx, '2Gi');
      const volumeSnapshotClassName = await createSnapshotClass(ctx, { parameters: reference('snapshotter') });
      await createSnapshot(ctx, { volumeSnapshotClassName });
      await untilReady(ctx);
      await endPod(ctx, 'pod');

      const places: Record<string, string> = {};
      const resources: readonly Resource[] = [
        events,
        persistentVolumeClaims,
        persistentVolumes,
        volumeAttachments,
        volumeSnapshots,
        volumeSnapshotContents,
      ];
      for (const resource of resources) {
        const { items } = await ctx.api.list(resource, resource.namespaced ? { namespace } : {});
        places[resource.plural] = stringifyJson(items);
      }
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
      for (const [index, name] of programs.entries()) {
        places[`metrics of ${name}`] = (await request({ url: `http://127.0.0.1:${ports[name]}/metrics` })).text;
        places[`log of ${name}`] = readFileSync(sidecars[index]!.logFile, 'utf8');
      }
      places['later events'] = stringifyJson((await ctx.api.list(events, { namespace })).items);
      for (const name of programs) {
        assert.ok(places[`log of ${name}`]!.length > 0 && places[`metrics of ${name}`]!.includes('csi_'));
      }

      for (const method of calls) {
        const carried = (await driver.control.calls()).filter((call) => call.method.endsWith(`/${method}`));
        assert.ok(carried.length > 2, `${method} was called`);
        assert.ok(
          carried.every((call) => stringifyJson(call.request).includes(canary)),
          `${method} carries the secret`,
        );
      }
      const encoded = Buffer.from(canary).toString('base64');
      const leaks = Object.entries(places).filter(([, text]) => text.includes(canary) || text.includes(encoded));
      assert.deepEqual(
        leaks.map(([place]) => place),
        [],
      );
    },
  },
];
