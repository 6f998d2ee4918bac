// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { settle } from '@csi-sidecars/runtime/testing';
import { bench, codeOf, newVolume } from '../../testing/calls.ts';

const create = '/csi.v1.Controller/CreateVolume';
const remove = '/csi.v1.Controller/DeleteVolume';

describe('the record of calls', () => {
  it('given calls that succeed and fail, when they ended, then the record holds each with its outcome in order', async () => {
    const { model, call, codeOf } = bench();
    await call(create, newVolume('a', { secrets: { token: 'x' } }));
    await codeOf(remove, {});
    expect(
      model.calls.map(({ seq, method, request, outcome }) => ({
        seq,
        method,
        name: (request as { name?: string }).name,
        secrets: (request as { secrets?: object }).secrets,
        outcome: outcome?.kind === 'refused' ? outcome : outcome?.kind,
      })),
    ).toEqual([
      { seq: 1, method: create, name: 'a', secrets: { token: 'x' }, outcome: 'answered' },
      {
        seq: 2,
        method: remove,
        name: undefined,
        secrets: {},
        outcome: { kind: 'refused', code: 'InvalidArgument', message: 'volume_id is missing' },
      },
    ]);
  });
});

describe('limits of a call', () => {
  it('[csi-spec#17] given a call that times out, when the operation ends later, then it has taken effect and a repeated call finds the result', async () => {
    const { model, channel, clock, call } = bench();
    model.faults.add({ method: 'CreateVolume', times: 1, at: 'during', action: { kind: 'delay', ms: 5000 } });
    const first = codeOf(channel.call(create, newVolume('a'), { timeoutMs: 1000 }));
    await clock.advance(1000);
    expect(await first).toBe('DeadlineExceeded');
    expect(await codeOf(call(create, newVolume('a')))).toBe('Aborted');
    await clock.advance(4000);
    const again = await call(create, newVolume('a'));
    expect(model.volumes().map(({ id, phase }) => ({ id, phase }))).toEqual([
      { id: again.volume!.volume_id, phase: 'ready' },
    ]);
    expect(clock.pending).toBe(0);
  });

  it('given an aborted signal, when the call waits, then the caller gets Canceled and the operation continues', async () => {
    const { model, channel } = bench();
    const rule = model.faults.add({ method: 'CreateVolume', action: { kind: 'hang' } });
    const abort = new AbortController();
    const first = codeOf(channel.call(create, newVolume('a'), { timeoutMs: 1000, signal: abort.signal }));
    await settle();
    abort.abort();
    expect(await first).toBe('Canceled');
    expect(model.faults.release(rule)).toBe(1);
    await settle();
    expect(model.volumes().map(({ name }) => name)).toEqual(['a']);
  });
});

describe('a crash', () => {
  it('given a crash before the effect, when started again, then nothing was done', async () => {
    const { model, codeOf } = bench();
    model.faults.add({ method: 'CreateVolume', action: { kind: 'crash' } });
    expect(await codeOf(create, newVolume('a'))).toBe('Unavailable');
    expect(await codeOf(create, newVolume('a'))).toBe('Unavailable');
    model.restart();
    expect(model.volumes()).toEqual([]);
    expect(await codeOf(create, newVolume('a'))).toBe('OK');
  });

  it('given a crash after the effect and before the answer, when repeated, then the same volume is returned', async () => {
    const { model, call, codeOf } = bench();
    model.faults.add({ method: 'CreateVolume', at: 'after', action: { kind: 'crash' } });
    expect(await codeOf(create, newVolume('a'))).toBe('Unavailable');
    model.restart();
    const { volume } = await call(create, newVolume('a'));
    expect(model.volumes().map(({ id }) => id)).toEqual([volume!.volume_id]);
  });

  it('given a call that hangs when the driver crashes, when it is released, then it changes nothing and has no outcome', async () => {
    const { model, call } = bench();
    const rule = model.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'hang' } });
    const hanging = codeOf(call(create, newVolume('a')));
    await settle();
    model.crash();
    expect(await hanging).toBe('Unavailable');
    model.restart();
    model.faults.release(rule);
    await settle();
    expect(model.volumes()).toEqual([]);
    expect(model.calls.map(({ outcome }) => outcome)).toEqual([undefined]);
  });

  it('given a channel that ends with its connection, when the driver crashes, then it is lost for good', async () => {
    const { model } = bench();
    const channel = model.channel();
    model.restart();
    expect(channel.lost.aborted).toBe(true);
    expect(await codeOf(channel.call(create, newVolume('a'), { timeoutMs: 1000 }))).toBe('Unavailable');
  });

  it('given a call that waits before it begins, when its caller closes the connection, then it has no effect', async () => {
    const { model, clock } = bench();
    const [one, other] = [model.channel(), model.channel()];
    model.faults.add({ method: 'CreateVolume', at: 'before', times: 2, action: { kind: 'delay', ms: 1_000 } });
    const closed = codeOf(one.call(create, newVolume('a'), { timeoutMs: 5000 }));
    const open = codeOf(other.call(create, newVolume('b'), { timeoutMs: 5000 }));
    one.close();
    await clock.advance(2_000);
    expect([await closed, await open, model.volumes().map(({ name }) => name)]).toEqual(['Unavailable', 'OK', ['b']]);
  });

  it('given a dropped connection, when another caller has its own, then only the affected caller loses its connection', async () => {
    const { model } = bench();
    const [one, other] = [model.channel(), model.channel()];
    model.faults.add({ method: 'CreateVolume', at: 'after', times: 1, action: { kind: 'drop' } });
    expect(await codeOf(one.call(create, newVolume('a'), { timeoutMs: 1000 }))).toBe('Unavailable');
    expect([one.lost.aborted, other.lost.aborted]).toEqual([true, false]);
    expect(model.volumes().map(({ name }) => name)).toEqual(['a']);
  });
});
