// SPDX-License-Identifier: Apache-2.0
/** Starts vitest for a session, follows its lines, and kills it when nothing happens any more. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Line, Session } from './session-types.ts';

export type SessionPlan = Omit<Session, 'report'>;
export type End = 'finished' | 'silent';

const pollMs = 200;

export async function runVitest(plan: SessionPlan, silentMs: () => number, onLine: (line: Line) => void): Promise<End> {
  const folder = mkdtempSync(join(tmpdir(), 'mutation-'));
  const report = join(folder, 'report.jsonl');
  const input = join(folder, 'session.json');
  writeFileSync(input, JSON.stringify({ ...plan, report } satisfies Session));
  const child = spawn(
    execPath,
    [
      join(plan.root, 'node_modules/vitest/vitest.mjs'),
      'run',
      `--config=${join(import.meta.dirname, 'vitest.config.ts')}`,
    ],
    { cwd: plan.root, env: { ...env, MUTATION_SESSION: input }, stdio: 'ignore' },
  );
  const state = { ended: false };
  child.once('exit', () => (state.ended = true));
  child.once('error', () => (state.ended = true));
  let read = 0;
  let waitedMs = 0;
  try {
    while (!state.ended) {
      const startedMs = performance.now();
      await sleep(pollMs);
      // A pause of both processes (SIGSTOP, a suspended machine) does not count.
      waitedMs += Math.min(performance.now() - startedMs, 5 * pollMs);
      if (take()) return 'finished';
      if (waitedMs > silentMs()) return 'silent';
    }
    take();
    return 'finished';
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }

  /** Returns true after the last line. */
  function take(): boolean {
    if (!existsSync(report)) return false;
    const text = readFileSync(report, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    for (const line of whole.slice(read).split('\n')) {
      if (line === '') continue;
      waitedMs = 0;
      const parsed = JSON.parse(line) as Line;
      if (parsed.kind === 'end') return true;
      onLine(parsed);
    }
    read = whole.length;
    return false;
  }
}
