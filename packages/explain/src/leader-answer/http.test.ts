// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { askHttp } from './http.ts';

describe('over HTTP', () => {
  async function serving(respond: (write: (text: string) => void, end: () => void) => void) {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      respond(
        (text) => void response.write(text),
        () => void response.end(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/debug/explain`);
  }

  it('given an answer, then it is read with its type', async () => {
    const at = await serving((write, end) => {
      write('{}');
      end();
    });
    expect(await askHttp(at, { signal: new AbortController().signal })).toEqual({
      status: 200,
      contentType: 'application/json',
      body: '{}',
    });
  });

  it('[explain#80] given ten mebibytes, then no more than an answer may have is read', async () => {
    const at = await serving((write, end) => {
      for (let part = 0; part < 160; part += 1) write('x'.repeat(65_536));
      end();
    });
    const { signal } = new AbortController();
    await expect(askHttp(at, { signal })).rejects.toThrow('more than 64 KiB');
    await expect(askHttp(at, { signal, mostBytes: 1_048_576 })).rejects.toThrow('more than 1024 KiB');
    expect((await askHttp(at, { signal, mostBytes: 160 * 65_536 })).body).toHaveLength(160 * 65_536);
  });

  it('given no answer, then it is rejected with the reason of the signal', async () => {
    const at = await serving(() => undefined);
    const stop = new AbortController();
    const answer = askHttp(at, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(answer).rejects.toThrow('enough');
  });
});
