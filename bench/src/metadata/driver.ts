// SPDX-License-Identifier: Apache-2.0
/**
 * A driver in a process of its own, so that its work is not counted with that of the sidecar. It sends blocks of 4 KiB as fast as they are taken.
 * The handle of a snapshot says how many there are, and how many a message has: `1000000-256`. Argument: the path of the socket.
 */
import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { codecOf } from '@csi-sidecars/csi/testing';
import { frameMessage } from '@csi-sidecars/grpc';

const [socket = ''] = process.argv.slice(2);
const blockBytes = 4096;
/** Messages are handed to the connection in chunks of about this many bytes, as the gRPC of other languages does. */
const chunkBytes = 16 * 1024;

const allocated = '/csi.v1.SnapshotMetadata/GetMetadataAllocated';
const unary: Readonly<Record<string, object>> = {
  '/csi.v1.Identity/GetPluginInfo': { name: 'bench.example.com', vendor_version: '1' },
  '/csi.v1.Identity/GetPluginCapabilities': {
    capabilities: [{ service: { type: 'CONTROLLER_SERVICE' } }, { service: { type: 'SNAPSHOT_METADATA_SERVICE' } }],
  },
  '/csi.v1.Identity/Probe': {},
};

const chunksOf = new Map<string, readonly Buffer[]>();

function chunksFor(handle: string): readonly Buffer[] {
  const known = chunksOf.get(handle);
  if (known !== undefined) return known;
  const [blocks = 0, perMessage = 1] = handle.split('-').map(Number);
  const chunks: Buffer[] = [];
  let frames: Buffer[] = [];
  let size = 0;
  for (let from = 0; from < blocks; from += perMessage) {
    const count = Math.min(perMessage, blocks - from);
    const message = codecOf(allocated).responseSerialize({
      block_metadata_type: 'FIXED_LENGTH',
      volume_capacity_bytes: String(blocks * blockBytes),
      block_metadata: Array.from({ length: count }, (_, index) => ({
        byte_offset: String((from + index) * blockBytes),
        size_bytes: String(blockBytes),
      })),
    });
    const frame = frameMessage(message);
    frames.push(frame);
    size += frame.length;
    if (size < chunkBytes && from + count < blocks) continue;
    chunks.push(Buffer.concat(frames));
    frames = [];
    size = 0;
  }
  chunksOf.set(handle, chunks);
  return chunks;
}

async function serve(stream: ServerHttp2Stream, method: string): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of stream as AsyncIterable<Buffer>) parts.push(part);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  const answer = unary[method];
  if (answer !== undefined) {
    stream.end(frameMessage(codecOf(method).responseSerialize(answer)));
    return;
  }
  const { snapshot_id: handle } = codecOf(method).requestDeserialize(Buffer.concat(parts).subarray(5)) as {
    readonly snapshot_id: string;
  };
  const closed = once(stream, 'close');
  for (const chunk of chunksFor(handle)) {
    if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), closed]);
    if (stream.closed || stream.destroyed) return;
  }
  stream.end();
}

const server = createServer();
server.on('stream', (stream, headers) => {
  stream.on('error', () => undefined);
  serve(stream, String(headers[':path'])).catch(() => stream.close());
});
server.listen(socket, () => process.send?.('listening'));
