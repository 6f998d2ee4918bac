// SPDX-License-Identifier: Apache-2.0
/** Whether the account of a program has a right. */
import type { AccessQuestion } from '../cluster/access-review.ts';
import type { Reader } from '../cluster/reader.ts';

export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** Undefined: the server does not say. */
export async function mayAccount(
  reader: Reader,
  account: Account,
  right: Pick<AccessQuestion, 'verb' | 'group' | 'resource' | 'subresource' | 'namespace' | 'name'>,
): Promise<boolean | undefined> {
  return await reader.review({ user: userOf(account), groups: groupsOf(account), ...right });
}

/** The name that the API server gives to the account. */
export function userOf({ namespace, name }: Account): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

export function groupsOf({ namespace }: Account): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
}
