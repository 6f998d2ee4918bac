// SPDX-License-Identifier: Apache-2.0
/** K-01, K-04: csi-snapshot-metadata with tokens and rights of a real API server, and a driver with real data. */
import assert from 'node:assert/strict';
import { copyFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ignoreNotFound, type PolicyRule } from '@csi-sidecars/runtime';
import type { Answer } from '@csi-sidecars/snapshot-metadata/testing';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { kubeconfigOf } from '../../accounts/kubeconfig-of.ts';
import { ensureTools } from '../../tools/ensure-tools.ts';
import { commandAccount, endOf } from '../command.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import { blockBytes, imageOf, prepareMetadata, takeSnapshots } from './metadata-steps.ts';
import { deleteSnapshot, untilNoSnapshots } from './steps.ts';

/** What backup software needs. */
const callerRules: readonly PolicyRule[] = [
  { apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshots'], verbs: ['get'] },
];

export const snapshotMetadata: readonly Scenario[] = [
  {
    id: 'K-01',
    title:
      'csi-snapshot-metadata: a caller with a token for the driver gets the blocks that hold data, and those that differ; one without the right, or with another token, gets none',
    needs: ['rbac', 'controller-manager', 'driver-settings'],
    shared: ['snapshot-controller', 'snapshot-definitions'],
    run: async (ctx) => {
      const { ask, audience } = await prepareMetadata(ctx);
      await takeSnapshots(ctx);
      const caller = await commandAccount(ctx, 'backup', callerRules);
      const stranger = await commandAccount(ctx, 'stranger', []);
      const tokenOf = async (account: typeof caller, audiences: readonly string[]): Promise<string> =>
        await ctx.testRun.controlPlane.tokenFor(account, { audiences });
      const good = await tokenOf(caller, [audience]);
      const allocated = { namespace: ctx.namespace, snapshot_name: 'second' };
      assert.deepEqual(blocksOf(await ask('allocated', { ...allocated, security_token: good })), [0, 7, 300, 9_000]);
      assert.deepEqual(
        blocksOf(await ask('allocated', { ...allocated, security_token: good, starting_offset: 8 * blockBytes })),
        [300, 9_000],
      );
      const delta = { namespace: ctx.namespace, target_snapshot_name: 'second' };
      const base_snapshot_id = await handleOf(ctx, 'first');
      assert.deepEqual(blocksOf(await ask('delta', { ...delta, base_snapshot_id, security_token: good })), [7, 9_000]);

      const refused = async (security_token: string, namespace = ctx.namespace): Promise<string> =>
        (await ask('allocated', { ...allocated, namespace, security_token })).code;
      assert.equal(await refused(await tokenOf(caller, ['another-audience'])), 'Unauthenticated');
      assert.equal(await refused('no token'), 'Unauthenticated');
      assert.equal(await refused(await tokenOf(stranger, [audience])), 'PermissionDenied');
      assert.equal(
        (await ask('allocated', { ...allocated, snapshot_name: 'none', security_token: good })).code,
        'Unavailable',
      );
      for (const name of ['first', 'second']) await deleteSnapshot(ctx, name);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'K-04',
    title:
      "csi-snapshot-metadata and upstream's own client: its iterator finds the service and reads it with a token of its account, and its verifier finds all blocks of a snapshot, and all that differ",
    needs: ['rbac', 'controller-manager', 'driver-settings'],
    shared: ['snapshot-controller', 'snapshot-definitions'],
    run: async (ctx) => {
      await prepareMetadata(ctx);
      const before = join(ctx.scratch, 'before');
      await takeSnapshots(ctx, () => copyFileSync(imageOf(ctx), before));
      const client = await prepareClient(ctx);
      const source = imageOf(ctx);
      const empty = join(ctx.scratch, 'empty');
      for (const maxResults of [0, 1, 7]) {
        writeFileSync(empty, '');
        truncateSync(empty, statSync(source).size);
        await client('-snapshot=second', `-source=${source}`, `-target=${empty}`, `-max-results=${maxResults}`);
        const target = join(ctx.scratch, `after-${maxResults}`);
        copyFileSync(before, target);
        const delta = ['-snapshot=second', '-previous=first', `-source=${source}`, `-target=${target}`];
        await client(...delta, `-max-results=${maxResults}`);
      }
      // The verifier compares: with the blocks of the first snapshot only, it finds the difference.
      writeFileSync(empty, '');
      truncateSync(empty, statSync(source).size);
      await assert.rejects(client('-snapshot=first', `-source=${source}`, `-target=${empty}`), /do not match/);
      for (const name of ['first', 'second']) await deleteSnapshot(ctx, name);
      await untilNoSnapshots(ctx);
    },
  },
];

const rule = (group: string, resources: readonly string[], verbs: readonly string[]): PolicyRule => ({
  apiGroups: [group],
  resources,
  verbs,
});
/** What upstream's client needs, which knows nothing but names. */
const clientRules: readonly PolicyRule[] = [
  rule('snapshot.storage.k8s.io', ['volumesnapshots', 'volumesnapshotcontents'], ['get']),
  rule('cbt.storage.k8s.io', ['snapshotmetadataservices'], ['get']),
  rule('', ['serviceaccounts/token'], ['create']),
];

/** Rejects with what the client has written if its exit code is not 0. */
async function prepareClient(ctx: ScenarioContext): Promise<(...args: readonly string[]) => Promise<void>> {
  const { testRun, scratch, namespace } = ctx;
  const { 'metadata-client': command } = await ensureTools(['metadata-client'], { env: testRun.env });
  const account = await commandAccount(ctx, 'backup', clientRules);
  const kubeconfig = await kubeconfigOf(testRun.controlPlane, { account, name: 'client', folder: scratch });
  const usual = [`-kubeconfig=${kubeconfig}`, `-namespace=${namespace}`, `-account=${account.name}`];
  return async (...args) => {
    const { code, stderr } = await endOf(command, [...usual, ...args]);
    if (code !== 0) throw new Error(`metadata-client ended with ${code}: ${stderr}`);
  };
}

function blocksOf({ code, detail, messages }: Answer): readonly number[] {
  assert.equal(code, 'OK', detail);
  return messages.flatMap(({ block_metadata: blocks }) =>
    blocks.map(({ byte_offset: offset, size_bytes: size }) => {
      assert.equal(Number(size), blockBytes);
      return Number(offset) / blockBytes;
    }),
  );
}

async function handleOf({ api, namespace }: ScenarioContext, name: string): Promise<string> {
  const snapshot = await api.get(volumeSnapshots, { namespace, name });
  const content = await api
    .get(volumeSnapshotContents, { name: snapshot.status?.boundVolumeSnapshotContentName ?? '' })
    .catch(ignoreNotFound);
  return content?.status?.snapshotHandle ?? '';
}
