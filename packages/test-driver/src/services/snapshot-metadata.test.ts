// SPDX-License-Identifier: Apache-2.0
/** The program over its socket: the blocks that it reports are those that comparing its files finds. */
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDriverStreams, type MessageStream, type StreamingMethod } from '@csi-sidecars/csi';
import { codecOf } from '@csi-sidecars/csi/testing';
import { expect, it } from 'vitest';
import { newVolume } from '../../testing/calls.ts';
import { connect, temporaryFolder } from '../../testing/program.ts';
import { allCapabilities } from '../core/settings.ts';
import { startTestDriver } from '../program/start.ts';

const allocated = '/csi.v1.SnapshotMetadata/GetMetadataAllocated';
const delta = '/csi.v1.SnapshotMetadata/GetMetadataDelta';
const options = { timeoutMs: 60_000, signal: new AbortController().signal };
const block = 4096;
const mib = 1024 * 1024;

interface Message {
  readonly block_metadata_type: string;
  readonly volume_capacity_bytes: string;
  readonly block_metadata: readonly { readonly byte_offset: string; readonly size_bytes: string }[];
}

async function read(method: StreamingMethod, stream: MessageStream) {
  const messages: Message[] = [];
  for (;;) {
    const next = await stream.next();
    if (next.done === true) return { messages, offsets: offsetsOf(messages), code: next.value.code };
    messages.push(codecOf(method).responseDeserialize(next.value) as Message);
  }
}

const offsetsOf = (messages: readonly Message[]): readonly number[] =>
  messages.flatMap(({ block_metadata: blocks }) => blocks.map(({ byte_offset: at }) => Number(at)));

/** What the driver should find, by the plainest means. */
async function compared(image: string, base: string | undefined): Promise<readonly number[]> {
  const [ours, theirs] = [await readFile(image), base === undefined ? undefined : await readFile(base)];
  const offsets = Array.from({ length: ours.length / block }, (_, index) => index * block);
  const zeros = Buffer.alloc(block);
  return offsets.filter((at) => !ours.subarray(at, at + block).equals(theirs?.subarray(at, at + block) ?? zeros));
}

async function write(image: string, at: number, length: number): Promise<void> {
  await using file = await open(image, 'r+');
  await file.write(Buffer.alloc(length, 7), 0, length, at);
}

it('given two snapshots of a block volume, then the blocks are those that differ in the files, from any offset and in messages of any size', async () => {
  await using folder = await temporaryFolder();
  const capabilities = {
    ...allCapabilities,
    plugin: [...allCapabilities.plugin, 'SNAPSHOT_METADATA_SERVICE' as const],
  };
  const driver = await startTestDriver({ folder: folder.path, flags: ['--mounts=links'], settings: { capabilities } });
  const channel = await connect(driver.socket);
  const call = { timeoutMs: 60_000 };
  const request = {
    ...newVolume('a'),
    capacity_range: { required_bytes: String(8 * mib), limit_bytes: String(8 * mib) },
    volume_capabilities: [{ block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } }],
  };
  const created = await channel.call('/csi.v1.Controller/CreateVolume', request, call);
  const id = created.volume!.volume_id;
  const image = join(driver.stateFolder, 'volumes', id, 'image');
  const cut = async (name: string): Promise<string> => {
    const source = { name, source_volume_id: id };
    const answer = await channel.call('/csi.v1.Controller/CreateSnapshot', source, call);
    return answer.snapshot!.snapshot_id;
  };
  const imageOf = (snapshot: string): string => join(driver.stateFolder, 'snapshots', snapshot, 'image');
  await write(image, 0, 10);
  await write(image, 3 * mib - 100, 2 * block);
  const base = await cut('base');
  await write(image, 5, 1);
  await write(image, 4 * mib, mib);
  await write(image, 8 * mib - 1, 1);
  const target = await cut('target');

  const streams = createDriverStreams(driver.socket);
  const whole = await read(allocated, streams.open(allocated, { snapshot_id: target }, options));
  expect(whole.offsets).toEqual(await compared(imageOf(target), undefined));
  expect(whole.messages.map((message) => message.volume_capacity_bytes)).toEqual(Array(2).fill(String(8 * mib)));
  const ids = { base_snapshot_id: base, target_snapshot_id: target };
  const wanted = await compared(imageOf(target), imageOf(base));
  expect(wanted.length).toBe(257);
  expect((await read(delta, streams.open(delta, ids, options))).offsets).toEqual(wanted);
  const small = await read(delta, streams.open(delta, { ...ids, max_results: 7 }, options));
  expect(Math.max(...small.messages.map(({ block_metadata: blocks }) => blocks.length))).toBe(7);
  expect(small.offsets).toEqual(wanted);
  const later = await read(
    delta,
    streams.open(delta, { ...ids, starting_offset: String(4 * mib + block + 1) }, options),
  );
  expect(later.offsets).toEqual(wanted.filter((at) => at > 4 * mib));

  const refused = async (method: StreamingMethod, fields: object) =>
    (await read(method, streams.open(method, fields, options))).code;
  expect(await refused(allocated, {})).toBe('InvalidArgument');
  expect(await refused(allocated, { snapshot_id: 'none' })).toBe('NotFound');
  expect(await refused(allocated, { snapshot_id: target, max_results: -1 })).toBe('InvalidArgument');
  expect(await refused(allocated, { snapshot_id: target, starting_offset: String(8 * mib + 1) })).toBe('OutOfRange');
  expect(await refused(delta, { ...ids, base_snapshot_id: 'none' })).toBe('NotFound');
  streams.close();
  channel.close();
  await driver.stop();
});

it('given a driver without the capability, then its methods are Unimplemented', async () => {
  await using folder = await temporaryFolder();
  await using driver = await startTestDriver({ folder: folder.path, flags: ['--mounts=links'] });
  const streams = createDriverStreams(driver.socket);
  expect((await read(allocated, streams.open(allocated, { snapshot_id: 'x' }, options))).code).toBe('Unimplemented');
  streams.close();
});
