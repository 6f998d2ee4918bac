// SPDX-License-Identifier: Apache-2.0
import { ApiError, type KubeObject, volumeAttachments } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { anAttachment } from '../testing/builders.ts';
import { ignoreGone } from './ignore-gone.ts';

const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
const object = anAttachment();

/** The API server lists `items`, or refuses. */
function refused(items: readonly KubeObject[] | Error, refusal: Error = notFound): Promise<undefined> {
  const list = async () => {
    if (items instanceof Error) throw items;
    return { items };
  };
  const deps = { client: { list }, signal: new AbortController().signal } as unknown as Parameters<
    typeof ignoreGone
  >[0];
  return ignoreGone(deps, { resource: volumeAttachments, object, refusal });
}

it.each([
  ['the object is gone', []],
  ['another object has its name', [{ ...object, metadata: { ...object.metadata, uid: 'another' } }]],
])('given a 404 when %s, then it is no failure', async (_given, items) => {
  expect(await refused(items)).toBeUndefined();
});

it.each([
  ['the object is there', [object]],
  ['the object cannot be looked for', new Error('down')],
])('given a 404 when %s, then that is the failure', async (_given, items) => {
  await expect(refused(items)).rejects.toBe(notFound);
});

it('given another refusal, then that is the failure, and nothing is looked for', async () => {
  const conflict = new ApiError({ status: 409, reason: 'Conflict', message: 'conflict' });
  await expect(refused([], conflict)).rejects.toBe(conflict);
});
