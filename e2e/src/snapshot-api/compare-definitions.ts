// SPDX-License-Identifier: Apache-2.0
/**
 * Our definitions of the snapshot API beside those that its makers publish as a Go module: the same fields, rules, messages, columns, names
 * and versions. Only the descriptions are our own.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { downloadModule } from '../tools/go-module.ts';
import { type Definition, snapshotDefinitions } from './definitions.ts';

const client = { family: 'snapshot-client', module: 'github.com/kubernetes-csi/external-snapshotter/client/v8' };

/** Downloads the module if it is not there. Throws an AssertionError with the first difference. */
export async function compareDefinitions(): Promise<void> {
  const folder = join(await downloadModule(client), 'config', 'crd');
  const published = readdirSync(folder)
    .filter((file) => file !== 'kustomization.yaml')
    .map((file) => load(readFileSync(join(folder, file), 'utf8')) as Definition);
  const ours = snapshotDefinitions(['snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io']);
  assert.deepEqual(structures(ours), structures(published));
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
