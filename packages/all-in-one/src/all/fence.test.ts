// SPDX-License-Identifier: Apache-2.0
import { type ApiClient, TransportError } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { fenced } from './fence.ts';

it('given a fence, then all requests pass it until it is closed, and only reads after that', async () => {
  const sent: unknown[] = [];
  const names = ['get', 'create', 'update', 'patch', 'delete'] as const;
  const methods = names.map((name) => [name, async (...args: readonly unknown[]) => sent.push([name, ...args])]);
  const fence = fenced(Object.fromEntries(methods) as ApiClient);
  const all = fence.client as unknown as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
  const outcomes = () => Promise.allSettled(names.map((name) => all[name]!('what', 'content', 'options')));
  expect((await outcomes()).map(({ status }) => status)).toEqual(Array(5).fill('fulfilled'));
  const calls = names.map((name) => [name, 'what', 'content', 'options']);
  expect(sent).toEqual(calls);
  fence.close();
  const refused = {
    status: 'rejected',
    reason: new TransportError('aborted', 'not sent: the controller was cut off'),
  };
  const [read, ...writes] = await outcomes();
  expect([read?.status, writes]).toEqual(['fulfilled', [refused, refused, refused, refused]]);
  expect(writes.map((each) => each.status === 'rejected' && (each.reason as TransportError).failure)).toEqual(
    Array(4).fill('aborted'),
  );
  expect(sent).toEqual([...calls, calls[0]]);
});
