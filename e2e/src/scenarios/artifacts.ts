// SPDX-License-Identifier: Apache-2.0
/** Files that a failed scenario leaves for people, besides the logs in its folder: objects, events, calls, requests. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import {
  events,
  leases,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  stringifyJson,
  volumeAttachments,
  type KubeObject,
  type Resource,
} from '@csi-sidecars/runtime';
import { nodeDigest, saveOutputs } from '../deployment/node-digest.ts';
import { describe } from '../describe.ts';
import { describeExit, logTail } from '../processes/child-process.ts';
import type { ScenarioContext } from './context.ts';

const inNamespace: readonly Resource[] = [persistentVolumeClaims, pods, events, leases];
const clusterWide: readonly Resource[] = [persistentVolumes, volumeAttachments, storageClasses];

const loggedLines = 8;
const shownCharacters = 300;

/** Resolves with the most important lines, if there are any besides the error. */
export async function saveArtifacts(ctx: ScenarioContext, error: unknown): Promise<string | undefined> {
  const save = (file: string, content: string): void => writeFileSync(join(ctx.folder, file), content);
  save('error.txt', `${describe(error)}\n`);
  await attempt(save, 'objects.yaml', async () => await dumpObjects(ctx));
  const control = ctx.startedDriver?.control;
  if (control !== undefined) {
    await attempt(save, 'driver-calls.json', async () => lines(await control.calls()));
    await attempt(save, 'driver-volumes.json', async () => lines(await control.volumes()));
    await attempt(save, 'driver-faults.json', async () => lines(await control.faults()));
  }
  const { audit } = ctx.testRun.controlPlane;
  if (audit !== undefined) {
    const prefix = `system:serviceaccount:${ctx.namespace}:`;
    await attempt(save, 'requests.json', () => lines(audit().filter(({ user }) => user.startsWith(prefix))));
  }
  const { node } = ctx.testRun.controlPlane;
  if (node === undefined) return lastWords(ctx);
  saveOutputs(ctx, node);
  let digest: string | undefined;
  await attempt(save, 'node.txt', async () => (digest = await nodeDigest(ctx, node)));
  return digest;
}

/** The ends of the programs under test, and of their logs. */
function lastWords({ sidecars }: ScenarioContext): string | undefined {
  if (sidecars.length === 0) return undefined;
  return sidecars
    .flatMap((process) => [
      ...process.exits.map((exit) => `${process.name} ended: ${describeExit(exit)}`),
      `the end of the log of ${process.name}:`,
      ...logTail(process, loggedLines)
        .split('\n')
        .map((line) => `  ${line.slice(0, shownCharacters)}`),
    ])
    .join('\n');
}

async function dumpObjects({ api, namespace }: ScenarioContext): Promise<string> {
  const documents: string[] = [];
  const add = (object: KubeObject): void => void documents.push(dump(withoutManagedFields(object)));
  for (const resource of inNamespace) (await api.list(resource, { namespace })).items.forEach(add);
  for (const resource of clusterWide) {
    for (const object of (await api.list(resource)).items) {
      if (JSON.stringify(object).includes(namespace)) add(object);
    }
  }
  return documents.join('---\n');
}

function withoutManagedFields(object: KubeObject): object {
  return { ...object, metadata: { ...object.metadata, managedFields: undefined } };
}

function lines(entries: readonly unknown[]): string {
  return entries.map((entry) => `${stringifyJson(entry)}\n`).join('');
}

/** One artifact that cannot be collected must not prevent the others. */
async function attempt(
  save: (file: string, content: string) => void,
  file: string,
  make: () => Promise<string> | string,
): Promise<void> {
  try {
    save(file, await make());
  } catch (error) {
    save(file, `not available: ${describe(error)}\n`);
  }
}
