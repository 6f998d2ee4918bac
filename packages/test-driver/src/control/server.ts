// SPDX-License-Identifier: Apache-2.0
/**
 * `DriverControl` as HTTP on a unix socket, so that `curl --unix-socket` works too.
 *
 *     POST /faults  {rule}  -> {"id"}        GET /faults         DELETE /faults     DELETE /faults/<id>
 *     POST /faults/<id>/release -> {"released"}                  GET /calls
 *     GET /volumes, /snapshots, /groups (sizes are strings of digits)
 *     PUT /volumes/<id>/health [{"status","reason","message"}]   DELETE /volumes/<id>/health
 *     PUT /snapshots/<id>/ready-at {"ms"}
 */
import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { formatRecord } from '../disk/record-files.ts';
import type { HealthEntry } from '../core/records.ts';
import { toRefusal } from '../core/refusal.ts';
import { parseRule } from '../faults/parse-rule.ts';
import type { DriverControl } from './control.ts';

export interface ControlServer {
  close(): Promise<void>;
}

export async function serveControl(control: DriverControl, path: string): Promise<ControlServer> {
  await rm(path, { force: true });
  const server = createServer((request, response) => {
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(formatRecord(body));
    };
    route(control, request).then(
      (body) => (body === undefined ? answer(404, { error: 'no such resource' }) : answer(200, body)),
      (error: unknown) => {
        const { code, message } = toRefusal(error);
        answer(code === 'NotFound' ? 404 : 400, { error: message });
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return {
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** Returns undefined if there is no such resource. */
async function route(control: DriverControl, request: IncomingMessage): Promise<object | undefined> {
  const [kind = '', id = '', part = ''] = (request.url ?? '').slice(1).split('/').map(decodeURIComponent);
  switch (`${request.method} ${kind}${id === '' ? '' : '/id'}${part === '' ? '' : `/${part}`}`) {
    case 'POST faults':
      return { id: await control.addFault(parseRule(await bodyOf(request))) };
    case 'GET faults':
      return await control.faults();
    case 'DELETE faults':
      return await done(control.clearFaults());
    case 'DELETE faults/id':
      return await done(control.removeFault(id));
    case 'POST faults/id/release':
      return { released: await control.releaseFault(id) };
    case 'GET calls':
      return await control.calls();
    case 'GET volumes':
      return await control.volumes();
    case 'GET snapshots':
      return await control.snapshots();
    case 'GET groups':
      return await control.groups();
    case 'PUT volumes/id/health':
      return await done(control.setHealth(id, (await bodyOf(request)) as readonly HealthEntry[]));
    case 'DELETE volumes/id/health':
      return await done(control.setHealth(id, undefined));
    case 'PUT snapshots/id/ready-at':
      return await done(control.setSnapshotReadyAt(id, ((await bodyOf(request)) as { readonly ms: number }).ms));
    default:
      return undefined;
  }
}

async function done(work: Promise<void>): Promise<object> {
  await work;
  return {};
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) text += chunk as string;
  return JSON.parse(text);
}
