// SPDX-License-Identifier: Apache-2.0
/** Streams from a driver to a caller, over real sockets on both sides. */
import { Metadata, status } from '@grpc/grpc-js';
import { driverName } from '@csi-sidecars/csi/testing';
import { settle, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { decoded } from '../../testing/client.ts';
import {
  type AllocatedCall,
  allocatedMethod,
  aMessage,
  type DeltaCall,
  deltaMethod,
  serving,
  type ServingOptions,
} from '../../testing/serving.ts';

type AnyCall = AllocatedCall | DeltaCall;

/** The same driver for both methods. */
const from = (serve: (call: AnyCall) => void, options: ServingOptions = {}) =>
  serving({ ...options, driver: { [allocatedMethod]: serve, [deltaMethod]: serve } });

const kinds = ['allocated', 'delta'] as const;

it.each(kinds)(
  '[snapshot-metadata#72] given a driver that sends nothing and ends (%s), then OK without messages',
  async (kind) => {
    await using service = await from((call) => call.end());
    expect(await service.client[kind]()).toMatchObject({ code: 'OK', messages: [] });
  },
);

it.each(kinds)(
  '[snapshot-metadata#73] given three messages, the second without blocks (%s), then all three are passed on',
  async (kind) => {
    await using service = await from((call) => {
      call.write(aMessage(0));
      call.write({ ...aMessage(0), block_metadata: [] });
      call.write(aMessage(4096));
      call.end();
    });
    const { code, messages } = await service.client[kind]();
    expect(code).toBe('OK');
    expect(messages.map(({ block_metadata: blocks }) => blocks.map(({ byte_offset: at }) => at))).toEqual([
      ['0'],
      [],
      ['4096'],
    ]);
    expect(messages[1]).toMatchObject({ block_metadata_type: 'FIXED_LENGTH', volume_capacity_bytes: '1073741824' });
  },
);

it.each(kinds)(
  '[snapshot-metadata#74,E3] given a driver that fails with NotFound after two messages (%s), then both are passed on, and its status unchanged',
  async (kind) => {
    await using service = await from((call) => {
      call.write(aMessage(0));
      call.write(aMessage(4096));
      call.emit('error', { code: status.NOT_FOUND, details: 'gone' });
    });
    const answer = await service.client[kind]();
    expect(answer).toMatchObject({ code: 'NotFound', detail: 'gone' });
    expect(answer.messages).toHaveLength(2);
  },
);

it('[snapshot-metadata#75,E4] given a driver that fails without a code, then Internal with its text', async () => {
  await using service = await from(
    (call) => void call.emit('error', { code: status.UNKNOWN, details: 'disk on fire' }),
  );
  expect(await service.client.allocated()).toMatchObject({
    code: 'Internal',
    detail: 'failed to get response from CSI driver: rpc error: code = Unknown desc = disk on fire',
  });
});

it('[snapshot-metadata#76] given a driver without the method, then Unimplemented', async () => {
  await using service = await from(
    (call) => void call.emit('error', { code: status.UNIMPLEMENTED, details: 'unknown' }),
  );
  expect((await service.client.allocated()).code).toBe('Unimplemented');
});

it('[snapshot-metadata#36] given a starting_offset beyond the capacity, then the driver decides', async () => {
  const details = 'starting_offset is beyond the end';
  await using service = await from((call) => void call.emit('error', { code: status.OUT_OF_RANGE, details }));
  const starting_offset = '9007199254740993';
  expect(await service.client.allocated({ starting_offset })).toMatchObject({ code: 'OutOfRange', detail: details });
  expect(service.calls[0]?.request).toMatchObject({ starting_offset });
});

it('[snapshot-metadata#77] given status details of the driver, then they reach the caller', async () => {
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from([8, 5, 18, 1, 120]));
  await using service = await from(
    (call) => void call.emit('error', { code: status.NOT_FOUND, details: 'gone', metadata }),
  );
  expect((await service.client.allocated()).end.statusDetails).toEqual(Buffer.from([8, 5, 18, 1, 120]));
});

it.each(['cancels', 'loses its connection'])(
  '[snapshot-metadata#78] given a caller that %s, then the driver sees the cancellation',
  async (how) => {
    let cancelled = false;
    await using service = await from((call) => {
      call.on('cancelled', () => (cancelled = true));
      call.write(aMessage(0));
    });
    const client = service.connect();
    const stop = new AbortController();
    const stream = client.open(
      'allocated',
      { security_token: 'good', namespace: 'team', snapshot_name: 'snap' },
      { signal: stop.signal },
    );
    await stream.next();
    if (how === 'cancels') stop.abort();
    else client.close();
    await until(() => cancelled);
    const labels = {
      driver_name: driverName,
      method_name: 'MetadataAllocated',
      grpc_status_code: 'Canceled',
      target_snapshot: '',
      base_snapshot: '',
    };
    await until(
      () => service.metrics.observations('snapshot_metadata_controller_operations_seconds', labels).length === 1,
    );
    expect(service.metrics.value('snapshot_metadata_controller_streams')).toBe(0);
  },
);

