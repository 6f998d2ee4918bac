// SPDX-License-Identifier: Apache-2.0
/** `node asker.ts PORT`: keeps 200 requests to `/debug/explain` open until it is ended. */
import { Agent, get } from 'node:http';

const agent = new Agent({ keepAlive: true });
const options = { port: process.argv[2], path: '/debug/explain?kind=pvc&key=a/b', agent };

function ask(): void {
  get(options, (response) => response.resume().on('end', ask)).on('error', () => setImmediate(ask));
}
for (let at = 0; at < 200; at += 1) ask();
