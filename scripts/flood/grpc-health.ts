// SPDX-License-Identifier: Apache-2.0
/** One health check over a connection of its own: TLS, HTTP/2, gRPC. Rejects without an answer of OK. */
import { connect } from 'node:http2';

const limitMs = 20_000;

export function askGrpcHealth(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    const end = (error?: Error): void => {
      session.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    session.on('error', end);
    session.setTimeout(limitMs, () => end(new Error('gRPC health: no answer')));
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', end);
    stream.on('trailers', ({ 'grpc-status': status }) =>
      end(status === '0' ? undefined : new Error(`gRPC health: status ${status}`)),
    );
    stream.resume();
    stream.end(Buffer.alloc(5));
  });
}
