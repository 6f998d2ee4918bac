// SPDX-License-Identifier: Apache-2.0
/** M11 and M17: a controller from the start of its process until it works, and the connections that it then keeps. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from './collections.ts';
import type { Started } from './controller.ts';
import { reportRows } from './report.ts';

using server = await startServer('PersistentVolume', 1000);
const firstLease = server.reported('lease');
const spawnedAtMs = performance.timeOrigin + performance.now();
const controller = fork(new URL('./controller.ts', import.meta.url), [JSON.stringify(server.address)], {
  execArgv: [],
});
const [{ leadsAtMs, syncedAtMs }] = (await once(controller, 'message')) as [Started];
const { atMs } = await firstLease;
await sleep(500);
const counted = server.reported('connections');
server.order({ kind: 'connections' });
const { connections } = await counted;
controller.kill();
const of = 'a controller, run from sources';
reportRows([
  { measure: 'M11 connections of a leader with 8 informers', value: connections, unit: '', budget: { atMost: 2 } },
  {
    measure: `M17 start of ${of}, to the first request for the lease`,
    value: atMs - spawnedAtMs,
    unit: 'ms',
    budget: { atMost: 1500 },
  },
  { measure: `M17 start of ${of}, to leader`, value: leadsAtMs - spawnedAtMs, unit: 'ms' },
  { measure: `M17 start of ${of}, to 8 informers of 1,000 PVs synced`, value: syncedAtMs - spawnedAtMs, unit: 'ms' },
]);