/** Sends large messages for as long as they are taken. */
function endless(call: AnyCall, onSent: () => void): void {
  let at = 0;
  const send = (): void => {
    const block_metadata = Array.from({ length: 4096 }, () => ({
      byte_offset: String((at += 4096)),
      size_bytes: '4096',
    }));
    call.write({ ...aMessage(0), volume_capacity_bytes: '9223372036854775807', block_metadata }, () => {
      onSent();
      if (!call.cancelled) send();
    });
  };
  send();
}

it('[snapshot-metadata#79] given a caller that does not read, then the driver is held back, and at the limit both streams end', async () => {
  let sent = 0;
  let cancelled = false;
  await using service = await from(
    (call) => {
      call.on('cancelled', () => (cancelled = true));
      endless(call, () => (sent += 1));
    },
    { settings: { maxDurationMs: 60_000 } },
  );
  const reader = service.client.open('allocated', { security_token: 'good', namespace: 'team', snapshot_name: 'snap' });
  await reader.next();
  let before = -1;
  await until(async () => {
    const isStill = before === sent;
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return isStill;
  });
  // A message has about 45 KiB; the windows on the way take a few.
  expect(sent).toBeLessThan(30);
  expect(cancelled).toBe(false);
  await service.clock.advance(60_000);
  await until(() => cancelled);
  await until(() => service.metrics.value('snapshot_metadata_controller_streams') === 0);
  expect(service.clock.pending).toBe(1);
  await service.clock.advance(1_000);
  // The caller has still not read: had its stream not been reset, its status would wait for ever, and so would the end of the program.
  await service.server.drain();
  let next = await reader.next();
  while (next.done !== true) next = await reader.next();
  expect(next.value.code).not.toBe('OK');
  expect(service.clock.pending).toBe(0);
});

it('[snapshot-metadata#80] given a driver that computes beyond the limit, then DeadlineExceeded, and the driver is freed', async () => {
  let cancelled = false;
  await using service = await from((call) => void call.on('cancelled', () => (cancelled = true)), {
    settings: { maxDurationMs: 60_000 },
  });
  const asking = service.client.allocated();
  await until(() => service.calls.length === 1);
  expect(service.calls[0]!.leftMs).toBeLessThanOrEqual(60_000);
  expect(service.calls[0]!.leftMs).toBeGreaterThan(50_000);
  await service.clock.advance(60_000);
  expect(await asking).toMatchObject({ code: 'DeadlineExceeded', detail: 'context deadline exceeded' });
  await until(() => cancelled);
});

it('[snapshot-metadata#80,E2] given a driver that takes its own deadline for the end, then DeadlineExceeded and not OK', async () => {
  let finish = (): void => undefined;
  await using service = await from(
    (call) => {
      call.write(aMessage(0));
      finish = () => void call.end();
    },
    { settings: { maxDurationMs: 60_000 } },
  );
  const stream = service.client.open('allocated', { security_token: 'good', namespace: 'team', snapshot_name: 'snap' });
  await stream.next();
  // The timer of the limit is late: the process was busy.
  service.clock.suspend(60_000);
  finish();
  expect(await stream.next()).toMatchObject({ done: true, value: { code: 'DeadlineExceeded' } });
});

it("[snapshot-metadata#81] given a caller's deadline of 5 seconds, then the driver gets at most that", async () => {
  await using service = await from((call) => call.end());
  expect((await service.client.allocated({}, { timeoutMs: 5_000 })).code).toBe('OK');
  expect(service.calls[0]!.leftMs).toBeLessThanOrEqual(5_000);
  expect(service.calls[0]!.leftMs).toBeGreaterThan(0);
});

it("[snapshot-metadata#81] given a caller's deadline that passes, then DeadlineExceeded, and the driver sees the cancellation", async () => {
  let cancelled = false;
  await using service = await from((call) => void call.on('cancelled', () => (cancelled = true)));
  expect((await service.client.allocated({}, { timeoutMs: 300 })).code).toBe('DeadlineExceeded');
  await until(() => cancelled);
});

it('[snapshot-metadata#82] given 200 callers at once, then all are served over one connection to the driver', async () => {
  const peers = new Set<string>();
  await using service = await from(
    (call) => {
      peers.add(call.getPeer());
      call.write(aMessage(0));
      call.end();
    },
    { settings: { maxStreamsPerUser: 256 } },
  );
  const clients = [service.client, service.connect()];
  const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => clients[index % 2]!.allocated()));
  expect(answers.map(({ code, messages }) => `${code} ${messages.length}`)).toEqual(Array(200).fill('OK 1'));
  expect(service.calls).toHaveLength(200);
});

