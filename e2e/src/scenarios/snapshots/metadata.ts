// SPDX-License-Identifier: Apache-2.0
/** K-01: csi-snapshot-metadata with tokens and rights of a real API server, and a driver with real data. */
import assert from 'node:assert/strict';
import { globSync, openSync, readFileSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { ignoreNotFound, type KubeObject, type PolicyRule, type Resource } from '@csi-sidecars/runtime';
import { clusterRules } from '@csi-sidecars/snapshot-metadata';
import { aClient, type Answer } from '@csi-sidecars/snapshot-metadata/testing';
import { allCapabilities, type Capabilities } from '@csi-sidecars/test-driver';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { kubeconfigOf } from '../../accounts/kubeconfig-of.ts';
import { createCertificates } from '../../control-planes/certificates.ts';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { findProgram } from '../../processes/program.ts';
import { supervise } from '../../processes/supervised-process.ts';
import { request } from '../../suite-client/request.ts';
import { commandAccount } from '../command.ts';
import type { ScenarioContext } from '../context.ts';
import { installDefinition } from '../install-definition.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  installDefinitions,
  startSnapshotController,
  startSnapshotter,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const group = 'cbt.storage.k8s.io';
const services: Resource = {
  group,
  version: 'v1beta1',
  plural: 'snapshotmetadataservices',
  kind: 'SnapshotMetadataService',
  namespaced: false,
};

const plain: Capabilities = {
  ...allCapabilities,
  plugin: ['CONTROLLER_SERVICE', 'SNAPSHOT_METADATA_SERVICE'],
  controller: allCapabilities.controller.filter((type) => type !== 'PUBLISH_UNPUBLISH_VOLUME'),
};

/** What backup software needs. */
const callerRules: readonly PolicyRule[] = [
  { apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshots'], verbs: ['get'] },
];

const blockBytes = 4096;

export const snapshotMetadata: readonly Scenario[] = [
  {
    id: 'K-01',
    title:
      'csi-snapshot-metadata: a caller with a token for the driver gets the blocks that hold data, and those that differ; one without the right, or with another token, gets none',
    needs: ['rbac', 'controller-manager', 'driver-settings'],
    shared: ['snapshot-controller', 'snapshot-definitions'],
    run: async (ctx) => {
      const { ask, audience } = await prepare(ctx);
      await createClaim(ctx, await createClass(ctx), { spec: { volumeMode: 'Block' } });
      await untilBound(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      write(ctx, 0, 7, 300);
      await createSnapshot(ctx, { name: 'first', volumeSnapshotClassName });
      await untilReady(ctx, 'first');
      write(ctx, 7, 9_000);
      await createSnapshot(ctx, { name: 'second', volumeSnapshotClassName });
      await untilReady(ctx, 'second');

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
];

interface Serving {
  readonly ask: (kind: 'allocated' | 'delta', message: object) => Promise<Answer>;
  readonly audience: string;
}

async function prepare(ctx: ScenarioContext): Promise<Serving> {
  const { testRun, scratch, cleanUp, driverName } = ctx;
  await installDefinitions(ctx);
  await ctx.startDriver({ settings: { capabilities: plain } });
  await ctx.startProvisioner();
  await startSnapshotter(ctx);
  await startSnapshotController(ctx);
  const audience = `${driverName}-audience`;
  const certificates = createCertificates(join(scratch, 'metadata-pki'));
  const { certFile, keyFile } = certificates.issue('server', { commonName: 'metadata', hosts: ['localhost'] });
  const { service, health } = await freePorts(['service', 'health']);
  const account = await commandAccount(ctx, 'metadata', clusterRules);
  const kubeconfig = await kubeconfigOf(testRun.controlPlane, { account, name: 'metadata', folder: scratch });
  const { command, args } = findProgram('csi-snapshot-metadata', testRun.env);
  const running = await supervise(
    {
      name: 'csi-snapshot-metadata',
      command,
      args: [
        ...args,
        `--csi-address=${ctx.driver.socket}`,
        `--kubeconfig=${kubeconfig}`,
        `--port=${service}`,
        `--tls-cert=${certFile}`,
        `--tls-key=${keyFile}`,
        `--http-endpoint=127.0.0.1:${health}`,
        '--v=4',
      ],
      env: { PATH: testRun.env['PATH'] },
      logFile: join(ctx.folder, 'csi-snapshot-metadata.log'),
    },
    testRun.clock,
  );
  cleanUp.use(running);
  const ca = readFileSync(certificates.caFile, 'utf8');
  await announce(ctx, { audience, address: `localhost:${service}`, caCert: Buffer.from(ca).toString('base64') });
  await ctx.eventually('csi-snapshot-metadata is ready', async () => {
    const answer = await request({ url: `http://127.0.0.1:${health}/health`, timeoutMs: 1_000 });
    return answer.status === 200;
  });
  const client = aClient({ port: service, ca });
  cleanUp.defer(() => client.close());
  return { audience, ask: (kind, message) => client[kind](message) };
}

/** The object that names the service to backup software, and its audience. The definition is as much of upstream's as this needs. */
async function announce(ctx: ScenarioContext, spec: object): Promise<void> {
  const fields = Object.fromEntries(['audience', 'address', 'caCert'].map((name) => [name, { type: 'string' }]));
  const schema = { type: 'object', properties: { spec: { type: 'object', properties: fields } } };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${services.plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group,
      scope: 'Cluster',
      names: { kind: services.kind, plural: services.plural },
      versions: [{ name: services.version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
  await installDefinition(ctx, definition, services);
  await ctx.create(services, {
    apiVersion: `${group}/v1beta1`,
    kind: services.kind,
    metadata: { name: ctx.driverName },
    spec,
  } as KubeObject);
}

/** Into these blocks of the volume, as a pod would. */
function write(ctx: ScenarioContext, ...blocks: readonly number[]): void {
  const [image = ''] = globSync(join(ctx.scratch, '**', 'volumes', '*', 'image'));
  const file = openSync(image, 'r+');
  for (const block of blocks) {
    // Another text each time.
    writeSync(file, Buffer.alloc(blockBytes, `${block} of ${blocks.length}, `), 0, blockBytes, block * blockBytes);
  }
  closeSync(file);
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
