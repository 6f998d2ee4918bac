// SPDX-License-Identifier: Apache-2.0
/**
 * Our definitions of the snapshot API beside those that its makers publish as a Go module: the same fields, rules, messages, columns, names
 * and versions. Only the descriptions are our own.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { toolsFolder } from '../tools/catalogue.ts';
import { withoutAddresses } from '../tools/ensure-tools.ts';
import { type Definition, snapshotDefinitions } from './definitions.ts';

const module = 'github.com/kubernetes-csi/external-snapshotter/client/v8';

/** Downloads the module if it is not there. Throws an AssertionError with the first difference. */
export async function compareDefinitions(): Promise<void> {
  const folder = join(await download(), 'config', 'crd');
  const published = readdirSync(folder)
    .filter((file) => file !== 'kustomization.yaml')
    .map((file) => load(readFileSync(join(folder, file), 'utf8')) as Definition);
  const ours = snapshotDefinitions(['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io']);
  assert.deepEqual(structures(ours), structures(published));
}

async function download(): Promise<string> {
  const options = { cwd: join(toolsFolder, 'snapshot-client') };
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], options).catch(
    (error: unknown): never => {
      // Not as its cause: a download error names the module proxy.
      const reason = withoutAddresses(error instanceof Error ? error.message : String(error));
      throw new Error(`cannot download ${module}: ${reason}`);
    },
  );
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}

/** By name; without descriptions and without the status, which the API server writes. */
function structures(definitions: readonly Definition[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    definitions.map((definition) => [
      definition.metadata?.name,
      structure({ ...definition, status: undefined }, 'keyword'),
    ]),
  );
}

/** A name below `properties` is a field, which may be called `description`. The order of `required` means nothing. */
function structure(value: unknown, names: 'field' | 'keyword'): unknown {
  if (Array.isArray(value)) return value.map((item) => structure(item, 'keyword'));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => names === 'field' || name !== 'description');
  return Object.fromEntries(
    entries.map(([name, part]) => [
      name,
      name === 'required' && names === 'keyword'
        ? [...(part as string[])].sort()
        : structure(part, name === 'properties' && names === 'keyword' ? 'field' : 'keyword'),
    ]),
  );
}
