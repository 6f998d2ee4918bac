// SPDX-License-Identifier: Apache-2.0
import { type TransportFailure, TransportError } from '../transport.ts';

/** What a socket, a TLS handshake or an HTTP parser reported, as a TransportError; one that is one already stays. */
export function toTransportError(error: unknown, otherwise: TransportFailure): TransportError {
  if (error instanceof TransportError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  // The HTTP parser attaches the bytes that it failed on: an answer, perhaps with a secret.
  if ('rawPacket' in cause) delete cause.rawPacket;
  const code = 'code' in cause ? String(cause.code) : '';
  return new TransportError(failureOfCode(code) ?? otherwise, cause.message || code, { cause });
}

function failureOfCode(code: string): TransportFailure | undefined {
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'lookup';
  return failures[code];
}

const failures: Readonly<Record<string, TransportFailure>> = {
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
};
