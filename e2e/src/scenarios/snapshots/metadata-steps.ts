// SPDX-License-Identifier: Apache-2.0
/** csi-snapshot-metadata beside a driver with real data, and snapshots of a volume whose blocks are known. */
import { closeSync, globSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import {
  aClient,
  type Answer,
  type SnapshotMetadataService,
  snapshotMetadataServices,
} from '@csi-sidecars/snapshot-metadata/testing';
import { allCapabilities, type Capabilities } from '@csi-sidecars/test-driver';
import { kubeconfigOf } from '../../accounts/kubeconfig-of.ts';
import type { ServiceAccountRef } from '../../control-planes/control-plane.ts';
import { createCertificates } from '../../control-planes/certificates.ts';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { findProgram } from '../../processes/program.ts';
import { supervise } from '../../processes/supervised-process.ts';
import { applyRbac, removeBindings } from '../../rbac/apply.ts';
import { accountOf, combinedRbac, type RbacSubject } from '../../rbac/profiles.ts';
import { request } from '../../suite-client/request.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import {
  createSnapshot,
  createSnapshotClass,
  installDefinitions,
  startSnapshotController,
  startSnapshotter,
  untilReady,
} from './steps.ts';

export const blockBytes = 4096;

const plain: Capabilities = {
  ...allCapabilities,
  plugin: ['CONTROLLER_SERVICE', 'SNAPSHOT_METADATA_SERVICE'],
  controller: allCapabilities.controller.filter((type) => type !== 'PUBLISH_UNPUBLISH_VOLUME'),
};

export interface Serving {
  readonly ask: (kind: 'allocated' | 'delta', message: object) => Promise<Answer>;
  readonly audience: string;
}

/** The program, its driver and its service object. */
export async function prepareMetadata(ctx: ScenarioContext): Promise<Serving> {
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
  const account = await accountWithRights(ctx);
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

/** Upstream's role has no classes: its program works where the account also has the role of csi-snapshotter. */
async function accountWithRights({
  testRun,
  api,
  namespace,
  driverName,
  cleanUp,
}: ScenarioContext): Promise<ServiceAccountRef> {
  const own: RbacSubject = 'external-snapshot-metadata';
  const of: readonly RbacSubject[] = testRun.rbac === 'stock' ? [own, 'external-snapshotter'] : [own];
  const objects = combinedRbac(testRun.rbac, { account: 'csi-snapshot-metadata', of }, { namespace, driverName });
  cleanUp.defer(() => removeBindings(api, objects));
  await applyRbac(api, objects);
  return accountOf(objects);
}

/** The object that names the service to backup software, and its audience. */
async function announce(ctx: ScenarioContext, spec: NonNullable<SnapshotMetadataService['spec']>): Promise<void> {
  await installDefinitions(ctx, ['cbt.storage.k8s.io']);
  await ctx.create(snapshotMetadataServices, {
    apiVersion: 'cbt.storage.k8s.io/v1beta1',
    kind: 'SnapshotMetadataService',
    metadata: { name: ctx.driverName },
    spec,
  });
}

/**
 * Two snapshots of one volume: `first` with the blocks 0, 7 and 300, then `second`, with another 7 and 9000.
 * @param between called when the first is ready
 */
export async function takeSnapshots(ctx: ScenarioContext, between: () => void = () => undefined): Promise<void> {
  await createClaim(ctx, await createClass(ctx), { spec: { volumeMode: 'Block' } });
  await untilBound(ctx);
  const volumeSnapshotClassName = await createSnapshotClass(ctx);
  writeBlocks(ctx, 0, 7, 300);
  await createSnapshot(ctx, { name: 'first', volumeSnapshotClassName });
  await untilReady(ctx, 'first');
  between();
  writeBlocks(ctx, 7, 9_000);
  await createSnapshot(ctx, { name: 'second', volumeSnapshotClassName });
  await untilReady(ctx, 'second');
}

/** The file that is the volume. */
export function imageOf({ scratch }: ScenarioContext): string {
  const [image] = globSync(join(scratch, '**', 'volumes', '*', 'image'));
  if (image === undefined) throw new Error('the driver has no volume');
  return image;
}

/** Into these blocks of the volume, as a pod would. */
function writeBlocks(ctx: ScenarioContext, ...blocks: readonly number[]): void {
  const file = openSync(imageOf(ctx), 'r+');
  for (const block of blocks) {
    // Another text each time.
    writeSync(file, Buffer.alloc(blockBytes, `${block} of ${blocks.length}, `), 0, blockBytes, block * blockBytes);
  }
  closeSync(file);
}
