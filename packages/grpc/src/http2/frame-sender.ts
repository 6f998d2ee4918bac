// SPDX-License-Identifier: Apache-2.0
/**
 * Writes frames to the socket, and counts those that the peer has not read. A peer that keeps us answering (PING, SETTINGS,
 * resets) and reads nothing would fill the memory otherwise.
 */
import type { Socket } from 'node:net';
import { encodeFrame, frameTypes } from './frames.ts';
import type { SendFrame } from './outgoing.ts';
import { ProtocolViolation, errorCodes } from './violations.ts';

/** A chunk of the socket has room for some 3,900 pings, whose answers a peer can read after it only. */
const maxUnread = 10_000;

/** What it returns throws a ProtocolViolation when too much is unread. DATA is limited by the peer's windows instead. */
export function createFrameSender(socket: Socket): SendFrame {
  let unread = 0;
  const onWritten = (): void => {
    unread -= 1;
  };
  return (type, head, payload) => {
    const frame = encodeFrame({ type, flags: 0, ...head, payload });
    if (type === frameTypes.data) {
      socket.write(frame);
      return;
    }
    unread += 1;
    socket.write(frame, onWritten);
    if (unread > maxUnread) throw new ProtocolViolation('the peer does not read', errorCodes.enhanceYourCalm);
  };
}
