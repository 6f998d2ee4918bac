// SPDX-License-Identifier: Apache-2.0
/** What is measured of one implementation. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { createTestAuthority, freePort } from '@csi-sidecars/runtime/testing';
import type { Numbers } from '../compare.ts';
import { cpuSeconds, memoryOf } from '../side-by-side/process-cost.ts';
import { startStubApiServer } from './api-server.ts';
import { type Callers, clock, page, peakDuring, startCallers, startDriver, startSidecar } from './processes.ts';

export interface Implementation {
  readonly command: string;
  readonly make: 'ours' | 'upstream';
  readonly folder: string;
}

export const million = '1000000-256';
export const settleMs = 6_000;
export const rounds = 5;
export const stalledCallers = 100;
const unlimited = ['--kube-api-qps=1000', '--kube-api-burst=1000'];
const badTokens = { perSecond: 200, seconds: 30 };
const manyNames = 10_000;
const handshakeSeconds = 20;

interface Running extends AsyncDisposable {
  readonly pid: number;
  readonly callers: Callers;
  readonly others: Callers;
  readonly healthPort: number;
  readonly port: number;
  readonly reviews: { readonly all: number; readonly atOnce: number };
  /** Replaces the certificate by one with this name. */
  readonly replaceCertificate: (commonName: string) => void;
}

