// SPDX-License-Identifier: Apache-2.0
/**
 * What one hostile client does to a built program. It holds 12 connections to the program's endpoint and keeps 64 KiB of requests on each.
 * Meanwhile another client is answered in time, memory stays, at most one Probe is under way, and a leader renews its lease.
 * All of it is on loopback and takes a few seconds for each program.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { get as getTls } from 'node:https';
import { join } from 'node:path';
import { askGrpcHealth } from './grpc-health.ts';

export interface Flooded {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly port: number;
  readonly scheme: 'http' | 'https';
  /** What the other client asks for. */
  readonly health: string;
  /** What the hostile client asks for. */
  readonly path: string;
  /** Its gRPC with TLS, which is attacked too. */
  readonly grpcPort?: number;
}

/** What the hostile client does, with the text of a report and the client's file and arguments. */
export interface Attack {
  readonly text: string;
  readonly client: readonly string[];
  /** On two cores that nothing else uses. */
  readonly slowestMs: number;
  readonly grownMib: number;
}

/** A connection with TLS takes 0.1 MiB, and there may be 512. */
const tlsMib = 64;

export function attacksOn({ port, path, scheme, grpcPort }: Flooded): readonly Attack[] {
  const http = (ears: 'reads' | 'deaf'): Attack => ({
    text: `a client that ${ears === 'reads' ? 'reads' : 'reads nothing'} floods it`,
    client: ['client.ts', ...[port, path, connections, floodMs, ears, scheme].map(String)],
    slowestMs: 200,
    grownMib: 16,
  });
  const grpc = (attack: string, text: string, grownMib: number): readonly Attack[] => {
    if (grpcPort === undefined) return [];
    const client = ['grpc-client.ts', ...[grpcPort, attack, floodMs].map(String)];
    return [{ text, client, slowestMs: 500, grownMib }];
  };
  return [
    http('reads'),
    http('deaf'),
    ...grpc('garbage', 'a client sends garbage to its gRPC', 32),
    ...grpc('half-open', 'a client holds 1,500 handshakes', 16 + tlsMib),
    ...grpc('unread', 'a client reads none of 1,200 calls', 48),
  ];
}

export interface FloodResult {
  readonly slowestMs: number;
  readonly grownMib: number;
}

const connections = 12;
const floodMs = 4_000;
const startMs = 20_000;
/** What start-up leaves is collected within three idle seconds. */
const calmMs = 1_500;
const askEveryMs = 100;
const sampleEveryMs = 20;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Rejects when the program does not start, ends, or refuses the other client. */
export async function flood(flooded: Flooded, attack: Attack): Promise<FloodResult> {
  const [program = '', ...args] = flooded.command;
  using running = start(program, args, flooded.env);
  await healthy(flooded, running);
  for (const path of [flooded.path, flooded.health, flooded.path]) await ask(flooded, path);
  await pause(calmMs);
  const beforeMib = residentMib(running);
  let mostMib = beforeMib;
  const sampling = setInterval(() => (mostMib = Math.max(mostMib, residentMib(running))), sampleEveryMs);
  const [client = '', ...parts] = attack.client;
  using _ = start(process.execPath, [join(import.meta.dirname, client), ...parts], {});
  const times: number[] = [];
  try {
    const endMs = performance.now() + floodMs;
    while (performance.now() < endMs) {
      times.push(await ask(flooded, flooded.health));
      if (flooded.grpcPort !== undefined) await askGrpcHealth(flooded.grpcPort);
      await pause(askEveryMs);
    }
  } finally {
    clearInterval(sampling);
  }
  if (running.child.exitCode !== null) throw new Error(`ended with ${running.child.exitCode}`);
  return { slowestMs: Math.max(...times), grownMib: mostMib - beforeMib };
}

interface Running extends Disposable {
  readonly child: ChildProcess;
}

function start(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  return {
    child,
    [Symbol.dispose]: () => {
      process.off('exit', end);
      end();
    },
  };
}

async function healthy(flooded: Flooded, { child }: Running): Promise<void> {
  const endMs = performance.now() + startMs;
  for (;;) {
    const answered = await ask(flooded, flooded.health).catch((error: Error) => error);
    if (typeof answered === 'number') return;
    if (child.exitCode !== null || performance.now() > endMs) throw new Error('does not start', { cause: answered });
    await pause(askEveryMs);
  }
}

/** Resolves with the milliseconds until the answer was there. */
function ask({ port, scheme }: Flooded, path: string): Promise<number> {
  const startedMs = performance.now();
  const options = { host: '127.0.0.1', port, path, agent: false, timeout: startMs, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const request = (scheme === 'https' ? getTls : get)(options, (response) => {
      response.resume().on('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - startedMs);
        else reject(new Error(`${path}: status ${response.statusCode}`));
      });
    });
    request.on('timeout', () => request.destroy(new Error(`${path}: no answer`)));
    request.on('error', reject);
  });
}

function residentMib({ child }: Running): number {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0; // it has ended, or there is no /proc
  }
}
