// SPDX-License-Identifier: Apache-2.0
/** W-01: a real API server converts group contents through the webhook. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiVersionOf, ignoreNotFound, type KubeObject, type Resource } from '@csi-sidecars/runtime';
import { createTestAuthority, freePort } from '@csi-sidecars/runtime/testing';
import { type VolumeGroupSnapshotContent, volumeGroupSnapshotContents } from '@csi-sidecars/volume';
import { findProgram } from '../../processes/program.ts';
import { supervise } from '../../processes/supervised-process.ts';
import { definitions } from '../../snapshot-api/definitions.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import { installDefinitions } from './steps.ts';

interface OldContent extends KubeObject {
  readonly status?: {
    readonly volumeSnapshotHandlePairList?: readonly {
      readonly volumeHandle: string;
      readonly snapshotHandle: string;
    }[];
  };
}

const { plural, group, kind } = volumeGroupSnapshotContents;
const definition = `${plural}.${group}`;
const beta2: Resource<VolumeGroupSnapshotContent> = { ...volumeGroupSnapshotContents, version: 'v1beta2' };
const beta1: Resource<OldContent> = { group, version: 'v1beta1', plural, kind, namespaced: false };
const listAnnotation = 'groupsnapshot.storage.kubernetes.io/volume-snapshot-info-list';

const volumeSnapshotInfoList = [
  {
    volumeHandle: 'v1',
    snapshotHandle: 's1',
    creationTime: 1_763_836_800_123_456_789n,
    readyToUse: true,
    restoreSize: 9_007_199_254_740_993n,
  },
  { volumeHandle: 'v2', snapshotHandle: 's2', readyToUse: false },
];

async function startWebhook(ctx: ScenarioContext): Promise<string> {
  const authority = createTestAuthority();
  const { cert, key } = authority.issue({ commonName: 'webhook', hosts: ['127.0.0.1'] });
  const folder = join(ctx.scratch, 'certificates');
  mkdirSync(folder);
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key);
  const port = await freePort();
  const { command, args } = findProgram('snapshot-conversion-webhook', ctx.testRun.env);
  const files = [`--tls-cert-file=${join(folder, 'tls.crt')}`, `--tls-private-key-file=${join(folder, 'tls.key')}`];
  const webhook = await supervise(
    {
      name: 'snapshot-conversion-webhook',
      command,
      args: [...args, ...files, `--port=${port}`, '--v=2'],
      env: { PATH: ctx.testRun.env['PATH'] },
      logFile: join(ctx.folder, 'snapshot-conversion-webhook.log'),
    },
    ctx.testRun.clock,
  );
  ctx.cleanUp.use(webhook);
  await convertBy(ctx, {
    strategy: 'Webhook',
    webhook: {
      conversionReviewVersions: ['v1'],
      clientConfig: {
        url: `https://127.0.0.1:${port}/convert`,
        caBundle: Buffer.from(authority.ca).toString('base64'),
      },
    },
  });
  ctx.cleanUp.defer(() => convertBy(ctx, { strategy: 'None', webhook: null }));
  return webhook.logFile;
}

async function convertBy({ api }: ScenarioContext, conversion: object): Promise<void> {
  const target = { resource: definitions, ref: { name: definition } };
  await api.patch(target, { type: 'merge', body: { spec: { conversion } } });
}

export const conversion: readonly Scenario[] = [
  {
    id: 'W-01',
    title:
      'the API server converts group contents through the webhook: v1, v1beta2 and v1beta1 lose nothing, digits included',
    needs: ['admission'],
    exclusive: ['snapshot-controller', 'snapshot-definitions'],
    upstream: 'refuses every conversion from and to v1',
    run: async (ctx) => {
      await installDefinitions(ctx);
      await startWebhook(ctx);
      const name = ctx.nameOf('content');
      ctx.cleanUp.defer(async () => void (await ctx.api.delete(beta2, { name }).catch(ignoreNotFound)));
      await ctx.eventually('the API server converts', async () => {
        // It takes the new stanza in a moment later.
        await ctx.api.delete(beta2, { name }).catch(ignoreNotFound);
        await ctx.api.create(beta2, {
          apiVersion: apiVersionOf(beta2),
          kind: beta2.kind,
          metadata: { name },
          spec: {
            deletionPolicy: 'Retain',
            driver: ctx.driverName,
            source: { volumeHandles: ['v1', 'v2'] },
            volumeGroupSnapshotRef: { namespace: ctx.namespace, name: 'group' },
          },
        });
        const status = { volumeGroupSnapshotHandle: 'g1', readyToUse: true, volumeSnapshotInfoList };
        const patch = { type: 'merge', body: { status } } as const;
        await ctx.api.patch({ resource: beta2, ref: { name } }, patch, { subresource: 'status' });
        const { metadata } = await ctx.api.get(beta1, { name });
        return metadata?.annotations?.[listAnnotation] !== undefined;
      });

      const old = await ctx.api.get(beta1, { name });
      assert.deepEqual(old.status?.volumeSnapshotHandlePairList, [
        { volumeHandle: 'v1', snapshotHandle: 's1' },
        { volumeHandle: 'v2', snapshotHandle: 's2' },
      ]);
      assert.match(old.metadata?.annotations?.[listAnnotation] ?? '', /"creationTime":1763836800123456789\b/);

      // A backup program that knows v1beta1 only reads the whole object and writes it back.
      await ctx.api.update(beta1, { ...old, metadata: { ...old.metadata, labels: { backup: 'seen' } } });
      for (const resource of [volumeGroupSnapshotContents, beta2]) {
        const { metadata, status } = await ctx.api.get(resource, { name });
        assert.deepEqual(status, { volumeGroupSnapshotHandle: 'g1', readyToUse: true, volumeSnapshotInfoList });
        assert.deepEqual([metadata?.labels, metadata?.annotations?.[listAnnotation]], [{ backup: 'seen' }, undefined]);
      }
    },
  },
];
