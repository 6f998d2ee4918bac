// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run grpc-conformance`: h2spec against our gRPC server, compared with the page that lists what does not pass, and grpc-go
 * against both of our ends; Go's protobuf against our codec. Leaves its counts in reports/grpc-conformance.json.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@csi-sidecars/runtime';
import { onInterrupt } from '../interruption.ts';
import { repositoryRoot } from '../processes/program.ts';
import { ensureTools } from '../tools/ensure-tools.ts';
import { serveEcho } from './echo.ts';
import { goProtobufCase } from './go-protobuf.ts';
import { grpcGoCases } from './grpc-go.ts';
import { differences, listedCases, readH2spec } from './h2spec-report.ts';
import { runToEnd } from './run-peer.ts';
import { startTcpProxy } from './tcp-proxy.ts';

const signal = onInterrupt();
const clock = systemClock();
const tools = await ensureTools(['h2spec', 'grpc-peer']);
const reports = join(repositoryRoot, 'reports');
mkdirSync(reports, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), 'grpc-conformance-'));
let passed = 0;
const failures: string[] = [];
const fail = (text: string): void => {
  failures.push(text);
  process.stdout.write(`FAILED: ${text}\n`);
};

try {
  await judgeWithH2spec();
  const deps = { clock, peer: tools['grpc-peer'], folder, signal };
  for (const { name, run } of [...grpcGoCases(deps), goProtobufCase(deps)]) {
    try {
      await run();
      passed += 1;
      process.stdout.write(`ok: ${name}\n`);
    } catch (error) {
      signal.throwIfAborted();
      fail(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const failed = failures.length;
process.stdout.write(`grpc conformance: ${passed} passed, ${failed} failed\n`);
writeFileSync(join(reports, 'grpc-conformance.json'), JSON.stringify({ passed, failed, skipped: 0, failures }));
process.exitCode = failed === 0 ? 0 : 1;

async function judgeWithH2spec(): Promise<void> {
  const socket = join(folder, 'h2spec.sock');
  const report = join(folder, 'h2spec.xml');
  const server = await serveEcho(clock, socket);
  await using proxy = await startTcpProxy(socket);
  // It exits with 1 for cases that fail, which the page may list.
  const args = ['--host=127.0.0.1', `--port=${proxy.port}`, '--timeout=4', `--junit-report=${report}`];
  await runToEnd(tools.h2spec, args, signal).catch(() => signal.throwIfAborted());
  server.close();
  const { passed: ofH2spec, notPassed } = readH2spec(readFileSync(report, 'utf8'));
  const page = readFileSync(join(repositoryRoot, 'docs/reference/grpc-conformance.md'), 'utf8');
  for (const line of differences(notPassed, listedCases(page))) fail(`h2spec: ${line}`);
  process.stdout.write(`h2spec: ${ofH2spec} passed, ${notPassed.length} not passed\n`);
  passed += ofH2spec;
}