it('[snapshot-metadata#83] given a message of the driver above 4 MiB, then ResourceExhausted', async () => {
  await using service = await from((call) => {
    call.write({
      ...aMessage(0),
      block_metadata: Array.from({ length: 240_000 }, () => ({
        byte_offset: '1152921504606846976',
        size_bytes: '1125899906842624',
      })),
    });
  });
  const answer = await service.client.allocated();
  expect(answer.code).toBe('ResourceExhausted');
  expect(answer.detail).toMatch(/^grpc: received message larger than max \(\d+ vs. 4194304\)$/);
});

it('[snapshot-metadata#84] given max_results 10 and a message of 25 blocks, then three messages, and none is lost', async () => {
  await using service = await from((call) => {
    const block_metadata = Array.from({ length: 25 }, (_, index) => ({
      byte_offset: String(index * 4096),
      size_bytes: '4096',
    }));
    call.write({ ...aMessage(0), block_metadata });
    call.end();
  });
  const { messages } = await service.client.delta({ max_results: 10 });
  expect(messages.map(({ block_metadata: blocks }) => blocks.length)).toEqual([10, 10, 5]);
  expect(service.metrics.value('snapshot_metadata_controller_blocks_total')).toBe(25);
  expect(service.metrics.value('snapshot_metadata_controller_messages_total')).toBe(3);
});

it('[snapshot-metadata#85] given a driver that is lost during a stream, then Unavailable', async () => {
  await using service = await from((call) => void call.write(aMessage(0)));
  const stream = service.client.open('allocated', { security_token: 'good', namespace: 'team', snapshot_name: 'snap' });
  await stream.next();
  service.driver.stop();
  expect(await stream.next()).toMatchObject({ done: true, value: { code: 'Unavailable' } });
});

it('[snapshot-metadata#86] given an offset of 2^60, then it arrives exactly', async () => {
  await using service = await from((call) => {
    call.write({ ...aMessage(2n ** 60n + 1n), volume_capacity_bytes: '9223372036854775807' });
    call.end();
  });
  const { messages } = await service.client.allocated();
  expect(messages[0]?.block_metadata[0]?.byte_offset).toBe('1152921504606846977');
});

it('given a driver that sends overlapping blocks, then the messages before them are passed on, the stream ends with Internal, and the driver is freed', async () => {
  let cancelled = false;
  await using service = await from((call) => {
    call.on('cancelled', () => (cancelled = true));
    call.write(aMessage(0));
    call.write(aMessage(1));
  });
  const answer = await service.client.allocated();
  expect(answer).toMatchObject({
    code: 'Internal',
    detail: 'CSI driver sent overlapping or unordered blocks: 4096 before 1',
  });
  expect(answer.messages).toHaveLength(1);
  await until(() => cancelled);
});

it('[snapshot-metadata#E1] given streams that run when their time is over, then they end with Unavailable', async () => {
  let cancelled = false;
  await using service = await from((call) => {
    call.on('cancelled', () => (cancelled = true));
    call.write(aMessage(0));
  });
  const stream = service.client.open('delta', {
    security_token: 'good',
    namespace: 'team',
    base_snapshot_id: 'b',
    target_snapshot_name: 'snap',
  });
  const first = await stream.next();
  expect(first.done === true ? undefined : decoded(first.value).block_metadata).toHaveLength(1);
  service.stopping.abort(new Error('the time is over'));
  expect(await stream.next()).toMatchObject({ value: { code: 'Unavailable', detail: 'the sidecar is shutting down' } });
  await until(() => cancelled);
});

it('given a thousand streams that are opened and cancelled, then no timer, stream or listener is left', async () => {
  let open = 0;
  await using service = await from(
    (call) => {
      open += 1;
      call.once('cancelled', () => (open -= 1));
      call.write(aMessage(0));
    },
    { settings: { maxStreams: 1000, maxStreamsPerUser: 1000 } },
  );
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const stop = new AbortController();
        const stream = service.client.open(
          'allocated',
          { security_token: 'good', namespace: 'team', snapshot_name: 'snap' },
          { signal: stop.signal },
        );
        await stream.next();
        stop.abort();
        await stream.next();
      }),
    );
  }
  await until(() => open === 0 && service.metrics.value('snapshot_metadata_controller_streams') === 0);
  for (let turn = 0; turn < 5; turn += 1) await settle();
  expect(service.clock.pending).toBe(0);
  expect(service.calls).toHaveLength(1000);
});
