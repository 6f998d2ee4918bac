// SPDX-License-Identifier: Apache-2.0
/** `DriverControl` of a program, through its socket. */
import { request as httpRequest } from 'node:http';
import { parseRecord } from '../disk/record-files.ts';
import type { DriverControl } from './control.ts';

export function controlClient(socketPath: string): DriverControl {
  const send = async <T>(method: string, path: readonly string[], body?: object): Promise<T> =>
    await exchange<T>({ socketPath, method, path: `/${path.map(encodeURIComponent).join('/')}`, body });
  return {
    addFault: async (rule) => (await send<{ readonly id: string }>('POST', ['faults'], rule)).id,
    removeFault: async (id) => await send('DELETE', ['faults', id]),
    clearFaults: async () => await send('DELETE', ['faults']),
    releaseFault: async (id) => (await send<{ readonly released: number }>('POST', ['faults', id, 'release'])).released,
    faults: async () => await send('GET', ['faults']),
    calls: async () => await send('GET', ['calls']),
    volumes: async () => await send('GET', ['volumes']),
    snapshots: async () => await send('GET', ['snapshots']),
    groups: async () => await send('GET', ['groups']),
    setHealth: async (id, health) =>
      await send(health === undefined ? 'DELETE' : 'PUT', ['volumes', id, 'health'], health),
    setSnapshotReadyAt: async (id, ms) => await send('PUT', ['snapshots', id, 'ready-at'], { ms }),
  };
}

interface Exchange {
  readonly socketPath: string;
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
}

async function exchange<T>({ body, ...target }: Exchange): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    const outgoing = httpRequest({ ...target, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(parseRecord<T>(text));
        else reject(new Error(`${target.method} ${target.path}: ${text}`));
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
