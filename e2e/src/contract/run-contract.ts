// SPDX-License-Identifier: Apache-2.0
/**
 * The API contract suite: all checks, and the runner that gives each of them names of its own and removes what they left.
 * The simulated API server is worth something because it passes the same checks as a real one.
 */
import {
  csiDrivers,
  csiNodes,
  ignoreNotFound,
  namespaces,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
  type ApiClient,
  type Resource,
} from '@csi-sidecars/runtime';
import { admissionChecks } from './admission.ts';
import { attachmentChecks } from './attachments.ts';
import { customResourceChecks } from './custom-resources.ts';
import { discoveryChecks } from './discovery.ts';
import { lifecycleChecks } from './lifecycle.ts';
import { listChecks } from './lists.ts';
import { objectChecks } from './objects.ts';
import { patchChecks } from './patches.ts';
import { snapshotRuleChecks } from './snapshot-rules.ts';
import { validationChecks } from './validation.ts';
import { watchChecks } from './watches.ts';
import type { Capability } from '../control-planes/control-plane.ts';
import type { ContractCheck, ContractEnv } from './check.ts';

export const contract: readonly ContractCheck[] = [
  ...objectChecks,
  ...patchChecks,
  ...attachmentChecks,
  ...lifecycleChecks,
  ...listChecks,
  ...watchChecks,
  ...validationChecks,
  ...admissionChecks,
  ...customResourceChecks,
  ...snapshotRuleChecks,
  ...discoveryChecks,
];

export interface ContractOptions {
  /** Part of all names; must be unique on the server and a DNS label. */
  readonly prefix: string;
  readonly has: ReadonlySet<Capability>;
  readonly pass: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
}

export type ContractResult =
  | { readonly kind: 'passed'; readonly name: string }
  | { readonly kind: 'not applicable'; readonly name: string; readonly missing: readonly Capability[] }
  | { readonly kind: 'failed'; readonly name: string; readonly error: unknown };

/** Runs all checks one after the other, failed ones included, and cleans up. */
export async function runContract(client: ApiClient, options: ContractOptions): Promise<readonly ContractResult[]> {
  const results: ContractResult[] = [];
  await using _ = await prepareContract(client, options);
  for (const check of contract) results.push(await runCheck(client, check, options));
  return results;
}

/** Makes the namespace of a run; disposing removes everything that the checks left. */
export async function prepareContract(client: ApiClient, options: ContractOptions): Promise<AsyncDisposable> {
  await client.create(namespaces, { metadata: { name: options.prefix } });
  return { [Symbol.asyncDispose]: () => cleanUp(client, options.prefix) };
}

export async function runCheck(
  client: ApiClient,
  check: ContractCheck,
  options: ContractOptions,
): Promise<ContractResult> {
  const { name } = check;
  const { prefix, has, ...rest } = options;
  const missing = (check.needs ?? []).filter((need) => !has.has(need));
  if (missing.length > 0) return { kind: 'not applicable', name, missing };
  const env: ContractEnv = { ...rest, namespace: prefix, name: (suffix) => `${prefix}-${suffix}` };
  try {
    await check.run(client, env);
    return { kind: 'passed', name };
  } catch (error) {
    return { kind: 'failed', name, error };
  }
}

const clusterScoped: readonly Resource[] = [
  csiDrivers,
  csiNodes,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
];

async function cleanUp(client: ApiClient, prefix: string): Promise<void> {
  for (const resource of clusterScoped) {
    const { items } = await client.list(resource);
    for (const { metadata } of items) {
      if (metadata?.name?.startsWith(`${prefix}-`) === true) await discard(client, resource, metadata.name);
    }
  }
  await client.delete(namespaces, { name: prefix });
}

async function discard(client: ApiClient, resource: Resource, name: string): Promise<void> {
  const held = await client.delete(resource, { name }).catch(ignoreNotFound);
  if (held === undefined) return;
  const unheld = { type: 'merge', body: { metadata: { finalizers: null } } } as const;
  await client.patch({ resource, ref: { name } }, unheld).catch(ignoreNotFound);
}
