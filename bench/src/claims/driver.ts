// SPDX-License-Identifier: Apache-2.0
/**
 * A driver in a process of its own that lists the health of its volumes. To upstream's v0.18.0 it is one of CSI 1.12, which lists volumes with a VolumeCondition:
 * CSI 1.13 has removed that, so these messages are written by hand. Argument: the path of the socket. A message of the parent sets how many
 * volumes there are, and how many of them are sick.
 */
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { codecOf } from '@csi-sidecars/csi/testing';
import { frameMessage } from '@csi-sidecars/grpc';
import { anObject } from '../runtime/objects.ts';

export interface Volumes {
  readonly count: number;
  readonly sick: number;
}

const [socket = ''] = process.argv.slice(2);
let volumes: Volumes = { count: 0, sick: 0 };
let lists = 0;
const reason = 'the disk is slow';

interface CsiVolume {
  readonly spec: { readonly csi: { readonly volumeHandle: string } };
}
const handles = (): readonly string[] =>
  Array.from(
    { length: volumes.count },
    (_, n) => (anObject('PersistentVolume', n, 1) as CsiVolume).spec.csi.volumeHandle,
  );

/** A field with a length. Messages of this driver are shorter than 16,384 bytes, but for the whole list. */
function field(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

const number = (at: number, value: number): Buffer => Buffer.concat([Buffer.from([at << 3]), varint(value)]);

/** LIST_VOLUMES and VOLUME_CONDITION of CSI 1.12, GET_VOLUME_HEALTH and LIST_VOLUME_HEALTH of 1.13. */
const capabilities = Buffer.concat([3, 11, 16, 17].map((type) => field(1, field(1, number(1, type)))));

/** ListVolumesResponse of CSI 1.12: a volume, and in its status a condition. */
function volumeList(): Buffer {
  const entries = handles().map((handle, n) => {
    const condition = n < volumes.sick ? Buffer.concat([number(1, 1), field(2, reason)]) : Buffer.alloc(0);
    return field(1, Buffer.concat([field(1, field(2, handle)), field(2, field(2, condition))]));
  });
  return Buffer.concat(entries);
}

/** All volumes, those without conditions too, as the list of the other protocol. */
function healthList(): Buffer {
  const sick = [{ status: 'DEGRADED', reason: 'SlowDisk', message: reason }];
  return codecOf('/csi.v1.Controller/ControllerListVolumeHealth').responseSerialize({
    entries: handles().map((volume_id, n) => ({ volume_id, health_statuses: n < volumes.sick ? sick : [] })),
  });
}

const service = { service: { type: 'CONTROLLER_SERVICE' } };
const plain: Readonly<Record<string, object>> = {
  '/csi.v1.Identity/GetPluginInfo': { name: 'disk.csi.example.com', vendor_version: '1' },
  '/csi.v1.Identity/GetPluginCapabilities': { capabilities: [service] },
  '/csi.v1.Identity/Probe': {},
};

function answerTo(method: string): Buffer | undefined {
  const message = plain[method];
  if (message !== undefined) return Buffer.from(codecOf(method).responseSerialize(message));
  if (method === '/csi.v1.Controller/ControllerGetCapabilities') return capabilities;
  if (method !== '/csi.v1.Controller/ControllerListVolumeHealth' && method !== '/csi.v1.Controller/ListVolumes') {
    return undefined;
  }
  lists += 1;
  return method.endsWith('Health') ? healthList() : volumeList();
}

async function serve(stream: ServerHttp2Stream, method: string): Promise<void> {
  for await (const _ of stream as AsyncIterable<Buffer>) continue;
  const message = answerTo(method);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': message === undefined ? '12' : '0' }));
  stream.end(message === undefined ? '' : frameMessage(message));
}

process.on('message', (next: Volumes) => {
  volumes = next;
  process.send?.(lists);
});
process.on('disconnect', () => process.exit());
const server = createServer();
server.on('stream', (stream, headers) => {
  stream.on('error', () => undefined);
  serve(stream, String(headers[':path'])).catch(() => stream.close());
});
server.listen(socket, () => process.send?.('listening'));
