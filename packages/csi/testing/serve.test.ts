// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { connectCsi } from '../src/channel/connect.ts';
import { csiError, fakeCsiChannel, hang, serveCsi } from './index.ts';

const call = { timeoutMs: 60_000 };

describe('fakeCsiChannel', () => {
  it('answers as the wire would, in the programmed order, and records every call', async () => {
    const driver = fakeCsiChannel();
    driver.answer('/csi.v1.Controller/CreateVolume', ({ name, capacity_range }) => ({
      volume: { volume_id: name, capacity_bytes: capacity_range?.required_bytes },
    }));
    driver.answerOnce('/csi.v1.Controller/CreateVolume', csiError('Aborted', 'busy'));
    const request = { name: 'pvc-1', capacity_range: { required_bytes: '9223372036854775807' } };
    const create = () => driver.call('/csi.v1.Controller/CreateVolume', request, call);
    await expect(create()).rejects.toThrow('rpc error: code = Aborted desc = busy');
    expect(await create()).toEqual({
      volume: {
        capacity_bytes: '9223372036854775807',
        volume_id: 'pvc-1',
        volume_context: {},
        content_source: null,
        accessible_topology: [],
      },
    });
    await expect(driver.call('/csi.v1.Identity/Probe', {}, call)).rejects.toMatchObject({ code: 'Unimplemented' });
    expect(driver.calls).toEqual([
      { method: '/csi.v1.Controller/CreateVolume', request },
      { method: '/csi.v1.Controller/CreateVolume', request },
      { method: '/csi.v1.Identity/Probe', request: {} },
    ]);
  });

  it('ends a hanging call by its time limit or its signal, and is unavailable once lost', async () => {
    const clock = new FakeClock();
    const driver = fakeCsiChannel({ clock });
    driver.answer('/csi.v1.Identity/Probe', hang);
    const late = driver.call('/csi.v1.Identity/Probe', {}, { timeoutMs: 100 });
    const ends = expect(late).rejects.toMatchObject({ code: 'DeadlineExceeded', method: '/csi.v1.Identity/Probe' });
    await clock.advance(100);
    await ends;
    const signal = AbortSignal.abort();
    await expect(driver.call('/csi.v1.Identity/Probe', {}, { ...call, signal })).rejects.toMatchObject({
      code: 'Canceled',
    });
    driver.lose();
    expect(driver.lost.aborted).toBe(true);
    await expect(driver.call('/csi.v1.Identity/Probe', {}, call)).rejects.toMatchObject({ code: 'Unavailable' });
    expect(clock.pending).toBe(0);
  });
});

describe('serveCsi', () => {
  it('serves handlers on a socket', async () => {
    await using server = await serveCsi({
      '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'a.example.com' }),
      '/csi.v1.Identity/Probe': () => csiError('Code(42)', 'odd'),
    });
    const deps = { clock: new FakeClock(), log: recordingLogger() };
    const channel = await connectCsi(deps, { address: server.path });
    expect(await channel.call('/csi.v1.Identity/GetPluginInfo', {}, call)).toEqual({
      name: 'a.example.com',
      vendor_version: '',
      manifest: {},
    });
    await expect(channel.call('/csi.v1.Identity/Probe', {}, call)).rejects.toMatchObject({
      code: 'Code(42)',
      detail: 'odd',
    });
    channel.close();
  });
});
