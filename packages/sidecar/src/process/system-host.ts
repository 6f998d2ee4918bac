// SPDX-License-Identifier: Apache-2.0
/** The real process. */
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { nodeProcess } from '@csi-sidecars/runtime';
import type { Host } from './host.ts';

/** Kubelet shows what is in this file as the reason why a container ended. */
const terminationLog = '/dev/termination-log';

export function systemHost(): Host {
  return {
    programPath: process.argv[1] ?? 'sidecar',
    args: process.argv.slice(2),
    env: process.env,
    hostName: hostname(),
    pid: process.pid,
    startTimeMs: performance.timeOrigin,
    writeStdout: (text) => void process.stdout.write(text),
    writeStderr: (text) => void process.stderr.write(text),
    readText(path) {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        return undefined;
      }
    },
    writeTerminationLog: (text) => writeFileSync(terminationLog, text, { mode: 0o644 }),
    process: nodeProcess(),
  };
}
