// SPDX-License-Identifier: Apache-2.0
/** What the peer may set (RFC 9113, section 6.5.2), and what we set. */
import { ProtocolViolation, errorCodes } from './violations.ts';
import type { Role } from './streams.ts';

const ids = { enablePush: 2, maxConcurrentStreams: 3, initialWindow: 4, maxFrame: 5 } as const;

/** More calls at a time than this wait at the client, or are refused. */
export const maxConcurrentStreams = 100;

export interface PeerSettings {
  readonly maxConcurrentStreams?: number;
  readonly initialWindow?: number;
  readonly maxFrame?: number;
}

/** The settings of one frame. Throws a ProtocolViolation for a value that is not allowed. */
export function readSettings(payload: Buffer, role: Role): PeerSettings {
  const values = new Map<number, number>();
  for (let at = 0; at < payload.length; at += 6) values.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  const push = values.get(ids.enablePush) ?? 0;
  if (push > 1 || (push === 1 && role === 'client')) throw new ProtocolViolation('push that is not allowed');
  const initialWindow = values.get(ids.initialWindow);
  if ((initialWindow ?? 0) > 0x7fff_ffff) throw new ProtocolViolation('window too large', errorCodes.flowControlError);
  const maxConcurrent = values.get(ids.maxConcurrentStreams);
  const maxFrame = values.get(ids.maxFrame);
  return {
    ...(maxConcurrent === undefined ? {} : { maxConcurrentStreams: maxConcurrent }),
    ...(initialWindow === undefined ? {} : { initialWindow }),
    ...(maxFrame === undefined ? {} : { maxFrame }),
  };
}

export function ownSettings(role: Role): Buffer {
  const [id, value] = role === 'client' ? [ids.enablePush, 0] : [ids.maxConcurrentStreams, maxConcurrentStreams];
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(id, 0);
  payload.writeUInt32BE(value, 2);
  return payload;
}
