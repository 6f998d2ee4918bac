// SPDX-License-Identifier: Apache-2.0
/** Reads a journal file as a list of calls, for tests that run the program. An incomplete last line is skipped. */
import { readFile } from 'node:fs/promises';
import { orAbsent } from '../disk/files.ts';
import type { IncomingCall, Outcome, RecordedCall } from './journal.ts';

type Line =
  | { readonly kind: 'start' }
  | ({ readonly kind: 'begin'; readonly seq: number; readonly at: string } & IncomingCall)
  | { readonly kind: 'end'; readonly seq: number; readonly at: string; readonly outcome: Outcome };

/** Oldest first; empty if there is no file. */
export async function readJournal(path: string): Promise<readonly RecordedCall[]> {
  const text = (await orAbsent(readFile(path, 'utf8'))) ?? '';
  const calls = new Map<number, RecordedCall>();
  for (const line of text.split('\n').flatMap(parseLine)) {
    if (line.kind === 'begin') {
      const { seq, method, request, peer, nodeId } = line;
      const beganAtMs = Date.parse(line.at);
      calls.set(seq, { seq, method, request, peer, nodeId, beganAtMs, endedAtMs: undefined, outcome: undefined });
    }
    const begun = line.kind === 'end' ? calls.get(line.seq) : undefined;
    if (line.kind === 'end' && begun !== undefined) {
      calls.set(line.seq, { ...begun, endedAtMs: Date.parse(line.at), outcome: line.outcome });
    }
  }
  return [...calls.values()];
}

function parseLine(text: string): Line[] {
  try {
    return [JSON.parse(text) as Line];
  } catch {
    return [];
  }
}
