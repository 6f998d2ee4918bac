// SPDX-License-Identifier: Apache-2.0
/**
 * Prepares a fact for the log, whatever the format: an API object becomes `namespace/name` (a Secret must not reach the log by
 * mistake), and fields with the name of a credential are hidden.
 */
import type { Facts } from './logger.ts';

export const credentials: ReadonlySet<string> = new Set(['secrets', 'token', 'password', 'authorization']);

export function presentable(facts: Facts): Facts {
  const entries = Object.entries(facts);
  if (!entries.some(([key, value]) => isSpecial(key, value))) return facts;
  return Object.fromEntries(
    entries.map(([key, value]) => [key, credentials.has(key.toLowerCase()) ? '***stripped***' : referenceOr(value)]),
  );
}

function isSpecial(key: string, value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || credentials.has(key.toLowerCase());
}

interface Named {
  readonly namespace?: unknown;
  readonly name?: unknown;
}

function referenceOr(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { metadata } = value as { readonly metadata?: Named };
  if (typeof metadata === 'object' && metadata !== null) return referenceTo(metadata) ?? value;
  const keys = Object.keys(value);
  const isReference = keys.length > 0 && keys.every((key) => key === 'namespace' || key === 'name');
  return isReference ? (referenceTo(value) ?? value) : value;
}

function referenceTo({ namespace, name }: Named): string | undefined {
  if (typeof name !== 'string') return undefined;
  return typeof namespace === 'string' && namespace !== '' ? `${namespace}/${name}` : name;
}
