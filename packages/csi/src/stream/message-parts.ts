// SPDX-License-Identifier: Apache-2.0
/** Cuts the bytes of a gRPC stream into its messages. A part of a message is kept until the rest has arrived; nothing else is. */
import { maxMessageBytes, type Status } from '@csi-sidecars/grpc';

export type Cut =
  | { readonly kind: 'messages'; readonly messages: readonly Buffer[] }
  | { readonly kind: 'refused'; readonly status: Status };

export interface MessageCutter {
  readonly cut: (bytes: Buffer) => Cut;
  /** The stream has ended within a message. */
  readonly isWithinMessage: () => boolean;
}

const headBytes = 5;

export function createMessageCutter(): MessageCutter {
  let parts: Buffer[] = [];
  let size = 0;
  /** How many bytes have to be there before looking again makes sense. */
  let wanted = headBytes;

  const cut = (bytes: Buffer): Cut => {
    parts.push(bytes);
    size += bytes.length;
    if (size < wanted) return { kind: 'messages', messages: [] };
    let rest = parts.length === 1 ? bytes : Buffer.concat(parts, size);
    const messages: Buffer[] = [];
    wanted = headBytes;
    while (rest.length >= headBytes) {
      if (rest[0] !== 0) return refused('Unimplemented', 'compressed messages are not supported');
      const length = rest.readUInt32BE(1);
      if (length > maxMessageBytes) {
        return refused(
          'ResourceExhausted',
          `grpc: received message larger than max (${length} vs. ${maxMessageBytes})`,
        );
      }
      wanted = headBytes + length;
      if (rest.length < wanted) break;
      messages.push(rest.subarray(headBytes, wanted));
      rest = rest.subarray(wanted);
      wanted = headBytes;
    }
    parts = rest.length === 0 ? [] : [rest];
    size = rest.length;
    return { kind: 'messages', messages };
  };
  return { cut, isWithinMessage: () => size > 0 };
}

function refused(code: Status['code'], detail: string): Cut {
  return { kind: 'refused', status: { code, detail } };
}
