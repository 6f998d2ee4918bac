// SPDX-License-Identifier: Apache-2.0
/** Error codes of HTTP/2 (RFC 9113, section 7), and what a peer can do wrong. */

export const errorCodes = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
} as const;

/** Ends the connection. The peer gets the code in a GOAWAY frame. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
  readonly code: number;
  constructor(message: string, code: number = errorCodes.protocolError) {
    super(message);
    this.code = code;
  }
}

/** Ends one stream. The peer gets the code in a RST_STREAM frame, and the connection goes on. */
export class StreamViolation extends Error {
  override readonly name = 'StreamViolation';
  readonly stream: number;
  readonly code: number;
  constructor(stream: number, message: string, code: number = errorCodes.protocolError) {
    super(message);
    this.stream = stream;
    this.code = code;
  }
}
