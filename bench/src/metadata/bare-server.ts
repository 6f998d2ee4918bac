// SPDX-License-Identifier: Apache-2.0
/**
 * What a service like csi-snapshot-metadata needs at least: a server of grpc-js behind TLS, with the same settings of the heap, that writes one message
 * again and again. It asks neither an API server nor a driver. Argument: the folder with the certificate.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setDefaultHighWaterMark } from 'node:stream';
import { publicMetadataCodec } from '@csi-sidecars/csi';
import { systemClock } from '@csi-sidecars/runtime';
import { keepHeapSmall, nodeHeap } from '@csi-sidecars/runtime/internal';
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';

type Call = ServerWritableStream<{ readonly snapshot_name: string }, Buffer>;

const [folder = ''] = process.argv.slice(2);
const method = '/snapshotmetadata.SnapshotMetadata/GetMetadataAllocated';
/** A message with 256 blocks. */
const message = Buffer.alloc(2_850, 1);

setDefaultHighWaterMark(false, 16 * 1024);
Buffer.poolSize = 8 * 1024;
keepHeapSmall({ heap: nodeHeap({ young: 'small' }), clock: systemClock() });

async function write(call: Call): Promise<void> {
  const [blocks = 0, perMessage = 1] = call.request.snapshot_name.split('-').map(Number);
  for (let from = 0; from < blocks && !call.cancelled; from += perMessage) {
    await new Promise((resolve) => call.write(Buffer.from(message), resolve));
  }
  call.end();
}

const codec = publicMetadataCodec(method);
const server = new Server({ 'grpc.enable_channelz': 0 });
const serve = (call: Call): void => void write(call);
const decode = (bytes: Buffer): Call['request'] => codec?.request.decode(bytes) as Call['request'];
server.register(method, serve, (bytes: Buffer) => bytes, decode, 'serverStream');
const pair = {
  cert_chain: readFileSync(join(folder, 'tls.crt')),
  private_key: readFileSync(join(folder, 'tls.key')),
};
server.bindAsync('localhost:0', ServerCredentials.createSsl(null, [pair]), (error, port) => {
  if (error !== null) throw error;
  process.send?.(port);
});
