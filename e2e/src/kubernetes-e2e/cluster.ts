// SPDX-License-Identifier: Apache-2.0
/** A node with the driver, the sidecars and snapshot-controller on it, as Kubernetes' tests expect them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  persistentVolumes,
  storageClasses,
  systemClock,
  volumeAttachments,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import type { RealNode } from '../control-planes/control-plane.ts';
import { startNode } from '../control-planes/node/start-node.ts';
import { deployAll, deploySnapshotController } from '../deployment/deploy.ts';
import { repositoryRoot } from '../processes/program.ts';
import { openContext, type ScenarioContext } from '../scenarios/context.ts';
import { aStorageClass } from '../scenarios/objects.ts';
import { installDefinitions } from '../scenarios/snapshots/steps.ts';
import { type TestRun, runOfOurs } from '../scenarios/test-run.ts';
import type { Environment } from '../tools/locate.ts';
import { testImages } from './test-images.ts';
import { type DefinitionOptions, driverDefinition } from './driver-definition.ts';

export interface Cluster extends AsyncDisposable {
  readonly testRun: TestRun;
  readonly node: RealNode;
  readonly kubeconfig: string;
  readonly definition: object;
}

export interface ClusterOptions {
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** The name of the folder in `reports`. */
  readonly name: string;
  /** The program with the tests, which knows what images they use. */
  readonly tests: string;
}

/** The name of a node has to lead to it: the API server asks kubelet to run commands in pods. This one needs no entry in /etc/hosts. */
const nodeName = 'localhost';
const mutableParameter = 'iops';
/** A file system of the size of the volume, which is frozen while it is copied and grows under a pod. The driver chooses its type. */
const storage = { layout: 'filesystem' };
const goneWithinMs = 120_000;

export async function openCluster({ env, signal, name, tests }: ClusterOptions): Promise<Cluster> {
  await using opening = new AsyncDisposableStack();
  const clock = systemClock();
  const reports = join(repositoryRoot, 'reports', name);
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'csi-e2e-'));
  opening.defer(() => rmSync(scratch, { recursive: true, force: true }));
  const folder = join(reports, 'control-plane');
  const images = await testImages(tests);
  const controlPlane = opening.use(await startNode({ clock, folder, env, nodeName, images }));
  const testRun = runOfOurs('e2e', { controlPlane, clock, env, load: 'full', reports, scratch });
  const ctx = await openContext(testRun, { id: 'K8S' }, signal);
  opening.defer(() => ctx.cleanUp.disposeAsync());
  const options = await deployDriver(ctx);
  opening.defer(() => untilNothingIsLeft(ctx));
  const running = opening.move();
  return {
    testRun,
    node: controlPlane.node!,
    kubeconfig: controlPlane.adminKubeconfig,
    definition: driverDefinition(options),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function deployDriver(ctx: ScenarioContext): Promise<DefinitionOptions> {
  const { driverName } = ctx;
  await installDefinitions(ctx);
  await deploySnapshotController(ctx);
  await deployAll(ctx, {
    controllers: ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'],
    flags: ['--capacity=disk=500Gi', `--accepted-mutable-parameter-names=${mutableParameter}`],
    // The suite's class binds at once, and its test of capacity waits for objects of that class.
    values: { features: { capacity: true }, sidecars: { provisioner: { capacity: { forImmediateBinding: true } } } },
  });
  const classes = { storage: ctx.nameOf('class'), attributes: ctx.nameOf('attributes') };
  await ctx.create(storageClasses, aStorageClass(classes.storage, driverName, { parameters: storage }));
  await ctx.create(volumeAttributesClasses, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name: classes.attributes },
    driverName,
    parameters: { [mutableParameter]: '100' },
  });
  return { driverName, topologyKey: `topology.${driverName}/node`, classes, timeFactor: ctx.testRun.timeFactor };
}

/** Tests delete what they made, and do not always wait until it is gone. The driver has to be there for that. */
async function untilNothingIsLeft({ testRun: { api, clock }, driverName }: ScenarioContext): Promise<void> {
  const deadlineMs = clock.monotonicMs() + goneWithinMs;
  const left = async (): Promise<readonly string[]> => {
    const volumes = (await api.list(persistentVolumes)).items.filter(({ spec }) => spec?.csi?.driver === driverName);
    const attachments = (await api.list(volumeAttachments)).items;
    return [...volumes, ...attachments].map(({ kind, metadata }) => `${kind ?? ''} ${metadata?.name ?? ''}`.trim());
  };
  for (let names = await left(); names.length > 0; names = await left()) {
    if (clock.monotonicMs() > deadlineMs) throw new Error(`the tests have left behind:\n${names.join('\n')}`);
    await clock.sleep(1000);
  }
}
