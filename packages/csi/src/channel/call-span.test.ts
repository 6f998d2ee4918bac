// SPDX-License-Identifier: Apache-2.0
/** What a driver and a tracer learn of a call, over a real socket. */
import type { CallParent } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, recordingTracer } from '@csi-sidecars/runtime/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { csiError, type Handlers, serveCsi, type ServedCall } from '../../testing/index.ts';
import { connectCsi } from './connect.ts';

const create = '/csi.v1.Controller/CreateVolume';
const remove = '/csi.v1.Controller/DeleteVolume';
const group = '/csi.v1.GroupController/CreateVolumeGroupSnapshot';

async function setUp(handlers: Handlers = {}) {
  const contexts: (readonly unknown[])[] = [];
  const note = ({ metadata }: ServedCall): void =>
    void contexts.push(Object.keys(metadata.getMap()).includes('traceparent') ? metadata.get('traceparent') : []);
  const noted: Handlers = {
    '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'a.example.com' }),
    [create]: (_request, call) => {
      note(call);
      return { volume: { volume_id: 'secret-answer' } };
    },
    [group]: (_request, call) => {
      note(call);
      return {};
    },
    ...handlers,
  };
  const driver = await serveCsi(noted);
  const channel = await connectCsi({ clock: new FakeClock(), log: recordingLogger() }, { address: driver.path });
  onTestFinished(async () => {
    channel.close();
    await driver[Symbol.asyncDispose]();
  });
  const tracer = recordingTracer();
  const root = tracer.start('run', {})!;
  const span: CallParent = { row: 'E12', traceparent: root.traceparent, child: (...args) => root.child(...args) };
  return { channel, contexts, span, spans: () => tracer.runs[0]!.children };
}

describe('a call of a traced run', () => {
  it('given a call, then it is one span, and the driver gets the context of that span and nothing else', async () => {
    const { channel, contexts, span, spans } = await setUp();
    await channel.call('/csi.v1.Identity/GetPluginInfo', {}, { timeoutMs: 1_000 });
    await channel.call(create, { name: 'secret-name', secrets: { a: 'secret' } }, { timeoutMs: 1_500.4, span });
    await channel.call(group, {}, { timeoutMs: 1_000, span });
    expect(contexts).toEqual([['context-2'], ['context-3']]);
    expect(spans()).toMatchObject([
      {
        name: 'csi.v1.Controller/CreateVolume',
        result: 'ended',
        attributes: {
          'rpc.system.name': 'grpc',
          'rpc.method': 'csi.v1.Controller/CreateVolume',
          'rpc.response.status_code': 'OK',
          'network.transport': 'unix',
          'csi.driver.name': 'a.example.com',
          'csi_sidecars.row': 'E12',
          'csi_sidecars.timeout_ms': 1500,
        },
      },
      { name: 'csi.v1.GroupController/CreateVolumeGroupSnapshot' },
    ]);
    expect(JSON.stringify(spans())).not.toContain('secret');
  });

  it('given a failure, then the span has its code and not its text', async () => {
    const { channel, span, spans } = await setUp({ [remove]: () => csiError('FailedPrecondition', 'secret') });
    await expect(channel.call(remove, { volume_id: 'v1' }, { timeoutMs: 1_000, span })).rejects.toThrow('secret');
    expect(spans()).toMatchObject([
      {
        result: 'failed',
        attributes: {
          'rpc.response.status_code': 'FailedPrecondition',
          'error.type': 'FailedPrecondition',
          'csi.volume.id': 'v1',
        },
      },
    ]);
    expect(JSON.stringify(spans())).not.toContain('secret');
  });

  it('given a volume id that is long, then its first 256 bytes are recorded, and no half of a character', async () => {
    const { channel, span, spans } = await setUp({ [remove]: () => ({}) });
    await channel.call(remove, { volume_id: `a${'ä'.repeat(300)}` }, { timeoutMs: 1_000, span });
    expect(spans()[0]?.attributes['csi.volume.id']).toBe(`a${'ä'.repeat(127)}`);
  });

  it('given a run that records no more spans, then the driver gets the context of the run', async () => {
    const { channel, contexts, span } = await setUp();
    await channel.call(create, {}, { timeoutMs: 1_000, span: { ...span, child: () => undefined } });
    expect(contexts).toEqual([['context-1']]);
  });
});

it('[explain#132] given a call outside of a traced run, also right after one with the same limit, then the driver gets no context', async () => {
  const { channel, contexts, span } = await setUp();
  await channel.call(create, {}, { timeoutMs: 1_000, span });
  await channel.call(create, {}, { timeoutMs: 1_000 });
  expect(contexts).toEqual([['context-2'], []]);
});