async function running({ command, folder, make }: Implementation, flags: readonly string[]): Promise<Running> {
  await using started = new AsyncDisposableStack();
  const authority = createTestAuthority();
  const caFile = join(folder, 'ca.crt');
  writeFileSync(caFile, authority.ca);
  const replaceCertificate = (commonName: string): void => {
    const { cert, key } = authority.issue({ commonName, hosts: ['localhost'] });
    writeFileSync(join(folder, 'tls.crt'), cert);
    writeFileSync(join(folder, 'tls.key'), key);
  };
  replaceCertificate('first');
  const api = started.use(await startStubApiServer(folder));
  const socket = join(folder, `csi-${await freePort()}.sock`);
  started.use(await startDriver(socket));
  const port = await freePort();
  const healthPort = await freePort();
  const delays = {
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'loop-delay.ts')}`,
    LOOP_DELAY_FILE: delayFile(folder),
  };
  const sidecar = started.use(
    await startSidecar({
      command,
      healthPort,
      ...(make === 'ours' && { env: delays }),
      args: [
        `--csi-address=${socket}`,
        `--kubeconfig=${api.kubeconfig}`,
        `--port=${port}`,
        `--http-endpoint=127.0.0.1:${healthPort}`,
        `--tls-cert=${join(folder, 'tls.crt')}`,
        `--tls-key=${join(folder, 'tls.key')}`,
        ...(make === 'ours' ? ['--max-streams-per-user=256'] : []),
        ...flags,
      ],
    }),
  );
  const callers = started.use(startCallers(port, caFile));
  const others = started.use(startCallers(port, caFile));
  const stack = started.move();
  const { pid } = sidecar;
  const { reviews } = api;
  return {
    pid,
    callers,
    others,
    healthPort,
    port,
    reviews,
    replaceCertificate,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const delayFile = (folder: string): string => join(folder, 'delays');

export async function measure(implementation: Implementation): Promise<Numbers> {
  const streams = await ofStreams(implementation);
  const questions = await ofManyCallers(implementation);
  return { ...streams, ...questions };
}

async function ofStreams(implementation: Implementation): Promise<Numbers> {
  await using it = await running(implementation, unlimited);
  const { pid, callers, others } = it;
  await clock.sleep(settleMs);
  const start = memoryOf(pid);
  for (let round = 0; round < rounds; round += 1) await callers.read(million);
  await clock.sleep(settleMs);
  const idle = memoryOf(pid).rssMib;
  const linesBefore = delayLines(implementation).length;
  const first = await ofStream(it, million);
  const free = [first];
  for (let round = 1; round < rounds; round += 1) free.push(await ofStream(it, million));
  const delays = delayLines(implementation).slice(linesBefore);
  const longest = (column: number): number => Math.max(...delays.map((line) => Number(line.split(' ')[column])));
  const four = await ofStream(it, '4000000-256');
  const large = await ofStream(it, '1000000-65536');
  await clock.sleep(settleMs);
  const before = memoryOf(pid).rssMib;
  const stalled = await peakDuring(pid, async () => {
    await others.send({ kind: 'stall', snapshot: million, callers: stalledCallers });
    await clock.sleep(settleMs / 2);
  });
  const held: Stream[] = [];
  for (let round = 0; round < rounds; round += 1) held.push(await ofStream(it, million));
  const swap = await swapMs(it);
  await others.send({ kind: 'leave' });
  const handshakes = await handshakeMib(it);
  return {
    start: start.rssMib,
    startAnon: start.anonMib,
    idle,
    stream: first.rssMib - idle,
    four: four.rssMib - first.rssMib,
    fourAfter: four.rssMib - free.at(-1)!.rssMib,
    large: large.rssMib - idle,
    rate: middle(free, ({ rate }) => rate) / 1e6,
    cpu: middle(free, ({ cpu }) => cpu),
    first: middle(free, ({ firstMs }) => firstMs),
    stalled: Math.max(stalled.rssMib, ...held.map(({ rssMib }) => rssMib)) - before,
    heldFirst: middle(held, ({ firstMs }) => firstMs),
    heldRate: (100 * middle(held, ({ rate }) => rate)) / middle(free, ({ rate }) => rate),
    ...(delays.length > 0 && { delay: longest(0), turn: longest(1) }),
    ...(swap !== undefined && { swap }),
    handshakes,
  };
}

/** Connections that leave after the first answer to their handshake, without a pause: how much the RSS grows. */
export async function handshakeMib({ pid, others }: Pick<Running, 'pid' | 'others'>): Promise<number> {
  await clock.sleep(settleMs);
  const before = memoryOf(pid).rssMib;
  const peak = await peakDuring(pid, () => others.send({ kind: 'handshakes', seconds: handshakeSeconds }));
  return peak.rssMib - before;
}

interface Stream {
  readonly rssMib: number;
  readonly rate: number;
  readonly cpu: number;
  readonly firstMs: number;
}

async function ofStream({ pid, callers }: Running, snapshot: string): Promise<Stream> {
  const before = cpuSeconds(pid);
  const { result, rssMib } = await peakDuring(pid, () => callers.read(snapshot));
  const blocks = Number(snapshot.split('-')[0]);
  const seconds = result.seconds - result.firstMs / 1000;
  return { rssMib, rate: blocks / seconds, cpu: cpuSeconds(pid) - before, firstMs: result.firstMs };
}

/** From the new files to the first handshake with them. Undefined: not within a minute. */
async function swapMs({ port, replaceCertificate }: Running): Promise<number | undefined> {
  const startedMs = clock.monotonicMs();
  replaceCertificate('second');
  while (clock.monotonicMs() - startedMs < 60_000) {
    if ((await servedName(port)) === 'second') return clock.monotonicMs() - startedMs;
    await clock.sleep(20);
  }
  return undefined;
}

function servedName(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: 'localhost', rejectUnauthorized: false, ALPNProtocols: ['h2'] }, () => {
      const { CN: name } = socket.getPeerCertificate().subject;
      resolve(String(name));
      socket.destroy();
    });
    socket.on('error', () => resolve(undefined));
  });
}

/** All of them have one address, as behind a gateway. */
async function ofManyCallers(implementation: Implementation): Promise<Numbers> {
  await using it = await running(implementation, []);
  const flood = it.others.send({ kind: 'bad tokens', ...badTokens });
  const before = it.reviews.all;
  const startedMs = clock.monotonicMs();
  const times: number[] = [];
  for (let second = 0; second < badTokens.seconds; second += 1) {
    const [result] = await Promise.all([it.callers.send({ kind: 'read', snapshot: '1-1' }), clock.sleep(1_000)]);
    const { code, firstMs } = result as { readonly code: string; readonly firstMs: number };
    times.push(code === 'OK' ? firstMs : Infinity);
    if (firstMs > 5_000) break;
  }
  await flood;
  const reviews = (it.reviews.all - before) / ((clock.monotonicMs() - startedMs) / 1000);
  const { atOnce } = it.reviews;
  await using fast = await running(implementation, unlimited);
  await fast.callers.send({ kind: 'many names', requests: manyNames });
  const series = (await page(fast.healthPort, '/metrics'))
    .split('\n')
    .filter((line) => /^snapshot_.*_count/.test(line));
  return { goodMost: Math.max(...times), reviews, atOnce, series: series.length };
}

function delayLines({ folder, make }: Implementation): readonly string[] {
  return make === 'ours' ? readFileSync(delayFile(folder), 'utf8').trim().split('\n') : [];
}

function middle(streams: readonly Stream[], of: (stream: Stream) => number): number {
  return streams.map(of).toSorted((a, b) => a - b)[Math.floor(streams.length / 2)]!;
}
