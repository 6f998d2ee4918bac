// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { settle } from '@csi-sidecars/runtime/testing';
import { bench, codeOf, newVolume } from '../../testing/calls.ts';
import type { FaultRule } from '../index.ts';

const create = '/csi.v1.Controller/CreateVolume';
const attach = '/csi.v1.Controller/ControllerPublishVolume';
const stats = '/csi.v1.Node/NodeGetVolumeStats';
const failing = { kind: 'fail', code: 'Internal' } as const;

describe('which calls a rule matches', () => {
  const rows: { given: string; rule: Omit<FaultRule, 'action'>; meets: string[] }[] = [
    { given: 'nothing', rule: {}, meets: ['create a', 'create b', 'attach', 'stats'] },
    { given: 'a short method', rule: { method: 'CreateVolume' }, meets: ['create a', 'create b'] },
    { given: 'a full method', rule: { method: attach }, meets: ['attach'] },
    { given: 'the end of a method', rule: { method: 'Volume' }, meets: [] },
    { given: 'a name', rule: { volume: 'b' }, meets: ['create b'] },
    { given: 'an id', rule: { volume: 'volume-1' }, meets: ['attach', 'stats'] },
    { given: 'a node', rule: { nodeId: 'node-2' }, meets: ['attach', 'stats'] },
    { given: 'a secret', rule: { secret: { key: 'token' } }, meets: ['create a', 'create b'] },
    { given: 'the value of a secret', rule: { secret: { key: 'token', value: 'bad' } }, meets: ['create b'] },
  ];
  it.each(rows)('given a rule with $given, when called, then it matches $meets', async ({ rule, meets }) => {
    const { model } = bench();
    const channel = model.channel({ nodeId: 'node-2' });
    const limits = { timeoutMs: 1000 };
    model.faults.add({ ...rule, action: failing });
    const codes = {
      'create a': await codeOf(channel.call(create, newVolume('a', { secrets: { token: 'good' } }), limits)),
      'create b': await codeOf(channel.call(create, newVolume('b', { secrets: { token: 'bad' } }), limits)),
      attach: await codeOf(channel.call(attach, { volume_id: 'volume-1', node_id: 'node-2' }, limits)),
      stats: await codeOf(channel.call(stats, { volume_id: 'volume-1' }, limits)),
    };
    expect(Object.entries(codes).flatMap(([name, code]) => (code === 'Internal' ? [name] : []))).toEqual(meets);
  });
});

describe('when and how often a rule acts', () => {
  it('given skip and times, when called, then it skips the first, affects the next and skips the rest', async () => {
    const { model, codeOf } = bench();
    model.faults.add({
      method: 'Probe',
      skip: 1,
      times: 2,
      action: { kind: 'fail', code: 'Unavailable', message: 'no' },
    });
    const codes: string[] = [];
    for (let count = 0; count < 4; count += 1) codes.push(await codeOf('/csi.v1.Identity/Probe', {}));
    expect(codes).toEqual(['OK', 'Unavailable', 'Unavailable', 'OK']);
    expect(model.faults.list().map(({ matched, acted }) => ({ matched, acted }))).toEqual([{ matched: 4, acted: 2 }]);
  });

  it.each([
    { at: 'before', exists: false },
    { at: 'during', exists: false },
    { at: 'after', exists: true },
  ] as const)(
    'given a failure $at the effect, when called, then the volume exists: $exists',
    async ({ at, exists }) => {
      const { model, codeOf } = bench();
      model.faults.add({ method: 'CreateVolume', at, action: failing });
      expect(await codeOf(create, newVolume('a'))).toBe('Internal');
      expect(model.volumes().length === 1).toBe(exists);
    },
  );

  it('given a request that is refused anyway, when a rule acts at the effect, then the rule is not applied', async () => {
    const { model, codeOf } = bench();
    model.faults.add({ method: 'CreateVolume', at: 'during', action: failing });
    expect(await codeOf(create, newVolume(''))).toBe('InvalidArgument');
    expect(model.faults.list()[0]!.matched).toBe(0);
  });

  it('given two rules, when one delays and one fails, then both act in the order they were added', async () => {
    const { model, clock, call } = bench();
    model.faults.add({ method: 'CreateVolume', action: { kind: 'delay', ms: 100 } });
    model.faults.add({ method: 'CreateVolume', action: failing });
    let code = 'pending';
    const done = codeOf(call(create, newVolume('a'))).then((result) => (code = result));
    await clock.advance(99);
    expect(code).toBe('pending');
    await clock.advance(1);
    await done;
    expect(code).toBe('Internal');
  });

  it('given callers that hang, when released, then these continue and later ones hang; when the rule is removed, then all continue', async () => {
    const { model, codeOf } = bench();
    const id = model.faults.add({ method: 'CreateVolume', action: { kind: 'hang' } });
    const first = [codeOf(create, newVolume('a')), codeOf(create, newVolume('b'))];
    await settle();
    expect(model.faults.list()[0]!.hanging).toBe(2);
    expect(model.faults.release(id)).toBe(2);
    expect(await Promise.all(first)).toEqual(['OK', 'OK']);
    const later = codeOf(create, newVolume('c'));
    await settle();
    expect(model.faults.remove(id)).toBe(true);
    expect(await later).toBe('OK');
    expect(model.faults.remove(id)).toBe(false);
  });
});

describe('wrong answers', () => {
  it('[csi-spec#20] given an answer without its id or its volume, when called, then the caller gets this answer, and the volume exists', async () => {
    const { model, call } = bench();
    model.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'answer', unset: ['volume.volume_id'] } });
    model.faults.add({ method: 'CreateVolume', skip: 1, times: 1, action: { kind: 'answer', unset: ['volume'] } });
    expect((await call(create, newVolume('a'))).volume?.volume_id).toBe('');
    expect((await call(create, newVolume('a'))).volume).toBeNull();
    expect((await call(create, newVolume('a'))).volume?.volume_id).toBe(model.volumes()[0]!.id);
  });

  it('given fields to set, when called, then nested fields are replaced and the rest stays, and the driver keeps the real values', async () => {
    const { model, call } = bench();
    const set = { volume: { capacity_bytes: '0', volume_context: { 'ke/y': 'x' } } };
    model.faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'answer', set } });
    const request = newVolume('a', { parameters: { p: '1' } });
    const wrong = (await call(create, request)).volume!;
    const right = (await call(create, request)).volume!;
    expect(wrong).toEqual({ ...right, capacity_bytes: '0', volume_context: { p: '1', 'ke/y': 'x' } });
    expect(right.volume_context).toEqual({ p: '1' });
  });

  it('given a secret that is refused, when called with it, then Unauthenticated', async () => {
    const { model, codeOf } = bench();
    const secret = { key: 'password', value: 'old' };
    model.faults.add({ secret, action: { kind: 'fail', code: 'Unauthenticated' } });
    expect(await codeOf(create, newVolume('a', { secrets: { password: 'old' } }))).toBe('Unauthenticated');
    expect(await codeOf(create, newVolume('a', { secrets: { password: 'new' } }))).toBe('OK');
  });
});
