// SPDX-License-Identifier: Apache-2.0
import { setDefaultHighWaterMark } from 'node:stream';
import { runMain } from '@csi-sidecars/sidecar';
import { snapshotMetadataProgram } from './flags.ts';
import { runSnapshotMetadata } from './program.ts';

/** What a stream of a driver holds for a caller that does not read, beside its window of HTTP/2. Node's own value is four times as much. */
const readAheadBytes = 16 * 1024;

/** Small buffers share pieces of memory of this size. One that waits for a caller keeps its whole piece. */
const pieceBytes = 8 * 1024;

setDefaultHighWaterMark(false, readAheadBytes);
Buffer.poolSize = pieceBytes;
void runMain(snapshotMetadataProgram.name, runSnapshotMetadata, { heap: { young: 'small' } });
