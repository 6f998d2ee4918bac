// SPDX-License-Identifier: Apache-2.0
/** One start of a container in a memory limit. */
import { get } from 'node:http';
import { pause, type ContainerOptions, type Unpacked } from '@csi-sidecars/images/testing';

export interface LimitOptions {
  readonly folder: string;
  readonly images: ReadonlyMap<string, Unpacked>;
  readonly rounds: number;
  /** MiB; empty means those of the table. */
  readonly limits: readonly number[];
}

export interface Attempt {
  readonly container: ContainerOptions;
  readonly port: number;
  readonly path: string;
  readonly limitMs: number;
  /** What it must survive once it is healthy. */
  readonly afterwardsMs?: number;
}

export type AttemptResult =
  | { readonly kind: 'healthy'; readonly ms: number }
  | { readonly kind: 'late' }
  | { readonly kind: 'ended'; readonly code: number | null };

export async function attempt(
  image: Unpacked,
  { container, port, path, limitMs, afterwardsMs = 0 }: Attempt,
): Promise<AttemptResult> {
  const startedMs = performance.now();
  await using running = image.start(container);
  let ended: AttemptResult | undefined;
  void running.ended.then(({ code }) => (ended = { kind: 'ended', code }));
  const state = (): AttemptResult | undefined => ended;
  while (!(await isHealthy(port, path))) {
    const over = state();
    if (over !== undefined) return over;
    if (performance.now() - startedMs > limitMs) return { kind: 'late' };
    await pause(20);
  }
  const ms = performance.now() - startedMs;
  await Promise.race([running.ended, pause(afterwardsMs)]);
  return state() ?? { kind: 'healthy', ms };
}

/** Starts that read the image from the disk. */
export async function coldStarts(image: Unpacked, rounds: number, one: Attempt): Promise<string> {
  const results: AttemptResult[] = [];
  for (let round = 0; round < rounds; round += 1) {
    image.dropFromPageCache();
    results.push(await attempt(image, one));
  }
  return textOf(results, one.limitMs);
}

export function textOf(results: readonly AttemptResult[], limitMs: number): string {
  const healthy = results.flatMap((result) => (result.kind === 'healthy' ? [result.ms] : [])).toSorted((a, b) => a - b);
  const others = results.filter((result) => result.kind !== 'healthy');
  const median = healthy[Math.floor(healthy.length / 2)];
  const time = median === undefined ? [] : [`${(median / 1000).toFixed(2)} s`];
  const late = others.some(({ kind }) => kind === 'late') ? [`not after ${limitMs / 1000} s`] : [];
  const codes = new Set(others.flatMap((result) => (result.kind === 'ended' ? [result.code] : [])));
  return [...time, ...late, ...[...codes].map((code) => `ended with ${code}`)].join(', ');
}

export function isHealthy(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path, agent: false, timeout: 5000 }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode === 200));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
