// SPDX-License-Identifier: Apache-2.0
/** Whether the account of a program has a right. */
import type { AccessQuestion, Reader } from '../cluster/reader.ts';

export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** Undefined: the server does not say. */
export async function mayAccount(
  reader: Reader,
  { namespace, name }: Account,
  right: Pick<AccessQuestion, 'verb' | 'group' | 'resource' | 'namespace' | 'name'>,
): Promise<boolean | undefined> {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return await reader.review({ user: `system:serviceaccount:${namespace}:${name}`, groups, ...right });
}
