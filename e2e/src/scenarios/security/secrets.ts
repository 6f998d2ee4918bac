// SPDX-License-Identifier: Apache-2.0
/** the content of a Secret reaches only the driver. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { events, persistentVolumeClaims, persistentVolumes, secrets } from '@csi-sidecars/runtime';
import { createCalls } from '../../driver/calls.ts';
import { request } from '../../suite-client/request.ts';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { createClaim, createClass, untilBound, untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';

const canary = 'canary-7f3a91';

export const secrecy: readonly Scenario[] = [
  {
    id: 'X-07',
    title: 'at -v=10, through failures and success, no secret shows in logs, events, objects or metrics',
    needs: ['driver-faults', 'driver-journal'],
    run: async (ctx) => {
      const { metrics: port } = await freePorts(['metrics']);
      const driver = await ctx.startDriver();
      const rule = { method: 'CreateVolume', times: 2 } as const;
      await driver.control.addFault({ ...rule, action: { kind: 'fail', code: 'Internal', message: 'not today' } });
      await ctx.grant('csi-provisioner', 'secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]);
      const provisioner = await ctx.startProvisioner({
        args: ['-v=10', `--http-endpoint=127.0.0.1:${port}`, '--retry-interval-start=500ms'],
      });
      await ctx.create(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'credentials' },
        stringData: { password: canary },
      });
      const className = await createClass(ctx, {
        parameters: {
          'csi.storage.k8s.io/provisioner-secret-name': 'credentials',
          'csi.storage.k8s.io/provisioner-secret-namespace': ctx.namespace,
        },
      });
      await createClaim(ctx, className);
      await untilEvent(ctx, 'ProvisioningFailed', 'not today');
      const { volume } = await untilBound(ctx);

      assert.equal((await createCalls(driver)).at(-1)?.request.secrets['password'], canary);
      const { namespace } = ctx;
      const places: Readonly<Record<string, string>> = {
        log: readFileSync(provisioner.logFile, 'utf8'),
        metrics: (await request({ url: `http://127.0.0.1:${port}/metrics` })).text,
        events: JSON.stringify((await ctx.api.list(events, { namespace })).items),
        claim: JSON.stringify((await ctx.api.list(persistentVolumeClaims, { namespace })).items),
        volume: JSON.stringify(await ctx.api.get(persistentVolumes, { name: volume.metadata?.name ?? '' })),
      };
      assert.ok(places['log']!.length > 0 && places['metrics']!.includes('csi_'), 'there is something to look at');
      const encoded = Buffer.from(canary).toString('base64');
      const leaks = Object.entries(places).filter(([, text]) => text.includes(canary) || text.includes(encoded));
      assert.deepEqual(
        leaks.map(([place]) => place),
        [],
      );
    },
  },
];
